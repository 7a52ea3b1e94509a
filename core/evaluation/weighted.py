"""Means, ranks and areas of weighted rows, many weightings (R, n) at once; NaN where nothing is defined."""

from __future__ import annotations

from typing import Protocol

import numpy as np

BINS = 15


class Ranked(Protocol):
    """Rows in the order of each class's probability."""

    @property
    def ranking(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """See `rank`."""

    def positive(self, number: int) -> np.ndarray:
        """(n,) booleans: the rows of a class."""


def rank(probabilities: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return per column of (n, C): rows by falling value, and where in that order each distinct value starts."""
    orders = [np.argsort(-column, kind="stable") for column in probabilities.T]
    return [
        (order, np.flatnonzero(np.diff(column[order], prepend=np.inf)))
        for column, order in zip(probabilities.T, orders, strict=True)
    ]


def confidence_bin(confidence: np.ndarray) -> np.ndarray:
    """Return the bin of each confidence: bin k holds k/15 < confidence <= (k+1)/15."""
    return np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)


def reached(scores: Ranked, weights: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true and false positives (weights) of a class at each threshold, falling; each (R, thresholds)."""
    order, starts = scores.ranking[number]
    sorted_weights = weights[:, order]
    positive = scores.positive(number)[order]
    true = np.add.reduceat(sorted_weights * positive, starts, axis=1).cumsum(1)
    every = np.add.reduceat(sorted_weights, starts, axis=1).cumsum(1)
    return true, every - true


def roc_area(true: np.ndarray, false: np.ndarray) -> np.ndarray:
    """Return (R,) area under the ROC curve by trapezoids; NaN without positives or negatives."""
    steps = np.diff(false, axis=1, prepend=0)
    heights = true - np.diff(true, axis=1, prepend=0) / 2
    return ratio((steps * heights).sum(1), true[:, -1] * false[:, -1], empty=np.nan)


def precision_area(true: np.ndarray, false: np.ndarray) -> np.ndarray:
    """Return average precision: precision at each threshold by the recall gained there; NaN without positives."""
    gained = np.diff(true, axis=1, prepend=0) * ratio(true, true + false)
    return ratio(gained.sum(1), true[:, -1], empty=np.nan)


def mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (R,) weighted means of (n,) values; NaN where nothing weighs."""
    with np.errstate(invalid="ignore"):
        return weights @ values / weights.sum(1)


def ratio(part: np.ndarray, whole: np.ndarray, empty: float = 0.0) -> np.ndarray:
    """Return the elementwise quotient; `empty` where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, empty)
