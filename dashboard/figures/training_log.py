"""Log of a training run, as curves over epochs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.data.dataset import Task
from core.evaluation.intervals import compute_wilson
from core.exceptions import ConfigError
from core.models.attention_config import MOST_LEXICONS
from core.training.config import resolve_metric
from core.training.history import History

LOGGED_STEPS = 200
Place = tuple[int, int]  # (layer from 0, component from 1); component 0 has no λ
Line = tuple[float, ...]
NUMBERS = {
    "alpha": ("α", "weight of the sinusoid in the positions"),
    "beta": ("β", "weight of recency in the positions"),
    "gamma": ("γ", "weight of the part of speech in the positions"),
    "tau": ("τ", "temperature: how sharp the cosine scores are"),
    "strength": ("strength of σ", "factor on what the lexicon adds to a score"),
    **{
        f"strength_{number}": (f"strength of σ, lexicon {number}", "factor on what this lexicon adds to a score")
        for number in range(1, MOST_LEXICONS + 1)
    },
    "lexicon_gate": ("strength of the lexicon in the gate", "how much wider a gate opens for a word with a polarity"),
}
"""Name in a record → its symbol on the page, and its meaning."""


@dataclass(frozen=True)
class Curves:
    """Training curves of a run so far; every x is in epochs (2.5 = half way through the third)."""

    epochs: int  # planned epochs: the length of the axis from the first step on
    seconds: float = 0.0  # training time so far
    step: tuple[float, ...] = ()
    loss: tuple[float, ...] = ()  # training loss at each logged step
    norms: tuple[float | None, ...] = ()  # norm of the gradient at each logged step, before clipping; None: not finite
    epoch: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    validation_metric: tuple[float, ...] = ()
    metric: str = "accuracy"
    validation_range: tuple[tuple[float, float], ...] = ()
    """95 % interval of the metric after each epoch, if it is a share of a known number of sentences."""
    lambda_step: tuple[float, ...] = ()
    lambdas: dict[tuple[int, int], tuple[float, ...]] = field(default_factory=dict)
    """(layer from 0, component from 1) → λ at each `lambda_step`; component 0 has no λ."""


def choose_metric(metric: str, task: Task, *, ordered: bool = False) -> str:
    """Return the validation metric of a run's curves: the chosen one, or the default if that does not suit the task."""
    try:
        return resolve_metric(metric, task, ordered=ordered)
    except ConfigError:
        return resolve_metric("auto", task)


def build_curves(history: History, epochs: int, metric: str, steps: int, rows: int = 0) -> Curves:
    """Convert the training history of a run to curves over epochs.

    `metric` chooses the best epoch; `steps` are planned (0: estimated from the rows; an epoch row ends its epoch),
    `rows` validation sentences (0: unknown).
    """
    ends = history.select_kind("epoch")
    per_epoch = compute_epoch_steps(history, epochs, steps)

    def to_epochs(row: Mapping[str, Any]) -> float:
        return row["step"] / per_epoch

    losses = [row for row in history.select_kind("step") if row.get("loss") is not None]
    valid = [row for row in ends if None not in (_get_validation(row, "loss"), _get_validation(row, metric))]
    counted = valid if rows and metric == "accuracy" else []
    moved = [row for row in history.rows if _is_finite(row.get("lambda"))]
    layers = moved[0]["lambda"] if moved else []
    return Curves(
        epochs=epochs,
        seconds=float(history.rows[-1].get("seconds") or 0.0) if history.rows else 0.0,
        step=tuple(map(to_epochs, losses)),
        loss=tuple(row["loss"] for row in losses),
        norms=tuple(row.get("grad_norm") for row in losses),
        epoch=tuple(map(to_epochs, valid)),
        validation_loss=tuple(_get_validation(row, "loss") for row in valid),
        validation_metric=tuple(_get_validation(row, metric) for row in valid),
        metric=metric.replace("_", " "),
        validation_range=tuple(compute_wilson(_get_validation(row, metric) * rows, rows) for row in counted),
        lambda_step=tuple(map(to_epochs, moved)),
        lambdas={
            (layer, i + 1): tuple(row["lambda"][layer][i] for row in moved)
            for layer, own in enumerate(layers)
            for i in range(len(own))
        },
    )


def compute_epoch_steps(history: History, epochs: int, steps: int) -> float:
    """Return the number of training steps per epoch: planned `steps` / epochs, or if 0 as seen in the history."""
    if steps:
        return steps / epochs
    if ends := history.select_kind("epoch"):
        return ends[0]["step"] / (ends[0]["epoch"] + 1)
    # In the first epoch, the distance of logged rows gives an estimate: a run logs about 200 rows.
    logged = [row["step"] for row in history.rows[-2:]]
    return LOGGED_STEPS * max(1, logged[-1] - logged[0]) / epochs if logged else 1.0


def _get_validation(row: Mapping[str, Any], metric: str) -> Any:
    return (row.get("validation") or {}).get(metric)


def _is_finite(lambdas: Any) -> bool:
    """Tell whether logged λ values exist and are all finite (NaN and infinity are logged as null)."""
    return bool(lambdas) and "null" not in json.dumps(lambdas)


def build_head_lines(history: History) -> dict[Place, tuple[Line, ...]]:
    """Return separate λ (map weight) curves for each head as (layer, map) → curves; empty if heads share λ."""
    rows = [row["lambda_heads"] for row in history.rows if _is_finite(row.get("lambda_heads"))]
    return {
        (layer, component + 1): tuple(zip(*(row[layer][component] for row in rows), strict=True))
        for layer, components in enumerate(rows[0] if rows else ())
        for component in range(len(components))
    }


@dataclass(frozen=True)
class NumberLine:
    """Curve of one learned single number (such as a temperature) over a training run; x is in epochs."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def build_number_lines(history: History, steps_per_epoch: float) -> dict[str, list[NumberLine]]:
    """Return the curves of every learned scalar in a training history; for gates, the mean after each epoch."""
    found: dict[str, list[NumberLine]] = {}
    rows = [row for row in history.rows if row.get("scalars")]
    for name in rows[0]["scalars"] if rows else ():
        sign = NUMBERS.get(name, (name,))[0]
        found[sign] = _build_lines([(row["step"] / steps_per_epoch, row["scalars"][name]) for row in rows])
    rows = [row for row in history.rows if "gates" in row]
    gates = [(row["step"] / steps_per_epoch, [mean for mean, _ in row["gates"]]) for row in rows]
    return {**found, "mean gate": _build_lines(gates)} if gates else found


def _build_lines(points: Sequence[tuple[float, Sequence[float]]]) -> list[NumberLine]:
    x, values = zip(*points, strict=True)
    return [NumberLine(x, line) for line in zip(*values, strict=True)]
