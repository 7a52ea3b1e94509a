"""What a run has reached: its first number, its metrics, its report on a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.evaluation.metrics import METRICS
from core.exceptions import RunDamaged
from core.runs.record import LABEL, PROBABILITY, RunRecord
from dashboard.charts.numbers import number, plus_minus
from dashboard.views.naming import data_name

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.views.scores import Decision

TEST = "test"
Floats = NDArray[np.floating]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Headline:
    """A run's first number on test, of the yardstick too: its accuracy, of several labels a text the macro F1.

    Each has its own thresholds then, chosen on validation.
    """

    value: float
    low: float | None
    high: float | None
    yardstick: float | None
    name: str = "accuracy"
    """What it is, in words."""


def headline(record: RunRecord) -> Headline | None:
    """None where the run has not been measured."""
    metric, name = ("accuracy", "accuracy") if record.task == "single" else ("f1_macro", "macro F1")
    tree, yardstick = record.results, _at(record.results, "yardstick")
    if record.task == "multi" and _at(tree, "tuned", "metrics", TEST, metric) is not None:
        tree, yardstick = _at(tree, "tuned"), _at(yardstick, "tuned")
    value = _at(tree, "metrics", TEST, metric)
    if not isinstance(value, (int, float)):
        return None
    low, high = _at(tree, "intervals", TEST, metric) or (None, None)
    return Headline(value, low, high, _at(yardstick, "splits", TEST, metric), name)


def _at(tree: Any, *path: str) -> Any:
    """What lies at the end of a path of keys; None where it ends early."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def run_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """One row for each run, as words."""
    import pandas as pd  # here and below: a page shows its head before that

    return pd.DataFrame([_run_row(record) for record in records])


def _run_row(record: RunRecord) -> dict[str, str]:
    found = headline(record)
    accuracy = ""
    if found is not None:
        known = found.low is not None and found.high is not None
        accuracy = plus_minus(found.value, found.low or 0, found.high or 0) if known else number(found.value)
        accuracy += "" if record.task == "single" else " F1"
    damaged = record.status == "damaged"
    return {
        "run": record.run,
        "status": record.status,
        "data": "" if damaged else data_name(record.config.data.name),
        "model": record.preset,
        "accuracy": accuracy,
        "tfidf": number(found.yardstick) if found and found.yardstick is not None else "",
    }


@dataclass(frozen=True)
class Report:
    """What a run says of one split, from its saved predictions."""

    classes: tuple[str, ...]
    examples: pd.DataFrame
    """text, label and predicted (class names), probability (of the predicted class); phenomenon where it is known."""
    labels: Integers
    """(n,) positions in `classes`; of several labels a text (n, C) zeros and ones."""
    probabilities: Floats
    """(n, C)"""


def make_report(saved: pd.DataFrame, classes: tuple[str, ...]) -> Report:
    """The rows of one split.

    Args:
        saved: The split's predictions.parquet: text, label and predicted by name, a `probability:CLASS` column each;
            of several labels a text also a 0/1 column `label:CLASS` each.
        classes: C names in label order.

    Raises:
        RunDamaged: a column or a class is missing.
    """
    try:
        probabilities = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        labels = true_labels(saved, classes)
        shown = ["text", "label", "predicted", *(["phenomenon"] if "phenomenon" in saved else [])]
        examples = saved[shown].assign(probability=answer_probability(probabilities, several=labels.ndim == 2))
    except (KeyError, ValueError) as error:
        raise RunDamaged(f"the saved predictions do not fit the classes of the run: {error}") from error
    return Report(classes, examples, labels, probabilities)


def answer_probability(probabilities: Floats, *, several: bool) -> Floats:
    """(n, C) → (n,) that of what is said: the most probable class, or of several labels exactly those above 0.5."""
    return np.maximum(probabilities, 1 - probabilities).prod(1) if several else probabilities.max(1)


def true_labels(saved: pd.DataFrame, classes: Sequence[str]) -> Integers:
    """(n,) positions in `classes`, or (n, C) zeros and ones where sentences may have several labels.

    Raises:
        KeyError, ValueError: the predictions are not of these classes.
    """
    several = [f"{LABEL}{name}" for name in classes]
    if several[0] in saved:
        return saved[several].to_numpy(np.int64)
    found = saved["label"].map({name: number for number, name in enumerate(classes)}).to_numpy(np.int64)
    return np.asarray(found, np.int64)


@dataclass(frozen=True)
class Stat:
    """One number. `low` and `high` are its 95 % interval; `ends` is the axis it is drawn on."""

    name: str
    value: float
    ends: tuple[float, float]
    n: int
    low: float | None = None
    high: float | None = None


SHOWN = ("accuracy", "f1_macro", "roc_auc", "ece")


def metric_stats(record: RunRecord, split: str, report: Report) -> list[Stat]:
    """The first numbers of a split, drawn between guessing and perfect."""
    stats = []
    for name in SHOWN:
        value = _at(record.results, "metrics", split, name)
        if value is None:
            continue
        low, high = _at(record.results, "intervals", split, name) or (None, None)
        guessing = 0.5 if name == "roc_auc" else 1 / len(report.classes)
        ends = (0.0, 0.2 if value <= 0.2 else 1.0) if METRICS[name].better == "lower" else (guessing, 1.0)
        stats.append(Stat(METRICS[name].title, value, ends, len(report.examples), low, high))
    return stats


def metric_table(record: RunRecord, split: str) -> pd.DataFrame:
    """Every recorded metric of a split with its interval: metric, title, value, low, high."""
    import pandas as pd

    values = _at(record.results, "metrics", split) or {}
    ranges = _at(record.results, "intervals", split) or {}
    rows = []
    for name, value in values.items():
        if name in METRICS:
            low, high = ranges.get(name) or (None, None)
            rows.append({"metric": name, "title": METRICS[name].title, "value": value, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["metric", "title", "value", "low", "high"])


def yardstick_phenomena(record: RunRecord, split: str) -> dict[str, float]:
    """TF-IDF's accuracy for each phenomenon, known of the test split only."""
    return dict(_at(record.results, "yardstick", "phenomena") or {}) if split == TEST else {}


def confusion_table(decision: Decision) -> pd.DataFrame:
    """The matrix as a table that a screen reader can walk through."""
    import pandas as pd

    columns = {f"said {name}": decision.counts[:, i] for i, name in enumerate(decision.classes)}
    return pd.DataFrame({"is": decision.classes, **columns})
