"""Several labels per text: where each is predicted, and the labels of a text in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.evaluation import weighted
from core.evaluation.scores import HALF, scored

NOTHING = "none of them"
"""Stands for the labels of a text that has none."""
SEVERAL = "the texts have several labels each, so that none belongs to one class only"
"""Why there is no silhouette."""


def confusions(
    labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str], thresholds: np.ndarray | float = HALF
) -> dict[str, list[list[int]]]:
    """Each label's counts, 2 × 2: rows without and with the label, columns not predicted and predicted."""
    scores = scored(labels, probabilities, "multi", thresholds)
    cells = scores.true * 2 + scores.predicted
    return {
        name: np.bincount(cells[:, number], minlength=4).reshape(2, 2).tolist() for number, name in enumerate(classes)
    }


def label_names(has: np.ndarray, classes: Sequence[str]) -> list[str]:
    """The names of the nonzero columns of each row of (n, C), a comma between; `NOTHING` for a row without any."""
    return [", ".join(name for name, there in zip(classes, row, strict=True) if there) or NOTHING for row in has]


def tuned_thresholds(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """(C,) the threshold of each label at which its F1 on these rows is highest; 0.5 for a label without rows.

    It lies in the middle between two probabilities; of several as good the one nearest to 0.5, and 0.5 itself whenever
    it is as good. The F1 on the rows it was tuned on flatters, the more so the fewer rows have the label.
    """
    scores = scored(labels, probabilities, "multi")
    once = np.ones((1, len(scores.labels)))
    found = np.full(scores.true.shape[1], HALF)
    for number, (order, starts) in enumerate(scores.ranking):
        positives = scores.positive(number).sum()
        if not positives:
            continue
        true, false = (each[0] for each in weighted.reached(scores, once, number))
        values = scores.probabilities[order[starts], number]  # falling; the i-th and all above it are predicted
        # No threshold lets a probability of 0 pass.
        f1 = np.where(values > 0, 2 * true / (true + false + positives), 0.0)
        middles = (values + np.append(values[1:], 0.0)) / 2
        best = np.flatnonzero(np.isclose(f1, f1.max(), rtol=0, atol=1e-12))
        above = int((values > HALF).sum())  # predicted at 0.5
        if f1.max() > 0 and above - 1 not in best:
            found[number] = middles[best][np.abs(middles[best] - HALF).argmin()]
    return found
