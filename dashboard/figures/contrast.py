"""Comparison of two predictions (of two texts, two runs or both), and the attribution of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.exceptions import NotAvailable
from core.formatting import number, signed
from core.interpret.attribution_math import compute_log_odds
from dashboard.figures.drawing import DataTable, TableColumn
from dashboard.figures.figure import Figure
from dashboard.figures.source import FREE, Option, Source
from dashboard.figures.theme import Look
from dashboard.figures.word_attributions import TOWARDS, WORDS, WordView, get_target_class

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

Pair = tuple[int | None, int | None]
OTHER_TEXT = Option(
    "pinned",
    "Pinned sentence",
    lambda source: FREE,
    "The sentence to compare with, read by the same run or another one.",
    words=lambda source, text: f"against “{text}”" if text else "",
)


def read_sentence(source: Source) -> SentenceView:
    """Return the forward pass of the chosen text in a run's model, even of an empty text."""
    return source.reader.inspect_text(source.record.run, source.text, source.edits)


def describe_difference(now: Source, other: Source, name: str = "") -> str:
    """Describe how the probability and log-odds of the explained class differ between two predictions."""
    about, mine, theirs = get_target_class(now), read_sentence(now), read_sentence(other)
    if about not in theirs.probabilities:
        return f"The other run has no class {about}, so there is no difference."
    p, before = mine.probabilities[about], theirs.probabilities[about]
    odds = []
    for view, source in ((mine, now), (theirs, other)):
        chances = np.array([*view.probabilities.values()])
        odds.append(float(compute_log_odds(chances, [*view.probabilities].index(about), source.record.task)))
    said = (
        f"P({about}) {number(p)} against {number(before)}{f' {name}' if name else ''}: {signed(p - before, 3)}; "
        f"log-odds {signed(odds[0])} against {signed(odds[1])}: {signed(odds[0] - odds[1])}."
    )
    return said if mine.label == theirs.label else f"{said} The answer is {mine.label} instead of {theirs.label}."


@dataclass(frozen=True, eq=False)
class Contrast:
    """Aligned words of two texts, or of one text read by two runs, with their attributions."""

    now: WordView
    other: WordView
    pairs: Sequence[Pair]  # positions of the words; None: no counterpart


def align_words(now: Sequence[str], other: Sequence[str]) -> list[Pair]:
    """Align the words of two texts: equal words become pairs; the words between them are paired in order."""
    pairs: list[Pair] = []
    matcher = SequenceMatcher(None, [each.lower() for each in now], [each.lower() for each in other], autojunk=False)
    for _, start, end, from_, to in matcher.get_opcodes():
        pairs += zip_longest(range(start, end), range(from_, to))
    return pairs


def match_class(now: Source, other: Source) -> Source:
    """Return the second prediction's data source with the first's class to explain; NotAvailable: no word or class."""
    about = get_target_class(now)
    if about not in other.record.classes:
        raise NotAvailable(f"run '{other.record.run}' has no class '{about}'")
    if not (read_sentence(now).tokens and read_sentence(other).tokens):
        raise NotAvailable("there is no word in one of the texts")
    same = other.copy_with_choices(**{TOWARDS.name: about}) if TOWARDS.has_choices(other) else other
    if (its := get_target_class(same)) != about:
        raise NotAvailable(f"the effect is counted towards {about} in one run and towards {its} in the other")
    return same


def align_readings(now: Source, other: Source) -> Contrast:
    """Align words and attributions of two texts or runs for one class; NotAvailable: no common class or known word."""
    same = match_class(now, other)
    mine, theirs = WORDS.read_data(now), WORDS.read_data(same)
    words = ([word.word for word in each.pushed.found.words] for each in (mine, theirs))
    return Contrast(mine, theirs, align_words(*words))


def read_other(source: Source) -> Source:
    """Return the data source to compare with (other text, other run or both); NotAvailable: none is chosen."""
    if not source.text:
        raise NotAvailable("it is of a text: name one with --text")
    text = str(source.get_choice(OTHER_TEXT))
    if not (source.others or text):
        raise NotAvailable("it is of two readings: name another run with --against, or a sentence with --with pinned=…")
    record = source.others[0] if source.others else source.record
    return Source(record, source.reader, text=text or source.text)


def build_contrast_table(shape: Contrast) -> pd.DataFrame:
    """Return a row for each pair of aligned words: both words, their attributions, and the difference."""
    rows = []
    for mine, theirs in shape.pairs:
        word, push = _get_word(shape.now, mine)
        other, its = _get_word(shape.other, theirs)
        gap = None if push is None or its is None else push - its
        rows.append({"word": word, "push": push, "other word": other, "other push": its, "difference": gap})
    return pd.DataFrame(rows, columns=["word", "push", "other word", "other push", "difference"])


def _get_word(shown: WordView, place: int | None) -> tuple[str | None, float | None]:
    return (None, None) if place is None else (shown.pushed.found.words[place].word, float(shown.pushes[place]))


def _draw_contrast(shape: Contrast, look: Look) -> DataTable:
    columns = {
        "word": TableColumn("Word"),
        "push": TableColumn("Effect", decimals=2),
        "other word": TableColumn("Other word"),
        "other push": TableColumn("Other effect", decimals=2),
        "difference": TableColumn("Difference", "Effect minus other effect", decimals=2),
    }
    return DataTable(build_contrast_table(shape), columns, narrow=True)


DIFFERENCE = Figure(
    "difference",
    "sentence",
    "Difference of each effect",
    lambda source: align_readings(source, read_other(source)),
    _draw_contrast,
    note=lambda shape: f"towards {shape.now.target}",
    reading="Words of both readings, aligned; unmatched words have an empty cell.",
    options=(TOWARDS, OTHER_TEXT),
    tables=lambda shape: {"Difference": build_contrast_table(shape)},
)
