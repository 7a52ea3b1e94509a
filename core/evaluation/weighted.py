"""Metrics of weighted rows, many weightings at once: all weights 1 is the metric, counts of draws are the bootstrap.

Every measure takes the scores of n rows and weights (R, n) and gives (R,) values, NaN where it is not defined.
Definitions are those of scikit-learn with `sample_weight`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

Average = Literal["macro", "weighted"]
Measure = Callable[[Any, np.ndarray], np.ndarray]
"""(scores as the measure needs them, weights (R, n)) → (R,)."""
Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Weights of true and false positives at falling thresholds, each (R, thresholds) → (R,) areas."""
BINS = 15


class Ranked(Protocol):
    """Rows in the order of each class's probability."""

    @property
    def ranking(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """See `rank`."""

    def positive(self, number: int) -> np.ndarray:
        """(n,) booleans: the rows of a class."""


def rank(probabilities: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Per column of (n, C): rows by falling value, and where in that order each distinct value starts."""
    orders = [np.argsort(-column, kind="stable") for column in probabilities.T]
    return [
        (order, np.flatnonzero(np.diff(column[order], prepend=np.inf)))
        for column, order in zip(probabilities.T, orders, strict=True)
    ]


class Scores:
    """Labels and probabilities of n rows, with what several measures share computed once.

    Args:
        labels: (n,) class numbers.
        probabilities: (n, C).
    """

    def __init__(self, labels: np.ndarray, probabilities: np.ndarray) -> None:
        self.labels = np.asarray(labels, np.int64)
        self.probabilities = np.asarray(probabilities, np.float64)
        self.classes = self.probabilities.shape[1]
        self.predicted = self.probabilities.argmax(1) if len(self.labels) else np.zeros(0, np.int64)

    @property
    def answers(self) -> np.ndarray:
        """(n,): what is said of each row."""
        return self.predicted

    @cached_property
    def correct(self) -> np.ndarray:
        """(n,) float64: 1 where the most probable class is the label."""
        return (self.predicted == self.labels).astype(float)

    @cached_property
    def ranking(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per class, see `rank`."""
        return rank(self.probabilities)

    def positive(self, number: int) -> np.ndarray:
        """(n,) booleans: the rows of a class."""
        return self.labels == number


def accuracy(scores: Scores, weights: np.ndarray) -> np.ndarray:
    """Share of the weight on correct rows."""
    return mean(scores.correct, weights)


def loss(scores: Scores, weights: np.ndarray) -> np.ndarray:
    """Mean negative log probability of the label, probabilities kept within float64's epsilon of 0 and 1."""
    epsilon = np.finfo(np.float64).eps
    own = scores.probabilities[np.arange(len(scores.labels)), scores.labels]
    return mean(-np.log(np.clip(own, epsilon, 1 - epsilon)), weights)


def brier(scores: Scores, weights: np.ndarray) -> np.ndarray:
    """Half the squared distance between probabilities and the label's unit vector: 0 best, 1 worst."""
    distance = scores.probabilities - np.eye(scores.classes)[scores.labels]
    return mean((distance**2).sum(1) / 2, weights)


def calibration_error(scores: Scores, weights: np.ndarray) -> np.ndarray:
    """ECE (Guo et al. 2017): 15 equal bins of confidence, gap of accuracy and confidence, by weight of the bin."""
    confidence = scores.probabilities.max(1, initial=0)
    inside = confidence_bin(confidence) == np.arange(BINS)[:, None]
    gaps = weights @ (inside * (scores.correct - confidence)).T
    with np.errstate(invalid="ignore"):
        return np.abs(gaps).sum(1) / weights.sum(1)


def confidence_bin(confidence: np.ndarray) -> np.ndarray:
    """The bin of each confidence: bin k holds k/15 < confidence <= (k+1)/15."""
    return np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)


def confusions(scores: Scores, weights: np.ndarray) -> np.ndarray:
    """(R, C, C): weight of the rows with label i and prediction j."""
    cells = scores.labels * scores.classes + scores.predicted
    counts = [np.bincount(cells, weights=row, minlength=scores.classes**2) for row in weights]
    return np.array(counts).reshape(len(weights), scores.classes, scores.classes)


def class_measures(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Confusions (R, C, C) → precision, recall, f1 and support per class, each (R, C); 0 where nothing is counted."""
    hits, support, claimed = np.einsum("rcc->rc", counts), counts.sum(2), counts.sum(1)
    return {
        "precision": ratio(hits, claimed),
        "recall": ratio(hits, support),
        "f1": ratio(2 * hits, support + claimed),
        "support": support,
    }


def averaged(name: str, average: Average) -> Measure:
    """Precision, recall or f1 over the classes: by support, or plainly over classes with a label or a prediction."""

    def measure(scores: Scores, weights: np.ndarray) -> np.ndarray:
        counts = confusions(scores, weights)
        found = class_measures(counts)
        share = found["support"] if average == "weighted" else (counts.sum(1) + counts.sum(2) > 0).astype(float)
        with np.errstate(invalid="ignore"):
            return (found[name] * share).sum(1) / share.sum(1)

    return measure


def ranked(curve: Curve, average: Average) -> Measure:
    """An area per class against the rest, averaged; of two classes, the second one alone."""

    def measure(scores: Scores, weights: np.ndarray) -> np.ndarray:
        columns = [1] if scores.classes == 2 else range(scores.classes)
        values = np.stack([curve(*reached(scores, weights, each)) for each in columns], 1)
        if len(values[0]) == 1 or average == "macro":
            return values.mean(1)
        support = np.stack([weights @ (scores.labels == each) for each in columns], 1)
        return (values * support).sum(1) / support.sum(1)

    return measure


def reached(scores: Ranked, weights: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of true and of false positives of a class at each distinct threshold, falling; each (R, thresholds)."""
    order, starts = scores.ranking[number]
    sorted_weights = weights[:, order]
    positive = scores.positive(number)[order]
    true = np.add.reduceat(sorted_weights * positive, starts, axis=1).cumsum(1)
    every = np.add.reduceat(sorted_weights, starts, axis=1).cumsum(1)
    return true, every - true


def roc_area(true: np.ndarray, false: np.ndarray) -> np.ndarray:
    """Area under the ROC curve by trapezoids; NaN without positives or negatives. (R, thresholds) → (R,)."""
    steps = np.diff(false, axis=1, prepend=0)
    heights = true - np.diff(true, axis=1, prepend=0) / 2
    return ratio((steps * heights).sum(1), true[:, -1] * false[:, -1], empty=np.nan)


def precision_area(true: np.ndarray, false: np.ndarray) -> np.ndarray:
    """Average precision: precision at each threshold by the recall gained there; NaN without positives."""
    gained = np.diff(true, axis=1, prepend=0) * ratio(true, true + false)
    return ratio(gained.sum(1), true[:, -1], empty=np.nan)


def mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) values → (R,) weighted means; NaN where nothing weighs."""
    with np.errstate(invalid="ignore"):
        return weights @ values / weights.sum(1)


def ratio(part: np.ndarray, whole: np.ndarray, empty: float = 0.0) -> np.ndarray:
    """Elementwise quotient; `empty` where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, empty)
