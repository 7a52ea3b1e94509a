"""Training curves of a run: losses, validation metric and the learned weights λ of attention maps."""

from statistics import median
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import format_subscript, number, plural
from dashboard.figures.drawing import Panels, make_whiskers
from dashboard.figures.figure import Figure, Source
from dashboard.figures.theme import Look, color_layer, spread_labels
from dashboard.figures.training_log import Curves

NAMES = 1.3  # length of the epoch axis relative to the training; names at the line ends need room
CLICKABLE: dict[str, Any] = {"mode": "lines+markers", "marker": {"size": 9, "opacity": 0}}
"""A line whose points can be clicked: Plotly selects markers only."""
LIVE = "live"  # one `uirevision` for all updates of a live figure, so that its view stays when points are added


def _build_curve_tables(curves: Curves) -> dict[str, pd.DataFrame]:
    after = {"epoch": curves.epoch, "loss": curves.validation_loss, curves.metric: curves.validation_metric}
    losses = {"epoch": curves.step, "train_loss": curves.loss}
    tables = {"Losses": pd.DataFrame(losses), "Validation": pd.DataFrame(after)}
    if curves.lambdas:
        columns = {f"layer {layer + 1} lambda {i}": line for (layer, i), line in curves.lambdas.items()}
        tables["Lambdas"] = pd.DataFrame({"epoch": curves.lambda_step, **columns})
    return tables


def draw_learning(curves: Curves, look: Look) -> go.Figure:
    """Draw a run's training and validation loss on the left, its validation metric on the right."""
    t = look.tokens
    figure = Panels(look, [["loss", f"validation {curves.metric}"]], height=340, horizontal_spacing=0.09)
    figure.add_scatter(x=curves.step, y=curves.loss, stroke=(t.right, 1.4), hover="train loss %{y:.3f}", **CLICKABLE)
    spans = None
    if curves.validation_range:
        spans = make_whiskers(curves.validation_metric, curves.validation_range, look.scale_size(1.4))
    both = (("validation loss", curves.validation_loss), (curves.metric, curves.validation_metric))
    for column, (name, values) in enumerate(both, start=1):
        own = {"hover": f"epoch %{{x}}<br>{name} %{{y:.3f}}", "error_y": spans if column == 2 else None}
        figure.add_scatter(x=curves.epoch, y=values, stroke=(t.accent, 3), dots=(None, 8), col=column, **own)
    if len(curves.validation_loss) > 1:
        best = min(range(len(curves.validation_loss)), key=lambda i: curves.validation_loss[i])
        at, text = curves.epoch[best], f"lowest {number(curves.validation_loss[best])}"
        figure.add_vline(x=at, line={"color": t.ink, "width": 1, "dash": "dot"})
        corner: dict[str, Any] = {"yref": "y domain", "xanchor": "left", "yanchor": "top", "xshift": 6}
        figure.add_annotation(x=at, y=0.99, text=text, font={"color": t.ink}, **corner)
    _name_lines(figure, curves, look)
    figure.update_xaxes(range=[0, curves.epochs * 1.04], title="epoch", tickvals=_list_epoch_ticks(curves.epochs))
    figure.update_xaxes(range=[0, curves.epochs * NAMES], row=1, col=1)
    figure.update_yaxes(nticks=6)
    figure.update_yaxes(rangemode="tozero", range=None if curves.loss else [0, 1], row=1, col=1)
    if curves.metric != "loss":
        floor = min([0.5, *curves.validation_metric])
        figure.update_yaxes(range=[floor - 0.01, 1.01], dtick=0.1, tickformat=".1f", row=1, col=2)
    figure.update_layout(uirevision=LIVE)
    return figure.build_figure()


def _name_lines(figure: Panels, curves: Curves, look: Look) -> None:
    ends = []
    if curves.step:
        tail = curves.loss[-12:]
        ends.append(("train", curves.step[-1], sum(tail) / len(tail), look.tokens.muted))
    if curves.epoch:
        ends.append(("validation", curves.epoch[-1], curves.validation_loss[-1], look.tokens.accent))
    top = max([*curves.loss, *curves.validation_loss], default=1.0)
    heights = spread_labels([y for _, _, y, _ in ends], 0.08 * top)
    for (name, x, _, color), y in zip(ends, heights, strict=True):
        figure.add_end_labels([(name, y, color)], 0, x=x, xshift=9)


def draw_progress(curves: Curves, look: Look, whole: Curves | None = None) -> go.Figure:
    """Draw a training for a room: loss, and λ by layer or the validation metric; `whole` sets the axes."""
    whole = whole or curves
    t, lines = look.tokens, {"stroke": (look.tokens.accent, 3), "dots": (None, 8)}
    figure = Panels(look, [["loss", "λ by layer" if whole.lambdas else f"validation {curves.metric}"]], height=340)
    figure.add_scatter(x=curves.step, y=curves.loss, stroke=(t.right, 1.5))
    figure.add_scatter(x=curves.epoch, y=curves.validation_loss, **lines)
    _name_lines(figure, curves, look)
    if whole.lambdas:
        layers, ends = max(layer for layer, _ in whole.lambdas) + 1, []
        for (layer, i), values in curves.lambdas.items():
            stroke = color_layer(t, layer, layers), 3, "solid" if i == 1 else "dash"
            figure.add_scatter(x=curves.lambda_step[: len(values)], y=values, stroke=stroke, col=2)
            ends.append((f"λ{format_subscript(i)} layer {layer + 1}", values[-1], t.ink))
        figure.add_end_labels(ends, 0.03, x=curves.lambda_step[-1] if ends else 0, xshift=6, col=2)
        span = [0.0, 0.5, *(value for values in whole.lambdas.values() for value in values)]
        figure.update_yaxes(range=[min(span) - 0.02, max(span) + 0.02], row=1, col=2)
    else:
        figure.add_scatter(x=curves.epoch, y=curves.validation_metric, col=2, **lines)
        figure.update_yaxes(range=[min([0.5, *whole.validation_metric]) - 0.01, 1.01], row=1, col=2)
    figure.update_xaxes(range=[0, curves.epochs * NAMES], title="epoch", tickvals=_list_epoch_ticks(curves.epochs))
    figure.update_yaxes(range=[0, max([1.0, *whole.loss[:20]])], row=1, col=1)
    figure.update_layout(uirevision=LIVE)
    return figure.build_figure()


def _list_epoch_ticks(epochs: int) -> list[int]:
    return list(range(0, epochs + 1, max(1, -(-epochs // 10))))


def read_curves(source: Source) -> Curves:
    """Read the training curves that a run has logged; NotAvailable: nothing was logged."""
    curves, _ = source.reader.read_curves(source.record)
    if not curves.loss:
        raise NotAvailable("it has no curves: it was not trained step by step, or has not begun")
    return curves


def describe_learning(curves: Curves) -> str:
    """Describe the state of a training in a sentence: epoch, training loss and validation metric."""
    tail = curves.loss[-12:]
    said = f"Epoch {min(curves.epochs, int(curves.step[-1]) + 1)} of {curves.epochs}: the training loss is "
    said += number(sum(tail) / len(tail), 2)
    if not curves.validation_metric:
        return f"{said}."
    return f"{said}, validation {curves.metric} {number(curves.validation_metric[-1])}."


def _read_norm_curves(source: Source) -> Curves:
    curves = read_curves(source)
    if not any(curves.norms):
        raise NotAvailable("its training logged no norm of the gradient")
    return curves


def draw_norms(curves: Curves, look: Look) -> go.Figure:
    """Draw the norm of the gradient at each logged step on a logarithmic axis, with its median."""
    t, figure, middle = look.tokens, Panels(look, [[""]], height=260), median(filter(None, curves.norms))
    hover = "epoch %{x:.2f}<br>norm %{y:.3g}"
    figure.add_scatter(x=curves.step, y=curves.norms, stroke=(t.accent, 1.6), hover=hover)
    figure.add_hline(middle, line={"color": t.ink, "dash": "dash", "width": look.scale_size(1.2)})
    figure.update_xaxes(range=[0, curves.epochs * 1.04], title="epoch", tickvals=_list_epoch_ticks(curves.epochs))
    figure.update_yaxes(type="log", nticks=5, title="norm")
    figure.update_layout(uirevision=LIVE)
    return figure.build_figure()


def describe_norms(curves: Curves) -> str:
    """Return the median and the largest norm of the gradient, as a sentence."""
    known, lost = list(filter(None, curves.norms)), curves.norms.count(None)
    more = f" {plural(lost, 'step')} had no finite gradient." if lost else ""
    return f"The gradient has a median norm of {number(median(known), 2)}, at most {number(max(known), 2)}.{more}"


PROGRESS = Figure("progress", "train", "Training", read_curves, draw_progress).add_details(
    reading="Grey: loss of single steps. Green: validation. λ: weight of a further attention map.",
    finding=describe_learning,
)
LEARNING = Figure("learning", "train", "Training curves", read_curves, draw_learning).add_details(
    note=lambda curves: f"{plural(curves.epochs, 'epoch')} planned",
    reading="Stop when the validation loss rises while the training loss falls.",
    how="Training loss: of each logged batch. Validation: on all validation sentences after each epoch; the best epoch "
    "by the validation metric is saved. Whiskers: Wilson's 95 % interval of an accuracy.",
    tables=_build_curve_tables,
)
GRADIENTS = Figure("gradients", "train", "Norm of the gradient", _read_norm_curves, draw_norms).add_details(
    note="before clipping, logarithmic",
    reading="High and unsteady: the learning rate may be too large. Dashed: median.",
    finding=describe_norms,
    tables=lambda curves: {"Gradients": pd.DataFrame({"epoch": curves.step, "grad_norm": curves.norms})},
)
