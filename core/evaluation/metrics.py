"""Metrics of predictions on labelled rows, and the counts and curves behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.data.dataset import Task
from core.evaluation.scores import AREAS, BINS, HALF, Scores, build_scores, count_positives, find_bins, score_class
from core.exceptions import InputError
from core.metrics import METRICS, Metric, Reads, select_metrics
from core.training.calibration import Scaling
from core.training.temperature import as_trained


def evaluate(
    labels: np.ndarray,
    probabilities: np.ndarray,
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
    *,
    ordered: bool = False,
) -> dict[str, float]:
    """Compute every metric of predictions that is defined for these rows; `explain_left_out` explains the others.

    `labels` are (n,) class numbers, in a multi-label task (n, C) zeros and ones; `probabilities` are (n, C), with an
    InputError if they do not fit. `thresholds` of a multi-label task are (C,) or one for all labels. `ordered` says
    whether the classes are on an ordinal scale.
    """
    scores = build_scores(labels, probabilities, task, thresholds, ordered=ordered)
    once = np.ones((1, len(scores)))
    return {name: float(metric.measure(scores, once)[0]) for name, metric in list_defined(scores, task).items()}


def evaluate_unscaled(labels: np.ndarray, probabilities: np.ndarray, task: Task, scaling: Scaling) -> dict[str, float]:
    """Compute the metrics that depend on the probabilities (loss, ECE, Brier score) without temperature scaling."""
    found = evaluate(labels, as_trained(probabilities, scaling, task), task)
    return {name: value for name, value in found.items() if METRICS[name].reads == "probabilities"}


def count_changed(probabilities: np.ndarray, task: Task, scaling: Scaling) -> int:
    """Count rows whose predicted labels temperature scaling changes; with several labels, at a threshold of 0.5."""
    trained = as_trained(probabilities, scaling, task)
    if task == "single":
        return int((probabilities.argmax(1) != trained.argmax(1)).sum())
    return int(((probabilities > HALF) != (trained > HALF)).any(1).sum())


def explain_left_out(
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    task: Task = "single",
    *,
    ordered: bool = False,
) -> dict[str, str]:
    """Return metric → reason for metrics that are not defined for these labels and predictions."""
    scores = build_scores(labels, probabilities, task, ordered=ordered)
    reasons = _list_undefined(scores)
    lacking = ", ".join(f"'{classes[number]}'" for number in scores.unranked)
    words = {"ranking": f"{'no row is' if task == 'single' else 'all rows or none are'} {lacking}"}
    words["agreement"] = "every row is of one class, and predicted so"
    return {
        name: words[metric.reads] if len(scores) else "there are no rows"
        for name, metric in select_metrics(task, ordered=scores.scale).items()
        if not len(scores) or metric.reads in reasons
    }


def list_defined(scores: Scores, task: Task) -> dict[str, Metric]:
    """Return name → metric for the metrics of a task that are defined for these labels and predictions."""
    undefined = _list_undefined(scores)
    metrics = select_metrics(task, ordered=scores.scale) if len(scores) else {}
    return {name: metric for name, metric in metrics.items() if metric.reads not in undefined}


def _list_undefined(scores: Scores) -> set[Reads]:
    """Return which kinds of metric (`ranking`, `agreement`) are undefined for these labels and predictions."""
    found: set[Reads] = {"ranking"} if scores.unranked else set()
    agreed = scores.scale and len(np.union1d(scores.labels, scores.answers)) < 2
    return found | {"agreement"} if agreed else found


def evaluate_classes(
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
) -> dict[str, dict[str, float]]:
    """Compute each class's precision, recall, F1 and support, areas where defined, and a multi-label threshold."""
    scores = build_scores(labels, probabilities, task, thresholds)
    if len(classes) != probabilities.shape[1]:
        raise InputError(f"{len(classes)} class names for {probabilities.shape[1]} columns of probabilities")
    once = np.ones((1, len(scores)))
    limits = np.broadcast_to(thresholds, len(classes))
    hits, true, predicted = (each.sum(0) for each in scores.counts)
    found: dict[str, dict[str, float]] = {}
    for number, name in enumerate(classes):
        row = score_class(hits[number], true[number], predicted[number])
        if task == "multi":
            row["threshold"] = float(limits[number])
        if 0 < true[number] < len(scores):
            curve = count_positives(scores, once, number)
            row["roc_auc"] = float(AREAS["roc"](*curve)[0])
            row["average_precision"] = float(AREAS["precision"](*curve)[0])
        found[name] = row
    return found


def compute_confusion(labels: np.ndarray, predicted: np.ndarray, classes: int) -> list[list[int]]:
    """Return the C × C confusion matrix of class numbers: true labels in rows, predictions in columns."""
    cells = np.asarray(labels, np.int64) * classes + np.asarray(predicted, np.int64)
    return np.bincount(cells, minlength=classes**2).reshape(classes, classes).tolist()


def describe_absent(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    """Describe which classes a macro average covers, if some have no row in a confusion matrix; else return empty."""
    table = np.asarray(counts)
    absent, said = table.sum(1) == 0, table.sum(0) > 0
    if not absent.any():
        return ""
    named = [f"'{name}'" for name, missing in zip(classes, absent, strict=True) if missing]
    zeros = [f"'{name}'" for name, wrong in zip(classes, absent & said, strict=True) if wrong]
    counted = f"; {', '.join(zeros)} {'is' if len(zeros) == 1 else 'are'} predicted and counted as 0" if zeros else ""
    over = len(classes) - int((absent & ~said).sum())
    return f"Macro averages are over {over} of {len(classes)} classes: no row is {' or '.join(named)}{counted}."


def compute_calibration(labels: np.ndarray, probabilities: np.ndarray) -> list[dict[str, Any]]:
    """Return the 15 bins of a calibration curve: from, to, count, mean confidence and accuracy (None if empty)."""
    scores = build_scores(labels, probabilities)
    confidence = scores.probabilities.max(1, initial=0)
    places = find_bins(confidence)
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


def compute_roc_curve(labels: np.ndarray, probabilities: np.ndarray, number: int) -> dict[str, list[float]]:
    """Return the ROC curve of one class against the rest: fpr, tpr and threshold, corners of the curve only.

    The lists are empty if the class or the rest has no row. The first threshold, at which no row is predicted, is 1.
    """
    scores = build_scores(labels, probabilities)
    true, false, thresholds = _count_positives(scores, number)
    if not len(true) or not true[-1] or not false[-1]:
        return {"fpr": [], "tpr": [], "threshold": []}
    true, false, thresholds = np.append(0, true), np.append(0, false), np.append(1, thresholds)
    # Points inside a straight segment are left out.
    turns = (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0)
    keep = np.concatenate([[True], turns, [True]])
    return {
        "fpr": (false / false[-1])[keep].tolist(),
        "tpr": (true / true[-1])[keep].tolist(),
        "threshold": thresholds[keep].tolist(),
    }


def compute_pr_curve(labels: np.ndarray, probabilities: np.ndarray, number: int) -> dict[str, list[float]]:
    """Return the precision-recall curve of a class at distinct thresholds, falling; empty if the class has no rows."""
    true, false, thresholds = _count_positives(build_scores(labels, probabilities), number)
    if not len(true) or not true[-1]:
        return {"precision": [], "recall": [], "threshold": []}
    return {
        "precision": (true / (true + false)).tolist(),
        "recall": (true / true[-1]).tolist(),
        "threshold": thresholds.tolist(),
    }


def _count_positives(scores: Scores, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a class's true and false positives at each distinct threshold, and the thresholds, falling."""
    if not len(scores.labels):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    true, false = count_positives(scores, np.ones((1, len(scores.labels))), number)
    order, starts = scores.ranking[number]
    return true[0], false[0], scores.probabilities[order[starts], number]
