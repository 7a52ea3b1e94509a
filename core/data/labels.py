"""Reading of labels from table cells: how they are written, which words they are, and which classes are meant."""

import contextlib
import dataclasses
import difflib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.data import limits
from core.data.cells import as_word, as_words, clean_label
from core.data.columns import BITS, PREFIX, Layout
from core.data.config import ONE_LABEL
from core.data.dataset import Task
from core.data.findings import Finding, list_finding, shorten
from core.data.json_table import DECODER, decode_json
from core.exceptions import DataError, InputError
from core.formatting import plural

WITHHELD = "-1"  # How benchmark files mark a withheld label; in the user's file it may be a class
MARKS = (";", "|", ",", " ")  # Signs that may separate labels, the most reliable first
_NEGATIONS = frozenset({"not", "no", "non", "nicht", "kein", "pas", "ne", "niet", "não"})
"""Words that negate the next one: `not good` is one label, even if there are `not` and `good` too."""
WHOLE_NUMBER = re.compile(r"\d{1,300}")
_LIST = re.compile(r"\[.*\]", re.DOTALL)
_OBJECT = re.compile(r'\{\s*".*\}', re.DOTALL)
_SHARE = re.compile(r"\d*\.\d*[1-9]\d*")
_CHOICES = ("choices", "labels", "label", "taxonomy", "value", "name")  # Keys for the labels in an object


def find_form(
    frame: pd.DataFrame, layout: Layout, separator: str = "", *, several: bool = False, file: str = ""
) -> Layout:
    """Detect the form of a table's label cells (one label, list, separated …); return its column layout with this form.

    `separator` is the sign between labels of a cell, `none` if each cell is one label, or empty to detect it. With
    `several`, texts have several labels even if no cell shows it.
    """
    if layout.form == "columns":
        return layout
    cells = frame[layout.label].dropna()
    with contextlib.suppress(TypeError):  # lists cannot be hashed
        cells = pd.Series(cells.unique(), dtype=cells.dtype)
    with _locate_errors(file, layout.label):
        for found in map(_as_object, cells):
            if found is not None and _read_choices(found) is None:
                seen = ", ".join(map(str, found))
                raise DataError(f"the cells hold objects, not labels (their keys: {seen:.80})")
        nested = any(not pd.api.types.is_scalar(cell) or _as_object(cell) is not None for cell in cells)
        lists = nested or (len(cells) > 0 and all(_LIST.fullmatch(word.strip()) for word in as_words(cells)))
        if lists:
            _refuse_scores(cells)
        listed = lists and not several and all(len(_unpack_list(cell)) == 1 for cell in cells)
    if listed and separator in ("", ONE_LABEL):
        return dataclasses.replace(layout, listed=True)
    if separator == ONE_LABEL:
        return layout
    if lists:
        return dataclasses.replace(layout, form="list")
    mark = separator or _find_mark(sorted({clean_label(word) for word in as_words(cells)} - {""}))
    return dataclasses.replace(layout, form="separated", mark=mark) if mark or several else layout


def read_labels(frame: pd.DataFrame, layout: Layout, *, file: str = "") -> tuple[pd.Series, list[Finding]]:
    """Return each row's label as a word, or its labels as a sorted tuple of words, and findings about the labels.

    Missing labels stay missing; an empty list, or 0 in every column, means that no label applies. Raises a DataError if
    a 0/1 column has another value, or if one list has several labels and the others one each.
    """
    if layout.form == "tags":
        return frame[layout.label], []
    if layout.form == "columns":
        names = map_label_columns(layout)
        bits = pd.DataFrame({name: _read_bits(frame[column], file) for name, column in names.items()})
        rows: list[Any] = [tuple(name for name, bit in zip(names, row, strict=True) if bit) for row in bits.to_numpy()]
        return pd.Series(rows, index=frame.index, dtype=object).where(bits.notna().all(axis=1)), []
    cells = frame[layout.label]
    if layout.form == "one" and not layout.listed:
        return _clean_words(as_words(cells))
    with _locate_errors(file, layout.label):
        parts = [None if _is_missing(cell) else _divide_cell(cell, layout) for cell in cells]
    if layout.form != "one":
        words = [None if part is None else _collect_words(part) for part in parts]
        return pd.Series(words, index=frame.index, dtype=object), []
    if wrong := next((row for row, part in enumerate(parts, 1) if part and len(part) > 1), 0):
        message = "the cell has several labels and the others one; data.separator=, reads all as lists"
        raise DataError(message, file=file, row=wrong, field=layout.label)
    firsts = [part[0] if part else None for part in parts]
    return _clean_words(as_words(pd.Series(firsts, index=frame.index, dtype=object)))


@contextlib.contextmanager
def _locate_errors(file: str, column: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(str(error), file=file, field=column) from None


def map_label_columns(layout: Layout) -> dict[str, str]:
    """Return label → name of its 0/1 column; a prefix `y_` that all label columns share is removed."""
    prefixed = all(name.startswith(PREFIX) for name in layout.labels)
    return {name.removeprefix(PREFIX) if prefixed else name: name for name in layout.labels}


@dataclass(frozen=True)
class LabelNames:
    """The class names and the task in the file `labels.json` of a data folder."""

    names: dict[str, str]  # Label value → class name, in class order
    task: Task


def read_label_names(folder: Path, file: str = "labels.json") -> LabelNames | None:
    """Read class names by label value from the `labels.json` of a data folder; return None if there is none."""
    if not (path := folder / file).is_file():
        return None
    try:
        content = decode_json(limits.read_bytes(path).decode("utf-8-sig"), str(path))
        names = {str(value): str(name) for value, name in content["classes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError('expected {"type": "single", "classes": {"0": "negative", …}}', file=str(path)) from None
    if (task := content.get("type", "single")) not in ("single", "multi"):
        raise DataError(f"type {task!r}: single or multi (several labels per text)", file=str(path))
    return LabelNames(names, task)


def encode_labels(rows: pd.DataFrame, classes: tuple[str, ...], task: Task = "single") -> pd.DataFrame:
    """Return rows with labels as int64 class numbers (several labels: a tuple); refuse labels that are no class."""
    positions = {name: number for number, name in enumerate(classes)}
    if strange := sorted(list_labels(rows["label"]) - set(classes)):
        raise DataError(f"label '{strange[0]}' is none of the classes {', '.join(classes)}", field="label")
    if is_several(rows["label"]):
        arranged = tuple if task == "tokens" else sorted
        numbers = [tuple(arranged(positions[word] for word in each)) for each in rows["label"]]
        return rows.assign(label=pd.Series(numbers, index=rows.index, dtype=object))
    return rows.assign(label=rows["label"].map(positions).astype("int64"))


def is_several(labels: pd.Series) -> bool:
    """Return whether the labels of cleaned rows are tuples: several labels per text, or one per word."""
    return bool(len(labels)) and isinstance(labels.iloc[0], tuple)


def list_labels(labels: pd.Series) -> set[str]:
    """Return the distinct labels of cleaned rows, or the distinct tags of their words."""
    return set(labels.explode().dropna().unique())


def rename_labels(labels: pd.Series, names: Mapping[Any, str]) -> pd.Series:
    """Rename the labels of rows by the map `names` (old → new); a row has one label or several."""
    if is_several(labels):
        return labels.map(lambda each: tuple(dict.fromkeys(names.get(word, word) for word in each)))
    return labels.map(lambda word: names.get(word, word)).astype("str")


def replace_labels(rows: pd.DataFrame, names: Mapping[Any, Any]) -> pd.DataFrame:
    """Replace the labels of rows by a map (old → new); remove labels that it lacks, and rows that lose all labels."""
    if not is_several(labels := rows["label"]):
        kind: Any = "int64" if all(isinstance(new, int) for new in names.values()) else "str"
        kept = rows[labels.isin(names)].reset_index(drop=True)
        return kept.assign(label=kept["label"].map(names).astype(kind))
    named = labels.map(lambda each: tuple(dict.fromkeys(names[old] for old in each if old in names)))
    stays = [bool(new) or not old for new, old in zip(named, labels, strict=True)]
    return rows.assign(label=named)[stays].reset_index(drop=True)


def sort_names(labels: pd.Series) -> tuple[str, ...]:
    """Return the distinct labels in natural order: numbers by value, words by alphabet, `item 2` before `item 10`."""
    return tuple(sorted(list_labels(labels), key=to_natural_key))


def to_natural_key(word: str) -> tuple[int, float, list[tuple[int, int | str]], str]:
    """Return a key for sorting labels naturally: numbers by value, then words, with the numbers in them by value."""
    with contextlib.suppress(ValueError):
        if not math.isnan(number := float(word)):
            return 0, number, [], word
    parts = re.split(r"(\d{1,300})", word.casefold())
    return 1, 0.0, [(0, int(part)) if WHOLE_NUMBER.fullmatch(part) else (1, part) for part in parts], word


def _clean_words(labels: pd.Series) -> tuple[pd.Series, list[Finding]]:
    seen = {word: clean_label(word) for word in labels.dropna().unique()}
    spellings: dict[str, list[str]] = {}
    for word, label in seen.items():
        spellings.setdefault(label, []).append(word)
    signs = sorted(filter(str.strip, spellings.get("", [])))
    cells = int(labels.isin(signs).sum())
    no_label = f"{plural(cells, 'cell')} of {', '.join(map(str.strip, signs))} read as no label"
    several = [each for label, each in spellings.items() if label and len(set(map(str.strip, each))) > 1]
    ways, example = sum(map(len, several)), " = ".join(map(ascii, several[0][:3] if several else ()))
    merged = f"{ways} ways of writing became {plural(len(several), 'label')}, such as {example}"
    return labels.map(seen, na_action="ignore").astype("str"), [
        *list_finding("missing-signs", "warning", cells, no_label),
        *list_finding("labels-merged", "warning", ways, merged),
    ]


def _read_bits(values: pd.Series, file: str) -> pd.Series:
    words = as_words(values).str.strip().str.lower()
    strange = words.notna() & (words != "") & ~words.isin(list(BITS))
    if strange.any():
        row = int(strange.to_numpy().argmax())
        raise DataError(f"'{words.iloc[row]}' is neither 0 nor 1", file=file, row=row + 1, field=str(values.name))
    return words.map(BITS).astype(object)


def _refuse_scores(cells: Iterable[Any]) -> None:
    """Refuse label cells that hold a number or score for each class, such as `[0, 1, 0]` or `[0.2, 0.8]`."""
    rows = list(dict.fromkeys(tuple(map(as_word, _unpack_list(cell))) for cell in cells))
    same_width = len(rows) > 1 < len(rows[0]) and len(set(map(len, rows))) == 1
    shares = any(len(row) > 1 and any(map(_SHARE.fullmatch, row)) for row in rows)
    if shares or (same_width and all(set(row) <= set(BITS) for row in rows)):
        problem = f"the cells hold a number for each class, such as [{', '.join(rows[0])[:40]}]"
        raise DataError(f"{problem}; write the names of a text's labels, or give each class a column of 0 and 1")
    lists = (cell for cell in cells if isinstance(cell, (list, np.ndarray)) and len(cell) > 1)
    if any(all(isinstance(part, dict) and "score" in part for part in cell) for cell in lists):
        raise DataError("the cells hold a score for each label; write the labels that a text has")


def _as_object(cell: Any) -> dict[str, Any] | None:
    """Return the object in a label cell, parsed if it is JSON text (empty if that fails); None if there is none."""
    if isinstance(cell, str):
        return (_decode_cell(cell) or {}) if _OBJECT.fullmatch(cell.strip()) else None
    return cell if isinstance(cell, dict) else None


def _decode_cell(cell: str) -> Any:
    """Decode the JSON text of a label cell; return None if it is not JSON or too deeply nested."""
    try:
        return DECODER.decode(cell)
    except (json.JSONDecodeError, RecursionError):
        return None
    except ValueError as error:
        raise DataError(f"is JSON that cannot be read: {error}") from None


def _read_choices(found: dict[str, Any]) -> list[Any] | None:
    """Return the labels in an annotation such as `{"choices": ["calm", "joy"]}`, or None if it has none."""
    value = next((found[key] for key in _CHOICES if isinstance(found.get(key), (list, str, int))), None)
    return value if value is None or isinstance(value, list) else [value]


def _divide_cell(cell: Any, layout: Layout) -> list[Any]:
    if layout.form != "separated":
        return _unpack_list(cell)
    return str(cell).split(layout.mark) if layout.mark else [cell]


def _unpack_list(cell: Any) -> list[Any]:
    """Return the labels in a cell with a list, or a list written as text: `["a", "b"]`, `['a', 'b']`, `[0 3]`."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [label for part in cell for label in _read_choices(_as_object(part) or {}) or [part]]
    if (found := _as_object(cell)) is not None:
        return _read_choices(found) or []
    if not (text := str(cell).strip()).startswith("["):
        return [text]
    if (found := _decode_cell(text)) is not None:
        return found
    inside = text.removeprefix("[").removesuffix("]")
    parts = inside.split(",") if "," in inside or "'" in inside else inside.split()
    return [part.strip().strip("'\"") for part in parts]


def _is_missing(cell: Any) -> bool:
    return pd.api.types.is_scalar(cell) and bool(pd.isna(cell))


def _collect_words(parts: list[Any]) -> tuple[str, ...] | None:
    if not parts:
        return ()
    return tuple(sorted({clean_label(as_word(part)) for part in parts if not _is_missing(part)} - {""})) or None


def _find_mark(labels: Sequence[str]) -> str:
    """Find the sign that separates labels in cells, such as the blank in `pharma rushed`; empty if there is none."""
    # A blank or comma separates labels if nine of ten parts are also single labels; `;` and `|` are in no label.
    for mark in MARKS:
        parts = [{part.strip() for part in str(value).split(mark)} - {""} for value in labels]
        several = sum(len(part) > 1 for part in parts)
        single = {next(iter(part)) for part in parts if len(part) == 1}
        atoms: set[str] = set().union(*parts) if parts else set()
        if mark == " " and any(atom.casefold() in _NEGATIONS for atom in atoms):
            continue
        met = several > 1 or any(len(part) > 1 and part & single for part in parts)
        sure = met and mark in MARKS[:2] and len(atoms) <= len(labels) + 1
        if sure or (several > 1 and len(atoms) < len(labels) and len(atoms & single) >= 0.9 * len(atoms)):
            return mark
    return ""


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
