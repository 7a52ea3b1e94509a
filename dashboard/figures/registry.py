"""Every figure of a run by name, in the order of the pages."""

from __future__ import annotations

from typing import Any

from dashboard.figures.calibration import CALIBRATION
from dashboard.figures.confusion import CONFIDENCE, CONFUSION
from dashboard.figures.embeddings import MAP
from dashboard.figures.figure import Figure
from dashboard.figures.heads import COEFFICIENTS, HEADS
from dashboard.figures.labels import LABELS
from dashboard.figures.lambdas import COURSE
from dashboard.figures.parts import (
    BRANCHES,
    GATE_BARS,
    GATES,
    HEAD_READING,
    LEARNED,
    LEXICON,
    POLARITY,
    SUPPORT,
    TOKEN_LAMBDA,
)
from dashboard.figures.phenomena import PHENOMENA
from dashboard.figures.ranking import PR, ROC
from dashboard.figures.silhouettes import SILHOUETTES
from dashboard.figures.training import LAMBDAS, LEARNING

ALL: tuple[Figure[Any], ...] = (
    *(LEARNING, LAMBDAS, COURSE, LEARNED),
    *(CONFUSION, CONFIDENCE, LABELS, ROC, PR, CALIBRATION, PHENOMENA),
    *(MAP, SILHOUETTES),
    *(HEADS, COEFFICIENTS, TOKEN_LAMBDA, GATES, GATE_BARS, POLARITY, LEXICON, SUPPORT, BRANCHES, HEAD_READING),
)
FIGURES: dict[str, tuple[Figure[Any], dict[str, Any]]] = {
    name: (figure, choices) for figure in ALL for name, choices in figure.variants()
}
"""By the name of the file: the figure, and the values that its options have there."""
