"""What a classifier of texts with several labels is measured by. Definitions are those of scikit-learn.

A label is said where its probability is above its threshold. Averages: macro, plainly over all labels; micro, over all
decisions at once; weighted, over labels by support; samples, over texts. What divides by nothing counts 0, so that a
text without labels of which nothing is said counts 0 in the samples averages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from core.evaluation import weighted
from core.evaluation.intervals import bootstrap
from core.evaluation.metrics import GRADED, Metric
from core.evaluation.weighted import Measure, mean, ratio
from core.exceptions import InputError

HALF = 0.5
"""The threshold where none is given."""
NOTHING = "none of them"
"""Stands for the labels of a text that has none."""
SEVERAL = "the texts have several labels each, so that none belongs to one class only"
"""Why there is no silhouette."""
Average = Literal["macro", "micro", "weighted", "samples"]
Part = Literal["precision", "recall", "f1"]
_SIDES: dict[Part, tuple[float, float]] = {"precision": (0, 1), "recall": (1, 0), "f1": (0.5, 0.5)}
"""hits / (a · own + b · said): what each measure divides by."""


class Scores:
    """Labels and probabilities of n rows, and what is said of them.

    Args:
        labels: (n, C), nonzero where the row has the label.
        probabilities: (n, C).
        thresholds: (C,) or one for all.
    """

    def __init__(self, labels: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray | float = HALF) -> None:
        self.labels = np.asarray(labels) != 0
        self.probabilities = np.asarray(probabilities, np.float64)
        self.said = self.probabilities > np.asarray(thresholds, np.float64)

    @property
    def answers(self) -> np.ndarray:
        """(n, C): what is said of each row."""
        return self.said

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n, C) float64 each: right and said, own, said."""
        return (self.labels & self.said).astype(float), self.labels.astype(float), self.said.astype(float)

    @cached_property
    def ranking(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per label, see `weighted.rank`."""
        return weighted.rank(self.probabilities)

    def positive(self, number: int) -> np.ndarray:
        """(n,) booleans: the rows with a label."""
        return self.labels[:, number]


def _averaged(part: Part, average: Average) -> Measure:
    own_share, said_share = _SIDES[part]

    def measure(scores: Scores, weights: np.ndarray) -> np.ndarray:
        if average == "samples":
            hits, own, said = (each.sum(1) for each in scores.counts)
            return mean(ratio(hits, own_share * own + said_share * said), weights)
        hits, own, said = (weights @ each for each in scores.counts)
        if average == "micro":
            return ratio(hits.sum(1), own_share * own.sum(1) + said_share * said.sum(1))
        found = ratio(hits, own_share * own + said_share * said)
        return found.mean(1) if average == "macro" else ratio((found * own).sum(1), own.sum(1))

    return measure


def _ranked(curve: weighted.Curve) -> Measure:
    def measure(scores: Scores, weights: np.ndarray) -> np.ndarray:
        labels = range(scores.labels.shape[1])
        return np.stack([curve(*weighted.reached(scores, weights, each)) for each in labels], 1).mean(1)

    return measure


def _subset(scores: Scores, weights: np.ndarray) -> np.ndarray:
    return mean((scores.labels == scores.said).all(1).astype(float), weights)


def _hamming(scores: Scores, weights: np.ndarray) -> np.ndarray:
    return mean((scores.labels != scores.said).mean(1), weights)


def _loss(scores: Scores, weights: np.ndarray) -> np.ndarray:
    epsilon = np.finfo(np.float64).eps
    own = np.where(scores.labels, scores.probabilities, 1 - scores.probabilities)
    return mean(-np.log(np.clip(own, epsilon, 1 - epsilon)).mean(1), weights)


def _brier(scores: Scores, weights: np.ndarray) -> np.ndarray:
    return mean(((scores.probabilities - scores.labels) ** 2).mean(1), weights)


_PARTS: tuple[tuple[Part, str], ...] = (("precision", "Precision"), ("recall", "Recall"), ("f1", "F1"))
_AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted", "samples")

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *(
            Metric(f"{part}_{average}", f"{title}, {average}", "higher", _averaged(part, average))
            for average in _AVERAGES
            for part, title in _PARTS
        ),
        Metric("subset_accuracy", "All labels right", "higher", _subset),
        Metric("hamming_loss", "Hamming loss", "lower", _hamming),
        Metric("roc_auc_macro", "ROC-AUC, macro", "higher", _ranked(weighted.roc_area), "every class"),
        Metric(
            "average_precision",
            "AUPR, macro",
            "higher",
            _ranked(weighted.precision_area),
            "every class",
        ),
        Metric("loss", "Loss", "lower", _loss),
        Metric("brier", "Brier score", "lower", _brier),
    )
}
"""loss and brier are means over rows and labels; average_precision is the area under the precision-recall curve of each
label, plainly averaged. Those that rank need rows with and without each label."""
THRESHOLDED = frozenset(METRICS) - GRADED
"""The metrics that change with the thresholds."""


def evaluate(labels: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray | float = HALF) -> dict[str, float]:
    """Every metric that is defined for these rows; `left_out` says why others are absent.

    Args:
        labels: (n, C) zeros and ones.
        probabilities: (n, C).
        thresholds: (C,) or one for all.

    Raises:
        InputError: if the two do not fit together.
    """
    scores = checked(labels, probabilities, thresholds)
    missing = left_out(labels)
    once = np.ones((1, len(scores.labels)))
    return {name: float(metric.measure(scores, once)[0]) for name, metric in METRICS.items() if name not in missing}


def intervals(
    labels: np.ndarray,
    probabilities: np.ndarray,
    thresholds: np.ndarray | float = HALF,
    *,
    names: Collection[str] = tuple(METRICS),
    seed: int = 0,
) -> dict[str, list[float]]:
    """The 95 % bootstrap interval of the metrics that `evaluate` gives, or of those `names` among them.

    See `core.evaluation.intervals`.
    """
    scores = checked(labels, probabilities, thresholds)
    missing = left_out(labels)
    defined = {name: metric for name, metric in METRICS.items() if name in names and name not in missing}
    return bootstrap(scores, len(scores.labels), defined, seed=seed)


def left_out(labels: np.ndarray) -> dict[str, str]:
    """The metrics that are not defined for these (n, C) labels, each with its reason."""
    if not len(labels):
        return {name: "there are no rows" for name in METRICS}
    rows = (np.asarray(labels) != 0).sum(0)
    one_sided = [str(number) for number in np.flatnonzero((rows == 0) | (rows == len(labels)))]
    if not one_sided:
        return {}
    reason = f"all rows or none have label {', '.join(one_sided)} (counted from 0)"
    return {name: reason for name, metric in METRICS.items() if metric.needs == "every class"}


def per_label(
    labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str], thresholds: np.ndarray | float = HALF
) -> dict[str, dict[str, float]]:
    """Precision, recall, f1, support, threshold and, where defined, roc_auc and average_precision of each label."""
    scores = checked(labels, probabilities, thresholds)
    once = np.ones((1, len(scores.labels)))
    limits = np.broadcast_to(thresholds, len(classes))
    hits, own, said = (each.sum(0) for each in scores.counts)
    found: dict[str, dict[str, float]] = {}
    for number, name in enumerate(classes):
        row: dict[str, float] = {
            part: float(ratio(hits[number], own_share * own[number] + said_share * said[number]))
            for part, (own_share, said_share) in _SIDES.items()
        }
        row |= {"support": float(own[number]), "threshold": float(limits[number])}
        if 0 < own[number] < len(scores.labels):
            curve = weighted.reached(scores, once, number)
            row["roc_auc"] = float(weighted.roc_area(*curve)[0])
            row["average_precision"] = float(weighted.precision_area(*curve)[0])
        found[name] = row
    return found


def confusions(
    labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str], thresholds: np.ndarray | float = HALF
) -> dict[str, list[list[int]]]:
    """Each label's counts, 2 × 2: rows without and with the label, columns not said and said."""
    scores = checked(labels, probabilities, thresholds)
    cells = scores.labels * 2 + scores.said
    return {
        name: np.bincount(cells[:, number], minlength=4).reshape(2, 2).tolist() for number, name in enumerate(classes)
    }


def spoken(has: np.ndarray, classes: Sequence[str]) -> list[str]:
    """The names of the nonzero columns of each row of (n, C), a comma between; `NOTHING` for a row without any."""
    return [", ".join(name for name, there in zip(classes, row, strict=True) if there) or NOTHING for row in has]


def tuned_thresholds(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """(C,) the threshold of each label at which its F1 on these rows is highest; 0.5 for a label without rows.

    It lies in the middle between two probabilities; of several as good the one nearest to 0.5, and 0.5 itself whenever
    it is as good. The F1 on the rows it was tuned on flatters, the more so the fewer rows have the label.
    """
    scores = checked(labels, probabilities, HALF)
    once = np.ones((1, len(scores.labels)))
    found = np.full(scores.labels.shape[1], HALF)
    for number, (order, starts) in enumerate(scores.ranking):
        own = scores.positive(number).sum()
        if not own:
            continue
        true, false = (each[0] for each in weighted.reached(scores, once, number))
        values = scores.probabilities[order[starts], number]  # falling; the i-th and all above it are said
        f1 = np.where(values > 0, 2 * true / (true + false + own), 0.0)  # no threshold lets a probability of 0 pass
        middles = (values + np.append(values[1:], 0.0)) / 2
        best = np.flatnonzero(np.isclose(f1, f1.max(), rtol=0, atol=1e-12))
        above = int((values > HALF).sum())  # said at 0.5
        if f1.max() > 0 and above - 1 not in best:
            found[number] = middles[best][np.abs(middles[best] - HALF).argmin()]
    return found


def checked(labels: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray | float) -> Scores:
    """The scores of rows, shapes verified.

    Raises:
        InputError: says what does not fit.
    """
    if probabilities.ndim != 2 or np.shape(labels) != probabilities.shape:
        raise InputError(
            f"labels of shape {np.shape(labels)} for probabilities of shape {probabilities.shape}: "
            "rows × labels expected of both"
        )
    if np.ndim(thresholds) and np.shape(thresholds) != probabilities.shape[1:]:
        raise InputError(f"{np.size(thresholds)} thresholds for {probabilities.shape[1]} labels")
    return Scores(labels, probabilities, thresholds)
