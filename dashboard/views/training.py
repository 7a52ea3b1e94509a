"""The history of a training as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.data.table import Task
from core.evaluation.intervals import share_interval
from core.exceptions import ConfigError
from core.training.config import metric_for
from core.training.history import History
from dashboard.charts.training import Curves

if TYPE_CHECKING:
    import pandas as pd


def shown_metric(metric: str, task: Task) -> str:
    """The validation metric of a run's curves; that of the task where the run was refused for another."""
    try:
        return metric_for(metric, task)
    except ConfigError:
        return metric_for("auto", task)


def history_curves(history: History, epochs: int, metric: str, steps: int, rows: int = 0) -> Curves:
    """A history as curves over epochs.

    Args:
        history: What was logged.
        epochs: Planned.
        metric: The validation metric that chooses the best epoch.
        steps: Planned; 0 if not known, then the rows tell (an epoch row stands at the end of its epoch).
        rows: Validation sentences; 0 if not known.
    """
    ends = history.kind("epoch")
    per_epoch = steps_per_epoch(history, epochs, steps)

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
        validation_range=tuple(share_interval(_validation(row, metric) * rows, rows) for row in valid)
        if rows and metric == "accuracy"
        else (),
        lambda_step=tuple(map(x, moved)),
        lambdas=_lambda_lines(moved),
    )


LOGGED_STEPS = 200


def steps_per_epoch(history: History, epochs: int, steps: int) -> float:
    """By the plan (`steps` of the whole training), or as the history tells where that is 0."""
    if steps:
        return steps / epochs
    if ends := history.kind("epoch"):
        return ends[0]["step"] / (ends[0]["epoch"] + 1)
    # Before that the distance of logged rows tells roughly: a training logs about 200 of them.
    logged = [row["step"] for row in history.rows[-2:]]
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
    import pandas as pd

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
