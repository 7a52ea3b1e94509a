"""Wilcoxon's signed-rank test of two classifiers over the folds of a cross-validation, with the interval inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LEAST = 6
"""Folds from which on p can be below 0.05 at all: of 5 the smallest is 2 / 2⁵ = 0.0625."""


@dataclass(frozen=True)
class Wilcoxon:
    """Differences of a metric, one for each fold.

    The test is exact (Wilcoxon 1945), two-sided. It asks whether the differences lie around 0, each fold one
    observation; folds share most of their training rows, so that p is somewhat too sure of itself (Dietterich 1998).
    """

    differences: tuple[float, ...]
    test = "Wilcoxon over folds"

    @property
    def difference(self) -> float:
        """The middle of the means of any two folds (Hodges and Lehmann 1963), which belongs to this test."""
        return float(np.median(self._means))

    @property
    def p(self) -> float:
        """A fold without a difference speaks for either side."""
        return min(1.0, 2 * float(self._below[min((self._means <= 0).sum(), (self._means >= 0).sum())]))

    @property
    def effect(self) -> float:
        """The rank-biserial correlation (Kerby 2014): −1 where every fold speaks for the second, 1 for the first."""
        return float(np.sign(self._means).mean())

    def interval(self, alpha: float) -> tuple[float, float] | None:
        """Of the difference, at level 1 − alpha: leaves out 0 exactly where p is below alpha.

        None where these are too few folds for any interval at this level.
        """
        out = int(np.searchsorted(2 * self._below, alpha))  # sizes of the smaller rank sum that p calls significant
        return (float(self._means[out - 1]), float(self._means[-out])) if out else None

    def rows_needed(self, alpha: float) -> None:
        """More rows make no more folds."""

    @cached_property
    def _means(self) -> np.ndarray:
        """Of every two folds, each with itself too, rising (Walsh averages): those above 0 count the rank sum."""
        values = np.array(self.differences)
        return np.sort((values[:, None] + values)[np.triu_indices(len(values))] / 2)

    @cached_property
    def _below(self) -> np.ndarray:
        """How probable a rank sum of 0, of at most 1, … is by chance: each rank has either sign."""
        ways = np.ones(1)
        for rank in range(1, len(self.differences) + 1):
            ways = np.convolve(ways, np.bincount([0, rank]))
        return ways.cumsum() / ways.sum()
