"""All metrics of a classifier in one table; an entry makes a metric available everywhere. Imports nothing heavy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.data.dataset import Task
from core.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

Measure = Callable[[Any, "np.ndarray"], "np.ndarray"]  # (`Scores` of n rows, weights (R, n)) → (R,); NaN: not defined
Reads = Literal["answers", "agreement", "probabilities", "ranking"]


@dataclass(frozen=True)
class Metric:
    """An evaluation metric: its name, title, computation and properties."""

    name: str  # as in records and on the command line
    title: str
    measure: Measure
    reads: Reads = "answers"
    """answers: depends on predictions only · agreement: the same, and it needs two different classes among labels and
    predictions · probabilities: depends on every probability · ranking: depends on the order of the rows by each
    class's probability, so it needs positive and negative rows of every class."""
    tasks: tuple[Task, ...] = ("single", "multi")
    nearest: str = "auto"  # for a metric of one task: the most similar one of the other; auto: its default
    better: Literal["higher", "lower"] = "higher"
    ordered: bool = False  # whether it needs three or more classes in an order; for two classes it would equal accuracy
    parts: Callable[[Any], np.ndarray] | None = None
    """For a sum of absolute gaps: (n, K), the contribution of each row to n times each gap. Resampling inflates such a
    sum, so two models are compared in another way (`core.evaluation.significance`)."""
    whole_rows: bool = False  # the share of correct rows: its interval is Wilson's, its test McNemar's
    range: tuple[float, float] = (0.0, 1.0)  # smallest and largest possible value; intervals are clipped to it
    across_classes: bool = False  # averages over classes or compares them: not defined for rows of one class
    title_of_several: str = ""  # the title for several labels per text, if it is a different one

    def choose_title(self, task: Task) -> str:
        """Return the metric's title for a task with one label per text, or with several."""
        return (task == "multi" and self.title_of_several) or self.title


def _make_measure(measure: str, *about: str) -> Measure:
    """Return a function that computes a metric by calling a method of `Scores`."""
    return lambda scores, weights: getattr(scores, measure)(*about, weights)


_make_area = functools.partial(_make_measure, "compute_area")


def _make_mean(of: str) -> Measure:
    return lambda scores, weights: scores.compute_mean(getattr(scores, of), weights)


def _make_averages(average: str, **more: Any) -> list[Metric]:
    """Return the metrics precision, recall and F1 for one kind of average (macro, micro …)."""
    more["across_classes"] = True
    parts = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
    return [
        Metric(f"{part}_{average}", f"{title}, {average}", _make_measure("compute_average", part, average), **more)
        for part, title in parts.items()
    ]


SINGLE: tuple[Task, ...] = ("single",)
MULTI: tuple[Task, ...] = ("multi",)
TOKENS: tuple[Task, ...] = ("tokens",)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "Accuracy", _make_mean("correct"), tasks=SINGLE, nearest="subset_accuracy", whole_rows=True),
        *_make_averages("macro"),
        *_make_averages("micro", tasks=MULTI, nearest="accuracy"),
        *_make_averages("weighted"),
        *_make_averages("samples", tasks=MULTI, nearest="accuracy"),
        Metric(
            "subset_accuracy", "All labels right", _make_mean("correct"), "answers", MULTI, "accuracy", whole_rows=True
        ),
        Metric("hamming_loss", "Hamming loss", _make_mean("missed"), tasks=MULTI, nearest="loss", better="lower"),
        Metric("roc_auc", "ROC-AUC", _make_area("roc", "weighted"), "ranking", SINGLE, nearest="roc_auc_macro"),
        Metric("roc_auc_macro", "ROC-AUC, macro", _make_area("roc", "macro"), "ranking"),
        Metric(
            *("average_precision", "Average precision", _make_area("precision", "macro"), "ranking"),
            title_of_several="AUPR, macro",
        ),
        Metric("loss", "Loss", _make_mean("surprise"), "probabilities", better="lower", range=(0.0, math.inf)),
        Metric(
            *("ece", "Calibration error", _make_measure("compute_ece"), "probabilities", SINGLE, "brier", "lower"),
            parts=lambda scores: scores.overconfidence,
        ),
        Metric("brier", "Brier score", _make_mean("distance"), "probabilities", better="lower"),
        Metric(
            *("mae", "Mean absolute error", _make_mean("steps"), "answers", SINGLE, "loss", "lower"),
            ordered=True,
            range=(0.0, math.inf),
        ),
        Metric(
            *("quadratic_kappa", "Quadratic κ", _make_measure("compute_kappa"), "agreement", SINGLE, "f1_macro"),
            ordered=True,
            range=(-1.0, 1.0),
            across_classes=True,
        ),
        *(
            Metric(f"span_{part}", f"Span {title}", _make_measure("score_spans", part), tasks=TOKENS)
            for part, title in (("f1", "F1"), ("precision", "precision"), ("recall", "recall"))
        ),
        Metric("token_accuracy", "Token accuracy", _make_measure("compute_accuracy"), tasks=TOKENS),
    )
}
"""roc_auc and average_precision: for two classes, of the second class; for more, each class against the rest, weighted
by support (roc_auc) or unweighted (roc_auc_macro, average_precision). macro: with one label per text, over classes with
a label or a prediction, as in scikit-learn; else over all. micro: over all decisions together. samples: over texts.
loss and brier for several labels: means over rows and labels. mae: steps on the scale between label and prediction.
quadratic_kappa: Cohen's κ with quadratic weights (Cohen 1968). span_…: over spans; a span is correct if its type and
both ends are (Tjong Kim Sang and De Meulder 2003). token_accuracy: over words."""

INTERVAL_VERSION = 2  # of the methods in `core.evaluation.intervals`, as runs record it; none: a bootstrap for all


def select_metrics(task: Task, *, ordered: bool = False) -> dict[str, Metric]:
    """Return the metrics of a task by name; `ordered` adds those for three or more classes in an order."""
    return {name: metric for name, metric in METRICS.items() if task in metric.tasks and ordered >= metric.ordered}


def select_thresholded() -> dict[str, Metric]:
    """Return the multi-label metrics that change with the decision thresholds, by name."""
    return {name: metric for name, metric in select_metrics("multi").items() if metric.reads == "answers"}


TUNED = "tuned."  # prefix of a metric at the thresholds per label that a run chose on its validation split
USUAL: dict[Task, tuple[str, ...]] = {
    "single": ("accuracy", "f1_macro"),
    "multi": (f"{TUNED}f1_macro", "f1_macro", "average_precision"),
    "tokens": ("span_f1", "token_accuracy"),
}
"""Default metrics of tables; with several labels, tuned thresholds come first, as 0.5 may not suit a good model."""


def get_metric(name: str) -> Metric:
    """Return a metric by its name; the prefix `tuned.` (scores at tuned thresholds) is ignored."""
    return METRICS[name.removeprefix(TUNED)]


def format_title(name: str) -> str:
    """Return the title of a metric as a column heading, with `, tuned` if it is at tuned thresholds."""
    return f"{get_metric(name).title}{', tuned' if name.startswith(TUNED) else ''}"


def list_metrics() -> list[str]:
    """List the names of all metrics that a table can show, those at tuned thresholds included."""
    return [*METRICS, *(f"{TUNED}{name}" for name in select_thresholded())]


def refuse_unknown(names: Sequence[str]) -> None:
    """Refuse a name that no metric has; the InputError lists all metrics."""
    if strange := [name for name in names if name not in list_metrics()]:
        raise InputError(f"no metric '{strange[0]}'; there are {', '.join(list_metrics())}")
