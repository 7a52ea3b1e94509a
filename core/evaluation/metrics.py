"""What a classifier is measured by: one table of metrics, and the counts and curves behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from core.evaluation import weighted
from core.evaluation.weighted import BINS, Measure, Scores
from core.exceptions import InputError


@dataclass(frozen=True)
class Metric:
    """One number of a split."""

    name: str
    """As in records and on the command line."""
    title: str
    better: Literal["higher", "lower"]
    measure: Measure
    needs: Literal["rows", "every class"] = "rows"
    """every class: defined only where every class has a row."""


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "Accuracy", "higher", weighted.accuracy),
        *(
            Metric(f"{name}_{average}", f"{title}, {average}", "higher", weighted.averaged(name, average))
            for average in ("macro", "weighted")
            for name, title in (("precision", "Precision"), ("recall", "Recall"), ("f1", "F1"))
        ),
        Metric("roc_auc", "ROC-AUC", "higher", weighted.ranked(weighted.roc_area, "weighted"), "every class"),
        Metric("roc_auc_macro", "ROC-AUC, macro", "higher", weighted.ranked(weighted.roc_area, "macro"), "every class"),
        Metric(
            "average_precision",
            "Average precision",
            "higher",
            weighted.ranked(weighted.precision_area, "macro"),
            "every class",
        ),
        Metric("loss", "Loss", "lower", weighted.loss),
        Metric("ece", "Calibration error", "lower", weighted.calibration_error),
        Metric("brier", "Brier score", "lower", weighted.brier),
    )
}
"""Two classes: roc_auc and average_precision are those of the second class. More: each class against the rest, weighted
by support (roc_auc) or plainly averaged (roc_auc_macro, average_precision). macro: over the classes with a label or a
prediction, as scikit-learn does."""

GRADED = frozenset({"roc_auc", "roc_auc_macro", "average_precision", "loss", "ece", "brier"})
"""The metrics, of several labels a text too, that change with every probability and not only with what is said."""


def evaluate(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Every metric that is defined for these rows; `left_out` says why others are absent.

    Args:
        labels: (n,) class numbers.
        probabilities: (n, C).

    Raises:
        InputError: if the two do not fit together.
    """
    scores = checked(labels, probabilities)
    missing = left_out(labels, scores.classes)
    once = np.ones((1, len(scores.labels)))
    return {name: float(metric.measure(scores, once)[0]) for name, metric in METRICS.items() if name not in missing}


def left_out(labels: np.ndarray, classes: int) -> dict[str, str]:
    """The metrics that are not defined for these labels, each with its reason."""
    absent = sorted(set(range(classes)) - set(np.unique(labels).tolist()))
    if not len(labels):
        return {name: "there are no rows" for name in METRICS}
    if not absent:
        return {}
    reason = f"no row of class {', '.join(map(str, absent))} (counted from 0)"
    return {name: reason for name, metric in METRICS.items() if metric.needs == "every class"}


def per_class(labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Precision, recall, f1, support and, where defined, roc_auc and average_precision of each class by name."""
    scores = checked(labels, probabilities, classes)
    once = np.ones((1, len(scores.labels)))
    table = weighted.class_measures(weighted.confusions(scores, once))
    found: dict[str, dict[str, float]] = {}
    for number, name in enumerate(classes):
        row = {key: float(values[0, number]) for key, values in table.items()}
        if 0 < row["support"] < len(scores.labels):
            curve = weighted.reached(scores, once, number)
            row["roc_auc"] = float(weighted.roc_area(*curve)[0])
            row["average_precision"] = float(weighted.precision_area(*curve)[0])
        found[name] = row
    return found


def confusion(labels: np.ndarray, predicted: np.ndarray, classes: int) -> list[list[int]]:
    """Counts, C × C: rows are labels, columns predictions."""
    cells = np.asarray(labels, np.int64) * classes + np.asarray(predicted, np.int64)
    return np.bincount(cells, minlength=classes**2).reshape(classes, classes).tolist()


def calibration_bins(labels: np.ndarray, probabilities: np.ndarray) -> list[dict[str, Any]]:
    """The 15 bins behind `ece`: from, to, count, mean confidence and accuracy (None where a bin is empty)."""
    scores = checked(labels, probabilities)
    confidence = scores.probabilities.max(1, initial=0)
    places = weighted.confidence_bin(confidence)
    bins = []
    for number in range(BINS):
        inside = places == number
        count = int(inside.sum())
        bins.append(
            {
                "from": number / BINS,
                "to": (number + 1) / BINS,
                "count": count,
                "confidence": float(confidence[inside].mean()) if count else None,
                "accuracy": float(scores.correct[inside].mean()) if count else None,
            }
        )
    return bins


def roc_points(labels: np.ndarray, probabilities: np.ndarray, number: int) -> dict[str, list[float]]:
    """ROC curve of one class against the rest: fpr, tpr and threshold, corners of the curve only.

    Empty lists where the class or the rest has no row. The first threshold, where nothing is claimed, is 1.
    """
    scores = checked(labels, probabilities)
    true, false, thresholds = _curve(scores, number)
    if not len(true) or not true[-1] or not false[-1]:
        return {"fpr": [], "tpr": [], "threshold": []}
    true, false, thresholds = np.append(0, true), np.append(0, false), np.append(1, thresholds)
    # A point inside a straight piece shows nothing.
    turns = (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0)
    keep = np.concatenate([[True], turns, [True]])
    return {
        "fpr": (false / false[-1])[keep].tolist(),
        "tpr": (true / true[-1])[keep].tolist(),
        "threshold": thresholds[keep].tolist(),
    }


def pr_points(labels: np.ndarray, probabilities: np.ndarray, number: int) -> dict[str, list[float]]:
    """Precision, recall and threshold of one class at each distinct probability, falling; empty without a row of it."""
    true, false, thresholds = _curve(checked(labels, probabilities), number)
    if not len(true) or not true[-1]:
        return {"precision": [], "recall": [], "threshold": []}
    return {
        "precision": (true / (true + false)).tolist(),
        "recall": (true / true[-1]).tolist(),
        "threshold": thresholds.tolist(),
    }


def checked(labels: np.ndarray, probabilities: np.ndarray, classes: Sequence[str] | None = None) -> Scores:
    """The scores of rows, shapes and label range verified.

    Raises:
        InputError: says what does not fit.
    """
    if probabilities.ndim != 2 or probabilities.shape[1] < 2:
        raise InputError(f"probabilities of shape {probabilities.shape}: rows × two or more classes expected")
    if len(labels) != len(probabilities):
        raise InputError(f"{len(labels)} labels for {len(probabilities)} rows of probabilities")
    if classes is not None and len(classes) != probabilities.shape[1]:
        raise InputError(f"{len(classes)} class names for {probabilities.shape[1]} columns of probabilities")
    if len(labels) and not 0 <= np.min(labels) <= np.max(labels) < probabilities.shape[1]:
        raise InputError(f"labels must lie between 0 and {probabilities.shape[1] - 1}")
    return Scores(labels, probabilities)


def _curve(scores: Scores, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True and false positives at each distinct threshold, falling, and the thresholds."""
    if not len(scores.labels):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    true, false = weighted.reached(scores, np.ones((1, len(scores.labels))), number)
    order, starts = scores.ranking[number]
    return true[0], false[0], scores.probabilities[order[starts], number]
