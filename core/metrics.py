"""All metrics of a classifier in one table: for one label per text, several labels, and tags of words.

An entry here is all that a metric needs to be measured with its interval, stored, shown on Performance and on the
command line, compared in sweeps and chosen by `training.metric`. Imports nothing heavy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.data.dataset import Task
from core.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

Measure = Callable[[Any, "np.ndarray"], "np.ndarray"]
"""(`core.evaluation.scores.Scores` of n rows, weights (R, n)) → (R,); NaN where it is not defined."""
Reads = Literal["answers", "agreement", "probabilities", "ranking"]


@dataclass(frozen=True)
class Metric:
    """An evaluation metric: its name, title, computation and properties."""

    name: str
    """As in records and on the command line."""
    title: str
    better: Literal["higher", "lower"]
    measure: Measure
    reads: Reads = "answers"
    """answers: only predictions change it · agreement: so too, and it needs two different classes among labels and
    predictions · probabilities: with every probability · ranking: with the order of the rows by each class's
    probability, so that it needs a row of every class and one against it."""
    tasks: tuple[Task, ...] = ("single", "multi")
    """Where it is defined."""
    nearest: str = "auto"
    """Of one task only: the metric of the other that comes nearest; auto: what stands there unasked."""
    ordered: bool = False
    """Only of classes in an order, three at least: of two it would say what accuracy says."""
    parts: Callable[[Any], np.ndarray] | None = None
    """Of a sum of absolute gaps: (n, K), what every row adds to n times each gap. No draw of rows can make such a sum
    smaller than chance made it, so that two models are compared in another way (`core.evaluation.significance`)."""
    whole_rows: bool = False
    """It is the share of rows that are right: its interval is Wilson's, its test of two models McNemar's."""
    range: tuple[float, float] = (0.0, 1.0)
    """The least and the largest value that it can have; intervals end there."""
    across_classes: bool = False
    """It averages over classes or sets them against one another: rows of one class alone say nothing about it."""
    title_of_several: str = ""
    """The title where texts have several labels, if that is another."""

    def choose_title(self, task: Task) -> str:
        """Return the metric's title for a task with one label per text, or with several."""
        return (task == "multi" and self.title_of_several) or self.title


def _make_measure(measure: str, *about: str) -> Measure:
    """Return a function that computes a metric by calling a method of `Scores`."""
    return lambda scores, weights: getattr(scores, measure)(*about, weights)


def _make_mean(of: str) -> Measure:
    return lambda scores, weights: scores.compute_mean(getattr(scores, of), weights)


def _make_averages(average: str, **more: Any) -> list[Metric]:
    """Return the metrics precision, recall and F1 for one kind of average (macro, micro …)."""
    more["across_classes"] = True
    parts = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
    return [
        Metric(
            f"{part}_{average}",
            f"{title}, {average}",
            "higher",
            _make_measure("compute_average", part, average),
            **more,
        )
        for part, title in parts.items()
    ]


SINGLE: tuple[Task, ...] = ("single",)
MULTI: tuple[Task, ...] = ("multi",)
TOKENS: tuple[Task, ...] = ("tokens",)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "Accuracy",
            "higher",
            _make_mean("correct"),
            tasks=SINGLE,
            nearest="subset_accuracy",
            whole_rows=True,
        ),
        *_make_averages("macro"),
        *_make_averages("micro", tasks=MULTI, nearest="accuracy"),
        *_make_averages("weighted"),
        *_make_averages("samples", tasks=MULTI, nearest="accuracy"),
        Metric(
            "subset_accuracy",
            "All labels right",
            "higher",
            _make_mean("correct"),
            tasks=MULTI,
            nearest="accuracy",
            whole_rows=True,
        ),
        Metric("hamming_loss", "Hamming loss", "lower", _make_mean("missed"), tasks=MULTI, nearest="loss"),
        Metric(
            "roc_auc",
            "ROC-AUC",
            "higher",
            _make_measure("compute_area", "roc", "weighted"),
            "ranking",
            SINGLE,
            nearest="roc_auc_macro",
        ),
        Metric("roc_auc_macro", "ROC-AUC, macro", "higher", _make_measure("compute_area", "roc", "macro"), "ranking"),
        Metric(
            "average_precision",
            "Average precision",
            "higher",
            _make_measure("compute_area", "precision", "macro"),
            "ranking",
            title_of_several="AUPR, macro",
        ),
        Metric("loss", "Loss", "lower", _make_mean("surprise"), "probabilities", range=(0.0, math.inf)),
        Metric(
            "ece",
            "Calibration error",
            "lower",
            _make_measure("compute_ece"),
            "probabilities",
            SINGLE,
            nearest="brier",
            parts=lambda scores: scores.overconfidence,
        ),
        Metric("brier", "Brier score", "lower", _make_mean("distance"), "probabilities"),
        Metric(
            "mae",
            "Mean absolute error",
            "lower",
            _make_mean("steps"),
            tasks=SINGLE,
            nearest="loss",
            ordered=True,
            range=(0.0, math.inf),
        ),
        Metric(
            "quadratic_kappa",
            "Quadratic κ",
            "higher",
            _make_measure("compute_kappa"),
            "agreement",
            SINGLE,
            nearest="f1_macro",
            ordered=True,
            range=(-1.0, 1.0),
            across_classes=True,
        ),
        *(
            Metric(f"span_{part}", f"Span {title}", "higher", _make_measure("score_spans", part), tasks=TOKENS)
            for part, title in (("f1", "F1"), ("precision", "precision"), ("recall", "recall"))
        ),
        Metric("token_accuracy", "Token accuracy", "higher", _make_measure("compute_accuracy"), tasks=TOKENS),
    )
}
"""Two classes: roc_auc and average_precision are those of the second class. More: each class against the rest, weighted
by support (roc_auc) or plainly averaged (roc_auc_macro, average_precision). macro: with one label per text over classes
with a label or a prediction, as scikit-learn does; of several over all. micro: over all decisions at once. samples:
over texts. loss and brier of several labels are means over rows and labels. mae: steps on the scale between label and
prediction. quadratic_kappa: Cohen's κ with quadratic weights (Cohen 1968). span_…: over spans, right where their type
and both ends are (Tjong Kim Sang and De Meulder 2003); token_accuracy: over words."""


INTERVAL_VERSION = 2
"""Of the methods in `core.evaluation.intervals`, as a run records it; no version: a bootstrap for every metric."""


def select_metrics(task: Task, *, ordered: bool = False) -> dict[str, Metric]:
    """Return the metrics of a task by name; `ordered` adds those for three or more classes in an order."""
    return {name: metric for name, metric in METRICS.items() if task in metric.tasks and ordered >= metric.ordered}


def select_thresholded() -> dict[str, Metric]:
    """Return the multi-label metrics that change with the decision thresholds, by name."""
    return {name: metric for name, metric in select_metrics("multi").items() if metric.reads == "answers"}


TUNED = "tuned."
"""Before the name of a metric: at the thresholds per label that a run chose on its validation split."""
USUAL: dict[Task, tuple[str, ...]] = {
    "single": ("accuracy", "f1_macro"),
    "multi": (f"{TUNED}f1_macro", "f1_macro", "average_precision"),
    "tokens": ("span_f1", "token_accuracy"),
}
"""What stands in tables by default: with several labels each model at its own thresholds first, since a model that is
merely timid at 0.5 is no worse for it."""


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
