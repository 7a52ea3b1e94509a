"""What a run has reached: its first number, its metrics, its report on a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.evaluation.metrics import METRICS, confusion, per_class, roc_points
from core.exceptions import RunDamaged
from core.runs.record import PROBABILITY, RunRecord
from dashboard.charts.numbers import number, plus_minus
from dashboard.charts.performance import RocCurve

TEST = "test"
Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@dataclass(frozen=True)
class Headline:
    """A run's first number: test accuracy with its interval, and the yardstick's beside it."""

    value: float
    low: float | None
    high: float | None
    yardstick: float | None


def headline(record: RunRecord) -> Headline | None:
    """None where the run has not been measured."""
    value = _at(record.results, "metrics", TEST, "accuracy")
    if not isinstance(value, (int, float)):
        return None
    low, high = _at(record.results, "intervals", TEST, "accuracy") or (None, None)
    return Headline(value, low, high, _at(record.results, "yardstick", "splits", TEST, "accuracy"))


def _at(tree: Any, *path: str) -> Any:
    """What lies at the end of a path of keys; None where it ends early."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def run_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """One row for each run, as words."""
    return pd.DataFrame([_run_row(record) for record in records])


def _run_row(record: RunRecord) -> dict[str, str]:
    found = headline(record)
    accuracy = ""
    if found is not None:
        known = found.low is not None and found.high is not None
        accuracy = plus_minus(found.value, found.low or 0, found.high or 0) if known else number(found.value)
    damaged = record.status == "damaged"
    return {
        "run": record.run,
        "status": record.status,
        "data": "" if damaged else record.config.data.name.rsplit("/", 1)[-1],
        "model": record.preset,
        "accuracy": accuracy,
        "tfidf": number(found.yardstick) if found and found.yardstick is not None else "",
    }


@dataclass(frozen=True)
class Report:
    """How a run does on one split, from its saved predictions."""

    classes: tuple[str, ...]
    examples: pd.DataFrame
    """text, label and predicted (class names), probability (of the predicted class)."""
    confusion: NDArray[np.int64]
    """(C, C), rows true."""
    roc: tuple[RocCurve, ...]
    """The second class where there are two, else every class against the rest."""
    per_class: pd.DataFrame


def make_report(saved: pd.DataFrame, classes: tuple[str, ...]) -> Report:
    """Counts, curves and examples of one split.

    Args:
        saved: The split's predictions.parquet: text, label and predicted by name, a `probability:CLASS` column each.
        classes: C names in label order.

    Raises:
        RunDamaged: a column or a class is missing.
    """
    try:
        probabilities = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        labels = saved["label"].map({name: number for number, name in enumerate(classes)}).to_numpy(np.int64)
        examples = saved[["text", "label", "predicted"]].assign(probability=probabilities.max(1))
    except (KeyError, ValueError) as error:
        raise RunDamaged(f"the saved predictions do not fit the classes of the run: {error}") from error
    predicted = probabilities.argmax(1)
    table = per_class(labels, probabilities, classes)
    drawn = range(1, 2) if len(classes) == 2 else range(len(classes))
    return Report(
        classes=classes,
        examples=examples,
        confusion=np.array(confusion(labels, predicted, len(classes))),
        roc=tuple(
            curve
            for number in drawn
            if (curve := _roc_curve(labels, probabilities, number, table, classes)) is not None
        ),
        per_class=pd.DataFrame([{"Class": name, **_named(row)} for name, row in table.items()]),
    )


COLUMNS = {
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "support": "n",
    "roc_auc": "ROC-AUC",
    "average_precision": "Average precision",
}


def _named(row: Mapping[str, float]) -> dict[str, float]:
    return {
        title: int(row[name]) if name == "support" else row.get(name, float("nan")) for name, title in COLUMNS.items()
    }


def _roc_curve(
    labels: Integers,
    probabilities: Floats,
    number: int,
    table: Mapping[str, Mapping[str, float]],
    classes: Sequence[str],
) -> RocCurve | None:
    points = roc_points(labels, probabilities, number)
    row = table[classes[number]]
    if not points["fpr"]:
        return None
    return RocCurve(classes[number], tuple(points["fpr"]), tuple(points["tpr"]), row["roc_auc"], int(row["support"]))


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
    values = _at(record.results, "metrics", split) or {}
    ranges = _at(record.results, "intervals", split) or {}
    rows = []
    for name, value in values.items():
        if name in METRICS:
            low, high = ranges.get(name) or (None, None)
            rows.append({"metric": name, "title": METRICS[name].title, "value": value, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["metric", "title", "value", "low", "high"])


def confusion_table(report: Report) -> pd.DataFrame:
    """The matrix as a table that a screen reader can walk through."""
    columns = {f"said {name}": report.confusion[:, i] for i, name in enumerate(report.classes)}
    return pd.DataFrame({"is": report.classes, **columns})
