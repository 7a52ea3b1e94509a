"""Labels that are likely wrong: confident learning (Northcutt, Jiang and Chuang, JAIR 2021), and texts with two labels.

Of each row its own probabilities p, by a model that was not fitted on it. Rows are ranked by their self-confidence, p
of the label, the least first. Of planted errors it found more than the normalised margin did, p of the label less the
largest p of another class, where there were three or four classes; of two they are one order. The threshold of class j
is the mean of p_j over the rows labelled j, and a row labelled i is likely labelled wrongly where a class j ≠ i has p_j
at or above its threshold and no smaller p than any other class that has. Of several labels per text each is a yes or
no of its own, and a row has the self-confidence and the margin of its worst one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Suspects:
    """n rows as their labels are doubted."""

    confidence: np.ndarray
    """(n,) in [0, 1]: the probability of the label."""
    margin: np.ndarray
    """(n,) in [-1, 1]."""
    likely: np.ndarray
    """(n,) bool: whether the label is likely wrong."""
    label: np.ndarray
    """(n,) the class that is likelier; of several labels the one that is likely missing or too much."""

    @property
    def order(self) -> np.ndarray:
        """(n,) places, the most doubtful first."""
        return np.argsort(self.confidence, kind="stable")


def suspects(labels: np.ndarray, probabilities: np.ndarray) -> Suspects:
    """How far labels are to be doubted.

    Args:
        labels: (n,) class numbers, or (n, C) zeros and ones.
        probabilities: (n, C), each row's by a model that was not fitted on it.
    """
    if labels.ndim == 2:
        return _several(labels > 0, probabilities)
    rows, own = np.arange(len(labels)), np.asarray(labels, np.int64)
    given = probabilities[rows, own]
    others = probabilities.copy()
    others[rows, own] = -np.inf
    thresholds = np.array([_mean(given[own == number]) for number in range(probabilities.shape[1])])
    confident = np.where(probabilities >= thresholds, probabilities, -np.inf)
    first = confident.argmax(1)
    likely = np.logical_and(np.isfinite(confident.max(1)), first != own)
    return Suspects(given, given - others.max(1), likely, np.where(likely, first, others.argmax(1)))


def conflicts(keys: Sequence[str], labels: Sequence[object]) -> list[list[int]]:
    """Rows of each text that stands there with two labels or more, in the order of the first of them.

    Args:
        keys: of each row, equal where the texts are (`core.text.reading.as_read`).
        labels: of each row.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        groups[key].append(row)
    return [rows for rows in groups.values() if len({labels[row] for row in rows}) > 1]


def _several(has: np.ndarray, chances: np.ndarray) -> Suspects:
    of_state = np.where(has, chances, 1 - chances)
    with_label = np.array([_mean(column[own]) for column, own in zip(chances.T, has.T, strict=True)])
    without = np.array([_mean(1 - column[~own]) for column, own in zip(chances.T, has.T, strict=True)])
    doubted = (1 - of_state >= np.where(has, without, with_label)) & (of_state < 0.5)
    likely = doubted.sum(1) > 0
    # Of a row that is likely wrong, the worst of what makes it so; else the worst of all.
    worst = np.where(doubted | ~likely[:, None], of_state, np.inf).argmin(1)
    own = of_state[np.arange(len(has)), worst]
    return Suspects(own, 2 * own - 1, likely, worst)


def _mean(values: np.ndarray) -> float:
    """Infinite of nothing: no row is confidently of a class that none is labelled."""
    return float(values.mean()) if len(values) else np.inf
