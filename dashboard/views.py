"""Results of the core in the shape that pages show: pure functions, no Streamlit, no cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.evaluation.metrics import METRICS, confusion, per_class, roc_points
from core.exceptions import RunDamaged
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.charts.attention import MapRow, component_rows
from dashboard.charts.numbers import number, plus_minus
from dashboard.charts.performance import RocCurve
from dashboard.charts.training import Curves

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

TEST = "test"
PROBABILITY = "probability:"
"""As in core.runs.results, which needs torch and so cannot be imported here; a test compares the two."""
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


# --- performance --------------------------------------------------------------------------------------------------


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


# --- training -----------------------------------------------------------------------------------------------------


def history_curves(history: History, epochs: int, metric: str, steps: int) -> Curves:
    """A history as curves over epochs.

    Args:
        history: What was logged.
        epochs: Planned.
        metric: The validation metric that chooses the best epoch.
        steps: Planned; 0 if not known, then the rows tell (an epoch row stands at the end of its epoch).
    """
    ends = history.kind("epoch")
    per_epoch = _steps_per_epoch(history, epochs, steps)

    def x(row: Mapping[str, Any]) -> float:
        return row["step"] / per_epoch

    losses = [row for row in history.kind("step") if row.get("loss") is not None]
    valid = [row for row in ends if None not in (_validation(row, "loss"), _validation(row, metric))]
    moved = [row for row in history.rows if _numbers(row.get("lambda"))]
    return Curves(
        epochs=epochs,
        seconds=float(history.rows[-1].get("seconds") or 0.0) if history.rows else 0.0,
        step=tuple(map(x, losses)),
        loss=tuple(row["loss"] for row in losses),
        epoch=tuple(map(x, valid)),
        validation_loss=tuple(_validation(row, "loss") for row in valid),
        validation_metric=tuple(_validation(row, metric) for row in valid),
        metric=metric.replace("_", " "),
        lambda_step=tuple(map(x, moved)),
        lambdas=_lambda_lines(moved),
    )


LOGGED_STEPS = 200


def _steps_per_epoch(history: History, epochs: int, steps: int) -> float:
    if steps:
        return steps / epochs
    if ends := history.kind("epoch"):
        return ends[0]["step"] / (ends[0]["epoch"] + 1)
    # Before that the distance of logged rows tells roughly: a training logs about 200 of them.
    logged = [row["step"] for row in history.rows[:2]]
    return LOGGED_STEPS * max(1, logged[-1] - logged[0]) / epochs if logged else 1.0


def _validation(row: Mapping[str, Any], metric: str) -> Any:
    return (row.get("validation") or {}).get(metric)


def _numbers(lambdas: Any) -> bool:
    """Whether there are lambdas and all are numbers; one that is not finite is logged as null."""
    return bool(lambdas) and all(value is not None for layer in lambdas for value in layer)


def _lambda_lines(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], tuple[float, ...]]:
    if not rows:
        return {}
    first = rows[0]["lambda"]
    return {
        (layer, i + 1): tuple(row["lambda"][layer][i] for row in rows)
        for layer in range(len(first))
        for i in range(len(first[layer]))
    }


def curve_tables(curves: Curves) -> dict[str, pd.DataFrame]:
    """The points of the curves as tables, for export."""
    tables = {
        "Losses": pd.DataFrame({"epoch": curves.step, "train_loss": curves.loss}),
        "Validation": pd.DataFrame(
            {"epoch": curves.epoch, "loss": curves.validation_loss, curves.metric: curves.validation_metric}
        ),
    }
    if curves.lambdas:
        columns = {f"layer {layer + 1} lambda {i}": line for (layer, i), line in curves.lambdas.items()}
        tables["Lambdas"] = pd.DataFrame({"epoch": curves.lambda_step, **columns})
    return tables


# --- inside a sentence --------------------------------------------------------------------------------------------


def subtracts(record: RunRecord) -> bool:
    """Whether this model takes its second map away."""
    return record.config.model.attention.mixing.startswith("differential")


def map_rows(view: SentenceView, layer: int, minus: bool) -> list[MapRow]:
    """The contributions of the components in one layer (0-based), and their sum where there are several."""
    found = view.layers[layer]
    return component_rows(found.components, found.coefficients, found.combined, minus)


def received(row: MapRow) -> list[float]:
    """How much each token is read on average over readers and heads."""
    return [float(value) for value in row.weights.mean((0, 1))]


def sentence_tables(view: SentenceView, minus: bool) -> dict[str, pd.DataFrame]:
    """What the page shows of one text, as tables for export."""
    tables = {
        "Prediction": pd.DataFrame(
            {"class": list(view.probabilities), "probability": list(view.probabilities.values())}
        )
    }
    if view.layers and view.tokens:
        parts = [_weights(view, layer, minus) for layer in range(len(view.layers))]
        tables["Attention"] = pd.concat(parts, ignore_index=True)
    return tables


def _weights(view: SentenceView, layer: int, minus: bool) -> pd.DataFrame:
    """One row for each head, reading and read token of a layer; a column for each map."""
    rows = map_rows(view, layer, minus)
    heads, length, _ = rows[0].weights.shape
    head, reads, read = (index.ravel() for index in np.indices((heads, length, length)))
    tokens: NDArray[np.str_] = np.array(view.tokens)
    frame = pd.DataFrame({"layer": layer + 1, "head": head + 1, "reads": tokens[reads], "is_read": tokens[read]})
    return frame.assign(**{row.name: row.weights.ravel() for row in rows})
