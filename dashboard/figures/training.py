"""The history of a training as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from core.data.table import Task
from core.evaluation.intervals import share_interval
from core.exceptions import ConfigError
from core.training.config import metric_for
from core.training.history import History
from dashboard.figures.numbers import number, subscript
from dashboard.figures.panels import Panels
from dashboard.figures.theme import Look, layer_colour, spread

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Curves:
    """What a training has logged so far; every x is in epochs (2.5 = half way through the third)."""

    epochs: int
    """Planned; the axis is as long as this from the first step on."""
    seconds: float = 0.0
    """Training time so far."""
    step: tuple[float, ...] = ()
    loss: tuple[float, ...] = ()
    """Training loss at each logged step."""
    epoch: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    validation_metric: tuple[float, ...] = ()
    metric: str = "accuracy"
    validation_range: tuple[tuple[float, float], ...] = ()
    """95 % interval of the metric after each epoch, where it is a share of a known number of sentences."""
    lambda_step: tuple[float, ...] = ()
    lambdas: dict[tuple[int, int], tuple[float, ...]] = field(default_factory=dict)
    """(layer, component), both from 0, component 1 being the first that has a lambda: its value at `lambda_step`."""


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


SMALLEST_CHANGE = 1e-3
"""The change panels are magnified no further than this."""
NAMES = 1.3
"""An axis is longer than the training by this where the names of lines stand at their ends."""
LIVE = "live"
"""One `uirevision` for all states of a live figure: nothing jumps when a point is added."""


def draw_learning(curves: Curves, look: Look) -> go.Figure:
    """Training and validation loss on the left, the validation metric on the right."""
    t = look.tokens
    figure = Panels(look, [["loss", f"validation {curves.metric}"]], height=340, horizontal_spacing=0.09)
    figure.add_scatter(
        x=curves.step,
        y=curves.loss,
        mode="lines",
        line={"color": t.right, "width": look.size(1.4)},
        hovertemplate="train loss %{y:.3f}<extra></extra>",
        row=1,
        col=1,
    )
    for column, (name, values) in enumerate(
        (("validation loss", curves.validation_loss), (curves.metric, curves.validation_metric)), start=1
    ):
        figure.add_scatter(
            x=curves.epoch,
            y=values,
            mode="lines+markers",
            line={"color": t.accent, "width": look.size(3)},
            marker={"size": look.size(8)},
            error_y=_whiskers(curves, look) if column == 2 else None,
            hovertemplate=f"epoch %{{x}}<br>{name} %{{y:.3f}}<extra></extra>",
            row=1,
            col=column,
        )
    _mark_lowest(figure, curves, look)
    _name_lines(figure, curves, look)
    figure.update_xaxes(range=[0, curves.epochs * 1.04], title="epoch", tickvals=_epoch_ticks(curves.epochs))
    figure.update_xaxes(range=[0, curves.epochs * NAMES], row=1, col=1)
    figure.update_yaxes(nticks=6)
    figure.update_yaxes(rangemode="tozero", range=None if curves.loss else [0, 1], row=1, col=1)
    if curves.metric != "loss":
        floor = min([0.5, *curves.validation_metric])
        figure.update_yaxes(range=[floor - 0.01, 1.01], dtick=0.1, tickformat=".1f", row=1, col=2)
    figure.update_layout(uirevision=LIVE)
    return figure.drawn()


def _whiskers(curves: Curves, look: Look) -> dict[str, Any] | None:
    if not curves.validation_range:
        return None
    pairs = list(zip(curves.validation_metric, curves.validation_range, strict=True))
    return {
        "array": [high - value for value, (_, high) in pairs],
        "arrayminus": [value - low for value, (low, _) in pairs],
        "thickness": look.size(1.4),
        "width": 0,
    }


def _mark_lowest(figure: Panels, curves: Curves, look: Look) -> None:
    if len(curves.validation_loss) < 2:
        return
    best = min(range(len(curves.validation_loss)), key=lambda i: curves.validation_loss[i])
    ink = look.tokens.ink
    figure.add_vline(x=curves.epoch[best], line={"color": ink, "width": 1, "dash": "dot"}, row=1, col=1)
    figure.add_annotation(
        x=curves.epoch[best],
        y=0.99,
        yref="y domain",
        xanchor="left",
        yanchor="top",
        xshift=6,
        text=f"lowest {number(curves.validation_loss[best])}",
        font={"color": ink},
        row=1,
        col=1,
    )


def _name_lines(figure: Panels, curves: Curves, look: Look) -> None:
    ends = []
    if curves.step:
        tail = curves.loss[-12:]
        ends.append(("train", curves.step[-1], sum(tail) / len(tail), look.tokens.muted))
    if curves.epoch:
        ends.append(("validation", curves.epoch[-1], curves.validation_loss[-1], look.tokens.accent))
    top = max([*curves.loss, *curves.validation_loss], default=1.0)
    heights = spread([y for _, _, y, _ in ends], 0.08 * top)
    for (name, x, _, colour), y in zip(ends, heights, strict=True):
        figure.add_annotation(x=x, y=y, text=name, xanchor="left", xshift=9, font={"color": colour}, row=1, col=1)


def draw_lambdas(curves: Curves, look: Look) -> go.Figure:
    """One row for each component: its lambda on a scale with zero, and its change since the start, magnified."""
    components = sorted({component for _, component in curves.lambdas})
    layers = sorted({layer for layer, _ in curves.lambdas})
    titles = [[f"λ{subscript(i)}", f"λ{subscript(i)}, change since the start"] for i in components]
    figure = Panels(
        look, titles, height=80 + 200 * len(titles), horizontal_spacing=0.1, vertical_spacing=0.2 / len(titles)
    )
    span = [0.0, *(value for values in curves.lambdas.values() for value in values)]
    changes = [abs(value - values[0]) for values in curves.lambdas.values() for value in values]
    move = max([SMALLEST_CHANGE, *changes])
    for row, component in enumerate(components, start=1):
        lines = {layer: curves.lambdas[layer, component] for layer in layers if (layer, component) in curves.lambdas}
        change = {layer: tuple(value - values[0] for value in values) for layer, values in lines.items()}
        pad = 0.08 * (max(span) - min(span) or 1)
        _lambda_panel(figure, curves, look, lines, (row, 1), (min(span) - pad, max(span) + pad))
        _lambda_panel(figure, curves, look, change, (row, 2), (-1.15 * move, 1.15 * move))
    figure.update_xaxes(range=[0, curves.epochs * 1.16], tickvals=_epoch_ticks(curves.epochs))
    figure.update_xaxes(showticklabels=False)
    figure.update_xaxes(title="epoch", showticklabels=True, row=len(titles))
    figure.update_yaxes(nticks=5, exponentformat="none")
    figure.update_layout(uirevision=LIVE)
    return figure.drawn()


def _lambda_panel(
    figure: Panels,
    curves: Curves,
    look: Look,
    lines: dict[int, tuple[float, ...]],
    place: tuple[int, int],
    limits: tuple[float, float],
) -> None:
    row, column = place
    layers = max(layer for layer, _ in curves.lambdas) + 1
    heights = spread([values[-1] for values in lines.values()], 0.1 * (limits[1] - limits[0]))
    sign = "+" if column == 2 else ""
    for (layer, values), height in zip(lines.items(), heights, strict=True):
        colour = layer_colour(look.tokens, layer, layers)
        figure.add_scatter(
            x=curves.lambda_step[: len(values)],
            y=values,
            mode="lines",
            line={"color": colour, "width": look.size(2.5)},
            hovertemplate=f"layer {layer + 1}<br>epoch %{{x:.1f}}<br>%{{y:{sign}.4f}}<extra></extra>",
            row=row,
            col=column,
        )
        figure.add_annotation(
            x=curves.lambda_step[len(values) - 1],
            y=height,
            text=f"layer {layer + 1}",
            xanchor="left",
            xshift=6,
            font={"color": look.tokens.muted if layer < layers / 2 else look.tokens.ink},
            bgcolor=look.tokens.paper,  # the line of zero must not strike it through
            row=row,
            col=column,
        )
    figure.add_hline(y=0, line={"color": look.tokens.ink, "width": 1}, layer="below", row=row, col=column)
    figure.update_yaxes(range=list(limits), row=row, col=column)


def _epoch_ticks(epochs: int) -> list[int]:
    step = max(1, -(-epochs // 10))
    return list(range(0, epochs + 1, step))
