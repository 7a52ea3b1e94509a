"""Metrics of predictions on labelled rows, and the counts and curves behind them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from core.data.dataset import Task
from core.exceptions import InputError
from core.metrics import METRICS, Metric, Reads, select_metrics
from core.training.temperature import Scaling, as_trained

Array = np.ndarray
Thresholds = np.ndarray | float  # of each class, or one for all
HALF = 0.5  # the default threshold
EPSILON = np.finfo(np.float64).eps  # before a logarithm, probabilities are kept this far from 0 and 1
Part = Literal["precision", "recall", "f1"]
SIDES: dict[Part, tuple[float, float]] = {"precision": (0, 1), "recall": (1, 0), "f1": (0.5, 0.5)}
"""Weights a, b: each measure is hits / (a · true + b · predicted)."""
BINS = 15  # of confidence


class Scores:
    """The labels and predictions of n rows, with cached quantities that several metrics share."""

    labels: Array  # (n,) class numbers, or (n, C) booleans
    probabilities: Array  # (n, C) float64
    answers: Array  # predicted class numbers (n,), or predicted labels (n, C)
    true: Array  # (n, C) booleans: true classes of each row
    predicted: Array  # (n, C) booleans: predicted classes of each row
    correct: Array  # (n,) float64: 1 if all predicted classes are right
    surprise: Array  # (n,): mean negative log probability of the true classes
    distance: Array  # (n,): squared distance of probabilities and true classes, 0 best, 1 worst
    ranked: Sequence[int]  # classes whose areas are averaged
    unranked: Sequence[int]  # classes whose ranking metrics are undefined on these rows
    scale: bool = False  # whether there are three or more classes on an ordinal scale

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def missed(self) -> Array:
        """Return (n,) shares of wrong decisions: for each row, the classes wrongly predicted or missed, out of all."""
        return (self.true != self.predicted).mean(1)

    @cached_property
    def counts(self) -> tuple[Array, Array, Array]:
        """Return each row's true positives, true labels and predicted labels: three (n, C) float64 arrays of 0 or 1."""
        return (self.true & self.predicted).astype(float), self.true.astype(float), self.predicted.astype(float)

    @cached_property
    def ranking(self) -> list[tuple[Array, Array]]:
        """Return, for each class, the rows by falling probability, and where each distinct probability starts."""
        orders = [np.argsort(-column, kind="stable") for column in self.probabilities.T]
        columns = zip(self.probabilities.T, orders, strict=True)
        return [(order, np.flatnonzero(np.diff(column[order], prepend=np.inf))) for column, order in columns]

    def compute_mean(self, values: Array, weights: Array) -> Array:
        """Return (R,) means of (n,) values, one for each set of row weights; NaN where all weights are 0."""
        with np.errstate(invalid="ignore"):
            return weights @ values / weights.sum(1)

    def compute_average(
        self, part: Part, average: Literal["macro", "micro", "weighted", "samples"], weights: Array
    ) -> Array:
        """Return (R,) averaged precision, recall or F1, for each set of row weights; a quotient by 0 counts as 0."""
        a, b = SIDES[part]
        if average == "samples":
            hits, true, predicted = (each.sum(1) for each in self.counts)
            return self.compute_mean(divide_safely(hits, a * true + b * predicted), weights)
        hits, true, predicted = (weights @ each for each in self.counts)
        if average == "micro":
            return divide_safely(hits.sum(1), a * true.sum(1) + b * predicted.sum(1))
        share = true if average == "weighted" else self.mask_classes(true, predicted)
        return divide_safely((divide_safely(hits, a * true + b * predicted) * share).sum(1), share.sum(1))

    def compute_area(
        self, curve: Literal["roc", "precision"], average: Literal["macro", "weighted"], weights: Array
    ) -> Array:
        """Return (R,) average areas under the classes' ROC or precision-recall curves, for each set of row weights."""
        values = np.stack([AREAS[curve](*count_positives(self, weights, each)) for each in self.ranked], 1)
        if len(self.ranked) == 1 or average == "macro":
            return values.mean(1)
        support = np.stack([weights @ self.true[:, each] for each in self.ranked], 1)
        return (values * support).sum(1) / support.sum(1)

    def mask_classes(self, true: Array, predicted: Array) -> Array:
        """Return 1 for each class that a macro average covers, else 0, for each set of row weights, (R, C)."""
        return np.ones_like(true)


class SingleLabelScores(Scores):
    """Labels and predictions of rows with one label each; the predicted class is the most probable one."""

    def __init__(self, labels: Array, probabilities: Array, *, ordered: bool = False) -> None:
        self.labels = np.asarray(labels, np.int64)
        self.probabilities = np.asarray(probabilities, np.float64)
        self.classes = self.probabilities.shape[1]
        self.scale = ordered and self.classes > 2
        self.answers = self.probabilities.argmax(1) if len(self.labels) else np.zeros(0, np.int64)
        self.true, self.predicted = (each[:, None] == np.arange(self.classes) for each in (self.labels, self.answers))
        self.correct = (self.answers == self.labels).astype(float)
        chance = self.probabilities[np.arange(len(self.labels)), self.labels]
        self.surprise = -np.log(np.clip(chance, EPSILON, 1 - EPSILON))
        self.distance = ((self.probabilities - self.true) ** 2).sum(1) / 2
        self.ranked = [1] if self.classes == 2 else range(self.classes)
        self.unranked = sorted(set(range(self.classes)) - set(np.unique(self.labels).tolist()))

    def mask_classes(self, true: Array, predicted: Array) -> Array:
        """Return 1 for each class with a true or predicted row, else 0, for each set of row weights, (R, C)."""
        return (true + predicted > 0).astype(float)

    @property
    def steps(self) -> Array:
        """Return (n,) float64 distances of true and predicted class on an ordinal scale; 0 where they are equal."""
        return np.abs(self.answers - self.labels).astype(float)

    def compute_kappa(self, weights: Array) -> Array:
        """Return quadratically weighted kappas (Cohen 1968) for each set of row weights; NaN if there is one class."""
        a, b = self.answers.astype(float), self.labels.astype(float)
        means = [self.compute_mean(each, weights) for each in (a, b, a**2, b**2, (a - b) ** 2)]
        expected = means[2] + means[3] - 2 * means[0] * means[1]  # E (a − b)² for independent a and b
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(expected > 1e-12, 1 - means[4] / expected, np.nan)

    def compute_ece(self, weights: Array) -> Array:
        """Compute the (R,) expected calibration errors (Guo et al. 2017) in 15 bins, for each set of row weights."""
        with np.errstate(invalid="ignore"):
            return np.abs(weights @ self.overconfidence).sum(1) / weights.sum(1)

    @cached_property
    def bins(self) -> Array:
        """Return (n, 15) booleans that mark the confidence bin of each row: bin k holds k/15 < p <= (k+1)/15."""
        places = np.ceil(self.probabilities.max(1, initial=0) * BINS).astype(int) - 1
        return np.clip(places, 0, BINS - 1)[:, None] == np.arange(BINS)

    @cached_property
    def overconfidence(self) -> Array:
        """Return each row's confidence minus its correctness (1 or 0), in the column of its confidence bin, (n, 15)."""
        return self.bins * (self.probabilities.max(1, initial=0) - self.correct)[:, None]


class MultiLabelScores(Scores):
    """Labels and predictions of multi-label rows; a label is predicted if its probability is above its threshold."""

    def __init__(self, labels: Array, probabilities: Array, thresholds: Thresholds = HALF) -> None:
        self.labels = self.true = np.asarray(labels) != 0
        self.probabilities = np.asarray(probabilities, np.float64)
        self.answers = self.predicted = self.probabilities > np.asarray(thresholds, np.float64)
        self.correct = (self.true == self.predicted).all(1).astype(float)
        chance = np.where(self.true, self.probabilities, 1 - self.probabilities)
        self.surprise = -np.log(np.clip(chance, EPSILON, 1 - EPSILON)).mean(1)
        self.distance = ((self.probabilities - self.true) ** 2).mean(1)
        rows = self.true.sum(0)
        self.ranked = range(self.true.shape[1])
        self.unranked = np.flatnonzero((rows == 0) | (rows == len(self))).tolist()


def build_scores(
    labels: Array, probabilities: Array, task: Task = "single", thresholds: Thresholds = HALF, *, ordered: bool = False
) -> Scores:
    """Build the labels and predictions of rows for a task's metrics; InputError if shapes or labels do not fit."""
    if task == "single":
        if probabilities.ndim != 2 or probabilities.shape[1] < 2:
            raise InputError(f"probabilities of shape {probabilities.shape}: rows × two or more classes expected")
        if len(labels) != len(probabilities):
            raise InputError(f"{len(labels)} labels for {len(probabilities)} rows of probabilities")
        if len(labels) and not 0 <= np.min(labels) <= np.max(labels) < probabilities.shape[1]:
            raise InputError(f"labels must lie between 0 and {probabilities.shape[1] - 1}")
        return SingleLabelScores(labels, probabilities, ordered=ordered)
    if probabilities.ndim != 2 or np.shape(labels) != probabilities.shape:
        raise InputError(
            f"labels of shape {np.shape(labels)} for probabilities of shape {probabilities.shape}: "
            "rows × labels expected of both"
        )
    if np.ndim(thresholds) and np.shape(thresholds) != probabilities.shape[1:]:
        raise InputError(f"{np.size(thresholds)} thresholds for {probabilities.shape[1]} labels")
    return MultiLabelScores(labels, probabilities, thresholds)


NOTHING = "none of them"  # shown as the labels of a text without labels
SEVERAL = "the texts have several labels each, so that none belongs to one class only"  # why there is no silhouette


def count_confusions(
    labels: Array, probabilities: Array, classes: Sequence[str], thresholds: Thresholds = HALF
) -> dict[str, list[list[int]]]:
    """Return label → 2 × 2 confusion matrix: rows without and with the label, columns not predicted and predicted."""
    scores = build_scores(labels, probabilities, "multi", thresholds)
    cells = scores.true * 2 + scores.predicted
    return {
        name: np.bincount(cells[:, number], minlength=4).reshape(2, 2).tolist() for number, name in enumerate(classes)
    }


def join_class_names(has: Array, classes: Sequence[str]) -> list[str]:
    """Join the class names of each row of 0/1 indicators by commas; a row without a class gets a fixed phrase."""
    return [", ".join(name for name, there in zip(classes, row, strict=True) if there) or NOTHING for row in has]


def tune_thresholds(labels: Array, probabilities: Array) -> Array:
    """Return (C,) thresholds that maximise each label's F1 on these rows; among equal ones the nearest to 0.5."""
    scores = build_scores(labels, probabilities, "multi")
    once = np.ones((1, len(scores.labels)))
    found = np.full(scores.true.shape[1], HALF)
    for number, (order, starts) in enumerate(scores.ranking):
        positives = scores.true[:, number].sum()
        if not positives:
            continue
        true, false = (each[0] for each in count_positives(scores, once, number))
        values = scores.probabilities[order[starts], number]  # falling; at threshold i, rows up to i are predicted
        # A probability of 0 is above no threshold.
        f1 = np.where(values > 0, 2 * true / (true + false + positives), 0.0)
        middles = (values + np.append(values[1:], 0.0)) / 2
        best = np.flatnonzero(np.isclose(f1, f1.max(), rtol=0, atol=1e-12))
        above = int((values > HALF).sum())  # predicted at 0.5
        if f1.max() > 0 and above - 1 not in best:
            found[number] = middles[best][np.abs(middles[best] - HALF).argmin()]
    return found


def count_positives(scores: Scores, weights: Array, number: int) -> tuple[Array, Array]:
    """Return a class's true and false positives at falling thresholds for R row weightings, each (R, thresholds)."""
    order, starts = scores.ranking[number]
    ranked = weights[:, order]
    true = np.add.reduceat(ranked * scores.true[order, number], starts, axis=1).cumsum(1)
    return true, np.add.reduceat(ranked, starts, axis=1).cumsum(1) - true


def compute_roc_area(true: Array, false: Array) -> Array:
    """Return the (R,) area under a ROC curve from true and false positives; NaN without positives or negatives."""
    steps = np.diff(false, axis=1, prepend=0)
    heights = true - np.diff(true, axis=1, prepend=0) / 2
    return divide_safely((steps * heights).sum(1), true[:, -1] * false[:, -1], empty=np.nan)


def compute_precision_area(true: Array, false: Array) -> Array:
    """Return (R,) average precision from true and false positives at falling thresholds; NaN without positives."""
    gained = np.diff(true, axis=1, prepend=0) * divide_safely(true, true + false)
    return divide_safely(gained.sum(1), true[:, -1], empty=np.nan)


AREAS = {"roc": compute_roc_area, "precision": compute_precision_area}


def score_class(hits: Array, true: Array, predicted: Array) -> dict[str, float]:
    """Compute precision, recall, F1 and support from the counts of correct, true and predicted rows or spans."""
    parts = ((part, divide_safely(hits, a * true + b * predicted)) for part, (a, b) in SIDES.items())
    return {**{str(part): float(value) for part, value in parts}, "support": float(true)}


def divide_safely(part: Array, whole: Array, empty: float = 0.0) -> Array:
    """Return the elementwise quotient of two arrays; `empty` where `whole` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, empty)


def evaluate(
    labels: Array, probabilities: Array, task: Task = "single", thresholds: Thresholds = HALF, *, ordered: bool = False
) -> dict[str, float]:
    """Compute every metric of predictions that is defined for these rows; `explain_left_out` explains the others.

    `labels` are (n,) class numbers, in a multi-label task (n, C) zeros and ones; `probabilities` are (n, C), with an
    InputError if they do not fit. `thresholds` of a multi-label task are (C,) or one for all labels. `ordered` says
    whether the classes are on an ordinal scale.
    """
    scores = build_scores(labels, probabilities, task, thresholds, ordered=ordered)
    once = np.ones((1, len(scores)))
    return {name: float(metric.measure(scores, once)[0]) for name, metric in list_defined(scores, task).items()}


def evaluate_unscaled(labels: Array, probabilities: Array, task: Task, scaling: Scaling) -> dict[str, float]:
    """Compute the metrics that depend on the probabilities (loss, ECE, Brier score) without temperature scaling."""
    found = evaluate(labels, as_trained(probabilities, scaling, task), task)
    return {name: value for name, value in found.items() if METRICS[name].reads == "probabilities"}


def count_changed(probabilities: Array, task: Task, scaling: Scaling) -> int:
    """Count rows whose predicted labels temperature scaling changes; with several labels, at a threshold of 0.5."""
    trained = as_trained(probabilities, scaling, task)
    if task == "single":
        return int((probabilities.argmax(1) != trained.argmax(1)).sum())
    return int(((probabilities > HALF) != (trained > HALF)).any(1).sum())


def explain_left_out(
    labels: Array, probabilities: Array, classes: Sequence[str], task: Task = "single", *, ordered: bool = False
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
    labels: Array, probabilities: Array, classes: Sequence[str], task: Task = "single", thresholds: Thresholds = HALF
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


def compute_confusion(labels: Array, predicted: Array, classes: int) -> list[list[int]]:
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


def compute_roc_curve(labels: Array, probabilities: Array, number: int) -> dict[str, list[float]]:
    """Return fpr, tpr and threshold of a class against the rest, corners only, first threshold 1; empty: one-sided."""
    true, false, thresholds = _count_positives(build_scores(labels, probabilities), number)
    if not len(true) or not true[-1] or not false[-1]:
        return {"fpr": [], "tpr": [], "threshold": []}
    true, false, thresholds = np.append(0, true), np.append(0, false), np.append(1, thresholds)
    # Points inside a straight segment are left out.
    keep = np.concatenate([[True], (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0), [True]])
    return {
        "fpr": (false / false[-1])[keep].tolist(),
        "tpr": (true / true[-1])[keep].tolist(),
        "threshold": thresholds[keep].tolist(),
    }


def compute_pr_curve(labels: Array, probabilities: Array, number: int) -> dict[str, list[float]]:
    """Return the precision-recall curve of a class at distinct thresholds, falling; empty if the class has no rows."""
    true, false, thresholds = _count_positives(build_scores(labels, probabilities), number)
    if not len(true) or not true[-1]:
        return {"precision": [], "recall": [], "threshold": []}
    return {
        "precision": (true / (true + false)).tolist(),
        "recall": (true / true[-1]).tolist(),
        "threshold": thresholds.tolist(),
    }


def _count_positives(scores: Scores, number: int) -> tuple[Array, Array, Array]:
    """Return a class's true and false positives at each distinct threshold, and the thresholds, falling."""
    if not len(scores.labels):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    true, false = count_positives(scores, np.ones((1, len(scores.labels))), number)
    order, starts = scores.ranking[number]
    return true[0], false[0], scores.probabilities[order[starts], number]
