"""How good a model is on one split: what it confuses, and how well it ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.numbers import count, number
from dashboard.charts.panels import Panels
from dashboard.charts.theme import Look, blend


@dataclass(frozen=True)
class Curve:
    """One class against all others over all thresholds, and where the chosen threshold lies on it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    area: float
    positives: int
    others: int
    at: tuple[float, float] | None = None


def confusion(counts: NDArray[np.int64], classes: Sequence[str], look: Look, *, normalised: bool = False) -> go.Figure:
    """The confusion matrix as bars, which select over their whole area.

    Args:
        counts: (C, C), rows true, columns predicted.
        classes: C names in label order.
        look: Theme and size.
        normalised: Write the share of the row large and colour by it, instead of the count.

    Returns:
        A figure whose bars carry `customdata = [true, predicted]` as label numbers.
    """
    t, size, n = look.tokens, look.size, len(classes)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    strengths = shares if normalised else counts / max(int(counts.sum(1).max(initial=0)), 1)
    cells = [(i, j) for i in range(n) for j in range(n)]
    names = [escape(name) for name in classes]
    figure = Panels(look, [[""]], height=430 if n < 4 else 90 * n + 70)
    figure.add_bar(
        x=[j for _, j in cells],
        y=[0.96] * len(cells),
        base=[n - 1 - i + 0.02 for i, _ in cells],
        width=0.97,
        marker={
            "color": [_cell_colour(strengths[i, j], i == j, look) for i, j in cells],
            "cornerradius": 6,
            "line": {"width": 0},
        },
        customdata=[[i, j] for i, j in cells],
        text=[_cell_text(int(counts[i, j]), shares[i, j], normalised) for i, j in cells],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": size(18 if n < 4 else 14), "color": t.ink},
        constraintext="none",
        hovertext=[f"true {names[i]}, predicted {names[j]}: {count(int(counts[i, j]))}" for i, j in cells],
        hovertemplate="%{hovertext}<extra></extra>",
        selected={"marker": {"opacity": 1}, "textfont": {"color": t.ink}},
        unselected={"marker": {"opacity": 0.4}, "textfont": {"color": t.muted}},
    )
    ticks = {"size": size(16 if n < 4 else 14), "color": t.ink}
    places = list(range(n))
    figure.update_xaxes(
        title="predicted", side="top", tickvals=places, ticktext=names, tickfont=ticks, range=[-0.5, n - 0.5]
    )
    figure.update_yaxes(
        title="true",
        tickvals=[n - 0.5 - i for i in places],
        ticktext=names,
        range=[0, n],
        showgrid=False,
        tickfont=ticks,
        tickangle=-90 if n < 4 else 0,
    )
    figure.update_layout(barmode="overlay", bargap=0, clickmode="event+select", margin={"t": 8})
    return figure.drawn()


def _cell_text(cell: int, share: float, normalised: bool) -> str:
    large, small = (number(share), count(cell)) if normalised else (count(cell), number(share))
    return f"<b style='font-size:1.6em'>{large}</b><br>{small}"


def _cell_colour(share: float, correct: bool, look: Look) -> str:
    """Grey for correct, magenta by strength for an error; never so strong that ink cannot be read on it."""
    t = look.tokens
    if correct:
        return blend(t.paper, t.right, 0.08 + 0.3 * share)
    return blend(t.paper, t.wrong, min(0.06 + 1.4 * share, 0.5 if look.dark else 0.45)) if share else t.paper


def roc(curves: Sequence[Curve], look: Look) -> go.Figure:
    """True against false positive rate, one line for each class, named with its area."""
    figure = Panels(look, [[""]], height=400)
    _reference(figure, (0, 1), (0, 1), look)
    figure.add_annotation(x=0.62, y=0.55, text="guessing", xanchor="left", yanchor="top")
    _lines(figure, curves, look, ("false positive rate", "recall"), names_at="right")
    return figure.drawn()


def precision_recall(curves: Sequence[Curve], look: Look) -> go.Figure:
    """Precision against recall, one line for each class, named with its average precision."""
    figure = Panels(look, [[""]], height=400)
    for curve in curves[:1] if len(curves) == 1 else ():
        share = curve.positives / max(curve.positives + curve.others, 1)
        _reference(figure, (0, 1), (share, share), look)
        figure.add_annotation(x=0.5, y=share, text="guessing", yanchor="top")
    _lines(figure, curves, look, ("recall", "precision"), names_at="left")
    return figure.drawn()


def _reference(figure: Panels, x: tuple[float, float], y: tuple[float, float], look: Look) -> None:
    line = {"color": look.tokens.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _lines(
    figure: Panels, curves: Sequence[Curve], look: Look, axes: tuple[str, str], *, names_at: Literal["left", "right"]
) -> None:
    """The curves, their names in the lower corner that they leave free, and a ring where the threshold lies."""
    t, gap = look.tokens, min(0.08, 0.9 / max(len(curves), 1))
    for i, curve in enumerate(curves):
        colour = t.accent if len(curves) == 1 else t.categories[i % len(t.categories)]
        name = escape(curve.name)
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            mode="lines",
            line={"color": colour, "width": look.size(3 if len(curves) == 1 else 2.4)},
            hovertemplate=f"{name}<br>{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}<extra></extra>",
        )
        figure.add_annotation(
            x=1 if names_at == "right" else 0,
            y=0.04 + gap * (len(curves) - 1 - i),
            xanchor=names_at,
            text=f"{name} <b>{number(curve.area)}</b>",
            font={"color": colour},
        )
        if curve.at is not None:
            figure.add_scatter(
                x=[curve.at[0]],
                y=[curve.at[1]],
                mode="markers",
                marker={"size": look.size(15), "color": t.paper, "line": {"width": look.size(3), "color": t.ink}},
                hovertemplate=f"at the threshold<br>{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}<extra></extra>",
            )
    figure.update_xaxes(title=axes[0], range=[-0.02, 1.02], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_yaxes(title=axes[1], range=[-0.02, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_layout(margin={"t": 8})
