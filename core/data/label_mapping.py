"""Mapping of one data set's labels to the classes of another: by name, ignoring case, or by the user's map."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.data.findings import plural, shorten
from core.data.labels import WITHHELD
from core.exceptions import InputError

DROPPED = ""
UNSAID = "CLASS"
_CODE = re.compile(r"-?[0-9]{1,18}")

Command = Callable[[Mapping[str, str]], str]  # Renamed labels → the command that the user types to rename them


@dataclass(frozen=True)
class MatchedLabels:
    """The result of matching labels to classes: a mask of kept rows, their class numbers, and the labels left out."""

    kept: np.ndarray  # (n,) bool. A row with several labels is kept if at least one of them is
    numbers: list[tuple[int, ...]]  # Ascending class numbers of each kept row
    dropped: dict[str, int]  # Label that was left out → rows that had it
    renamed: dict[str, str]  # Label → class with a different name


class UnmatchedLabels(InputError):
    """An error for labels of a data set that match no given class, with the number of rows of each."""

    def __init__(self, message: str, rows: dict[str, int]) -> None:
        """Store the message, and the number of rows of each label that matches no class."""
        super().__init__(message)
        self.rows = rows


def match_labels(
    labels: Sequence[tuple[str, ...]],
    classes: Sequence[str],
    rename: Mapping[str, str],
    *,
    whose: str,
    command: Command,
) -> MatchedLabels:
    """Match the labels of each row to class numbers, by name (ignoring case) or by the user's renames.

    `rename` is label → class, or `DROPPED`; several labels may become one class. For messages, `whose` names the owner
    of the classes (`run 'first'`), and `command` builds the command with suggested renames. Raises UnmatchedLabels if
    labels match no class, and InputError if a label is renamed to an unknown class.
    """
    rows = Counter(word for row in labels for word in dict.fromkeys(row))
    meant = _resolve_classes(rows, classes, rename, whose)
    if unknown := {word: count for word, count in sorted(rows.items()) if word not in meant}:
        found = suggest_classes(list(unknown), classes, others=len(unknown) < len(rows))
        likely = {word: UNSAID if name is None else name for word, name in found.items()}
        raise UnmatchedLabels(_format_question(unknown, classes, {**rename, **likely}, whose, command), unknown)
    place = {name: number for number, name in enumerate(classes)}
    numbers = [tuple(sorted({place[meant[word]] for word in row if meant[word] != DROPPED})) for row in labels]
    kept = np.array([bool(new) or not old for new, old in zip(numbers, labels, strict=True)], bool)
    return MatchedLabels(
        kept,
        [row for row, stays in zip(numbers, kept, strict=True) if stays],
        {word: rows[word] for word, name in meant.items() if name == DROPPED},
        {word: name for word, name in meant.items() if name not in (word, DROPPED)},
    )


def find_same_name(word: str, names: Sequence[str]) -> str | None:
    """Return the only one of several names that equals a word, ignoring case and outer blanks, or None."""
    if word in names:
        return word
    found = [name for name in names if name.strip().casefold() == word.strip().casefold()]
    return found[0] if len(found) == 1 else None


def guess_class(word: str, classes: Sequence[str]) -> str:
    """Return the class that an unknown label may abbreviate or misspell, or `DROPPED` if none is similar."""
    plain = {name.casefold(): name for name in classes}
    low = word.strip().casefold()
    begun = [name for key, name in plain.items() if low and (key.startswith(low) or low.startswith(key))]
    near = difflib.get_close_matches(low, plain, n=1, cutoff=0.75)
    return begun[0] if len(begun) == 1 else plain[near[0]] if near else DROPPED


def suggest_classes(words: Sequence[str], classes: Sequence[str], *, others: bool = False) -> dict[str, str | None]:
    """Guess the classes of unknown labels by similar names, or by order if there is one numeric code for each class.

    −1 counts as a code only if there are too few codes without it. A label without a similar class is dropped; but all
    are None if nothing can be guessed for any label and there are no `others`, labels that are known.
    """
    codes = sorted(filter(_CODE.fullmatch, words), key=int)
    for taken in ([word for word in codes if word != WITHHELD], codes):
        if len(taken) == len(classes):
            return {**dict.fromkeys(words, DROPPED), **dict(zip(taken, classes, strict=True))}
    found: dict[str, str | None] = {word: guess_class(word, classes) for word in words}
    return found if others or any(found.values()) else dict.fromkeys(words, None)


def _resolve_classes(
    rows: Mapping[str, int], classes: Sequence[str], rename: Mapping[str, str], whose: str
) -> dict[str, str]:
    renamed = {}
    for old, new in rename.items():
        if (name := DROPPED if new == DROPPED else find_same_name(new, classes)) is None:
            raise InputError(f"--map {old}={new}: the classes of {whose} are {', '.join(classes)}")
        renamed[find_same_name(old, list(rows)) or old] = name
    found = {word: renamed.get(word, find_same_name(word, classes)) for word in rows}
    return {word: name for word, name in found.items() if name is not None}


def _format_question(
    unknown: Mapping[str, int], classes: Sequence[str], suggested: Mapping[str, str], whose: str, command: Command
) -> str:
    named = ", ".join(f"'{shorten(word)}' ({plural(count, 'row')})" for word, count in list(unknown.items())[:20])
    more = f" and {len(unknown) - 20} more" if len(unknown) > 20 else ""
    what = "is no class" if len(unknown) == 1 else "are no classes"
    problem = f"{named}{more} {what} of {whose} ({', '.join(classes)}). "
    if WITHHELD not in unknown:
        return f"{problem}Say what each means, or nothing to leave its rows out: {command(suggested)}"
    meant = suggested[WITHHELD] if suggested[WITHHELD] in classes else classes[0]
    asked = [command({**suggested, WITHHELD: name}) for name in (DROPPED, meant)]
    why = f"{WITHHELD} often marks rows without a label"
    return f"{problem}{why}; leave them out: {asked[0]} or say what it means: {asked[1]}"
