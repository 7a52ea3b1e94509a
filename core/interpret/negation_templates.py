"""Sentence templates filled with more and more words, such as between a negation and the word it negates.

A template marks the place with {} and may mark the negation with brackets: "The film was [not] {} good." becomes "The
film was not then good.", and without the negation "The film was then good."
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from core.exceptions import InputError
from core.formatting import count

if TYPE_CHECKING:
    import numpy as np

    from core.interpret.explain_context import ExplainContext

PLACE = "{}"
TEMPLATES = {
    "not good": "The film was [not] {} good.",
    "not bad": "The film was [not] {} bad.",
    "never dull": "The story was [never] {} dull.",
    "did not enjoy": "I did [not] {} enjoy the film.",
    "nobody liked": "Nobody {} liked the film.",
    "nothing good": "There was nothing {} good about the film.",
    "not think that": "I do [not] think {} that the film was good.",
}  # Name → template, of words in the built-in corpus
FILLER = (  # Default insertion: phrases without polarity
    "then | in that room | on that day | at that hour | with all of them there | from the first week | to the last year"
)
MOST_PIECES = 60
LONGEST = 5_000  # Characters of a template and of an insertion
_NEGATION = re.compile(r"\[([^\[\]{}]*)\]")


@dataclass(frozen=True)
class FilledTemplate:
    """A sentence template filled with a number of words, with and without its negation."""

    words: int  # Inserted words
    text: str
    without: str | None  # The text without the negation; None if none is marked


def fill_template(text: str, insert: str = FILLER, most: int | None = None) -> tuple[FilledTemplate, ...]:
    """Fill a template (of `TEMPLATES`, or a text with one {} and a negation in brackets) with growing insertions.

    Words are inserted one at a time, pieces separated by | a piece at a time, at most `most` of them.
    """
    template, pieces = TEMPLATES.get(text, text), _split_pieces(insert)
    if max(len(template), len(insert)) > LONGEST:
        raise InputError(f"a template and each insertion have at most {count(LONGEST)} characters each")
    if (many := template.count(PLACE)) != 1:
        found = "there is none" if not many else f"there are {many}"
        raise InputError(f"template '{template:.80}': mark one place with {PLACE}; {found}")
    plain, bare = _split_negation(template)
    if most is not None and not 0 <= most <= len(pieces):
        raise InputError(f"{count(most)} pieces: from 0 to {len(pieces)}, the number of pieces; give more to insert")
    steps = []
    for each in accumulate(pieces[:most], lambda before, piece: f"{before} {piece}".strip(), initial=""):
        without = None if bare is None else _insert_words(bare, each)
        steps.append(FilledTemplate(len(each.split()), _insert_words(plain, each), without))
    return tuple(steps)


def _split_pieces(insert: str) -> list[str]:
    cut = insert.split("|") if "|" in insert else insert.split()
    pieces = [" ".join(piece.split()) for piece in cut if piece.strip()]
    if not pieces:
        raise InputError("there is nothing to insert: give words, or pieces with | between")
    if len(pieces) > MOST_PIECES:
        raise InputError(f"{count(len(pieces))} pieces to insert: at most {MOST_PIECES}")
    return pieces


def _split_negation(template: str) -> tuple[str, str | None]:
    """Return a sentence template with its negation, and without it (None if no negation is marked in brackets)."""
    marks = list(_NEGATION.finditer(template))
    if not marks and not set("[]") & set(template):
        return template, None
    if len(marks) != 1 or template.count("[") + template.count("]") != 2 or not marks[0][1].strip():
        raise InputError(f"template '{template:.80}': brackets mark one word or phrase, the negation, once: [not]")
    [mark] = marks
    return template[: mark.start()] + mark[1] + template[mark.end() :], _delete_span(template, *mark.span())


def _insert_words(template: str, words: str) -> str:
    at = template.index(PLACE)
    if not words:
        return _delete_span(template, at, at + len(PLACE))
    return template[:at] + words + template[at + len(PLACE) :]


def _delete_span(text: str, start: int, end: int) -> str:
    from core.text.word_spans import remove_words  # imports NumPy, which slows down the command line

    return remove_words(text, [(start, end)])


@dataclass(frozen=True)
class TemplatePredictions:
    """A run's predictions for one sentence template while more and more words are inserted into it."""

    target: str
    probabilities: np.ndarray  # (steps,) float64: of the target
    without: np.ndarray | None  # (steps,): without the negation
    note: str  # Unknown words and truncation of the longest text; empty if there are none


def predict_template(reader: ExplainContext, asked: Sequence[FilledTemplate], target: str) -> TemplatePredictions:
    """Predict each step of a filled sentence template; InputError unless `target` is a class of the run."""
    if not target:
        raise InputError("name the class whose probability is shown")
    reader.check_class(target)
    bare = [(step.text, step.without) for step in asked if step.without is not None]
    texts = [step.text for step in asked]
    read = [_read_without(reader, text, less) for text, less in bare]
    said = reader.predict_texts([*texts, *read], None, [*texts, *(less for _, less in bare)])
    chances = said.probabilities[:, reader.classes.index(target)].astype("float64")
    longest = asked[-1].text
    return TemplatePredictions(
        target,
        chances[: len(asked)],
        chances[len(asked) :] if bare else None,
        " ".join(reader.write_notes(longest, reader.tokenizer.encode(longest))),
    )


def _read_without(reader: ExplainContext, text: str, less: str) -> str:
    """Return what the network reads of a text without its negation, never more than it reads of the whole text."""
    part = reader.read_part(text)
    end = text.removeprefix(part)
    return (less.removesuffix(end) if less.endswith(end) else part) if end != text else less
