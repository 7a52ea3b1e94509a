"""Each class of a split at the chosen threshold."""

from __future__ import annotations

from dashboard.figures import answers
from dashboard.figures.decisions import Decision, class_table
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import number
from dashboard.figures.theme import Look


def _draw(decision: Decision, look: Look) -> Table:
    three = Column(decimals=3, width=84)
    return Table(class_table(decision), dict.fromkeys(("Precision", "Recall", "F1"), three))


CLASSES = Figure(
    "each-class",
    "performance",
    "Each class",
    lambda source: source.once(answers.decision),
    _draw,
    note=lambda decision: f"at {number(decision.threshold, 2)}",
    reading="Precision: of those predicted as the class, how many are. Recall: of those that are, how many are found.",
    how="F1 is the harmonic mean of the two. n counts the sentences of the class that get a prediction.",
    options=answers.OPTIONS,
    tables=lambda decision: {"Classes": class_table(decision)},
)
