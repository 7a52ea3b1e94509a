"""Sentence templates filled with more and more words, such as between a negation and the word it negates.

A template marks the place with {} and may mark the negation with brackets: "The film was [not] {} good." is read as
"The film was not then good.", and beside it, without the negation, as "The film was then good."
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from core.exceptions import InputError
from core.numbers import count

if TYPE_CHECKING:
    import numpy as np

    from core.interpret.reader import Reader


PLACE = "{}"
TEMPLATES = {
    "not good": "The film was [not] {} good.",
    "not bad": "The film was [not] {} bad.",
    "never dull": "The story was [never] {} dull.",
    "did not enjoy": "I did [not] {} enjoy the film.",
    "nobody liked": "Nobody {} liked the film.",
    "nothing good": "There was nothing {} good about the film.",
    "not think that": "I do [not] think {} that the film was good.",
}
"""By name; words that the built-in corpus has."""
FILLER = (
    "then | in that room | on that day | at that hour | with all of them there | from the first week | to the last year"
)
"""What is put in where nobody says otherwise: words without a polarity, whole phrases at a time."""
MOST_PIECES = 60
LONGEST = 5_000  # Characters of a template and of what is put in
_NEGATION = re.compile(r"\[([^\[\]{}]*)\]")


@dataclass(frozen=True)
class Step:
    """A template filled with a number of words."""

    words: int  # Between what stands before the place and behind it
    text: str
    without: str | None  # The same without the negation; None: none is marked


def steps(text: str, insert: str = FILLER, most: int | None = None) -> tuple[Step, ...]:
    """Fill a template with nothing, the first piece, the first two, and so on.

    Args:
        text: name of one of `TEMPLATES`, or a text with one {} in it; what stands in brackets is the negation.
        insert: words, put in one at a time; with | between pieces, a piece at a time.
        most: pieces at most; None: all.

    Raises:
        InputError: no place or several, brackets without a word, nothing to put in, or an impossible number of pieces.
    """
    template, pieces = TEMPLATES.get(text, text), _pieces(insert)
    if max(len(template), len(insert)) > LONGEST:
        raise InputError(f"a template and what is put in have at most {count(LONGEST)} characters each")
    if (many := template.count(PLACE)) != 1:
        found = "there is none" if not many else f"there are {many}"
        raise InputError(f"template '{template:.80}': mark one place with {PLACE}; {found}")
    plain, bare = _with_and_without(template)
    if most is not None and not 0 <= most <= len(pieces):
        raise InputError(f"{count(most)} pieces: from 0 to {len(pieces)}, as many as are put in; give more to put in")
    filled = list(accumulate(pieces[:most], lambda before, piece: f"{before} {piece}".strip(), initial=""))
    return tuple(
        Step(len(each.split()), _put(plain, each), None if bare is None else _put(bare, each)) for each in filled
    )


def _pieces(insert: str) -> list[str]:
    cut = insert.split("|") if "|" in insert else insert.split()
    pieces = [" ".join(piece.split()) for piece in cut if piece.strip()]
    if not pieces:
        raise InputError("there is nothing to put in: give words, or pieces with | between")
    if len(pieces) > MOST_PIECES:
        raise InputError(f"{count(len(pieces))} pieces to put in: at most {MOST_PIECES}")
    return pieces


def _with_and_without(template: str) -> tuple[str, str | None]:
    """Return the template without its brackets, and without their content."""
    marks = list(_NEGATION.finditer(template))
    if not marks and not set("[]") & set(template):
        return template, None
    if len(marks) != 1 or template.count("[") + template.count("]") != 2 or not marks[0][1].strip():
        raise InputError(f"template '{template:.80}': brackets mark one word or phrase, the negation, once: [not]")
    [mark] = marks
    return template[: mark.start()] + mark[1] + template[mark.end() :], _cut(template, *mark.span())


def _put(template: str, words: str) -> str:
    at = template.index(PLACE)
    if not words:
        return _cut(template, at, at + len(PLACE))
    return template[:at] + words + template[at + len(PLACE) :]


def _cut(text: str, start: int, end: int) -> str:
    from core.text.typed import without  # NumPy, which the command line does without until it is asked

    return without(text, [(start, end)])


@dataclass(frozen=True)
class Reach:
    """The predictions of a run on every step of a template."""

    target: str
    probabilities: np.ndarray  # (steps,) float64: of the target
    without: np.ndarray | None  # (steps,): without the negation
    note: str  # What of the longest text is unknown or cut off; empty: nothing


def reach(reader: Reader, asked: Sequence[Step], target: str) -> Reach:
    """Predict every step of a template; InputError unless `target` is a class of the run."""
    if not target:
        raise InputError("name a class whose probability is followed")
    reader.check(target)
    bare = [(step.text, step.without) for step in asked if step.without is not None]
    texts = [step.text for step in asked]
    read = [_read(reader, text, less) for text, less in bare]
    said = reader.say([*texts, *read], None, [*texts, *(less for _, less in bare)])
    chances = said.probabilities[:, reader.classes.index(target)].astype("float64")
    longest = asked[-1].text
    return Reach(
        target,
        chances[: len(asked)],
        chances[len(asked) :] if bare else None,
        " ".join(reader.notes(longest, reader.tokenizer.encode(longest))),
    )


def _read(reader: Reader, text: str, less: str) -> str:
    """Return the part of a text without its negation that the network reads, never more than it reads of the text."""
    part = reader.read_part(text)
    end = text.removeprefix(part)
    return (less.removesuffix(end) if less.endswith(end) else part) if end != text else less
