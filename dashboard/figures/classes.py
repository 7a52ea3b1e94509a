"""Each class of a split at the chosen threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.evaluation.intervals import METHOD
from dashboard.figures import answers
from dashboard.figures.decisions import PARTS, class_table
from dashboard.figures.drawing import NOTHING, Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import number, plus_minus
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Classes:
    """The table of `class_table` at a threshold."""

    table: pd.DataFrame
    threshold: float


def _read(source: Source) -> Classes:
    decision = source.once(answers.decision)
    return Classes(class_table(decision), decision.threshold)


def _draw(shown: Classes, look: Look) -> Table:
    table = shown.table
    words = {
        part: [_words(*each) for each in zip(table[part], table[f"{part}, low"], table[f"{part}, high"], strict=True)]
        for part in PARTS
    }
    return Table(table[["Class", *PARTS, "n"]].assign(**words), dict.fromkeys(PARTS, Column(alignment="right")))


def _words(value: float, low: float, high: float) -> str:
    if value != value:
        return NOTHING
    return plus_minus(value, low, high) if low == low else number(value)


CLASSES = Figure(
    "each-class",
    "performance",
    "Each class",
    _read,
    _draw,
    note=lambda shown: f"at {number(shown.threshold, 2)}, 95 %",
    reading=(
        "Precision: of those predicted as the class, how many are. Recall: of those that are, how many are predicted. "
        "± is half of the 95 % interval."
    ),
    how=(
        f"F1 is the harmonic mean of precision and recall. Intervals: {METHOD}; where one is lopsided, both ends stand "
        "there."
    ),
    options=answers.OPTIONS,
    tables=lambda shown: {"Classes": shown.table},
    sizes=lambda shown: {str(name): int(n) for name, n in zip(shown.table["Class"], shown.table["n"], strict=True)},
)
