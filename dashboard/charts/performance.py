"""How good a model is on one split: what it confuses, and how well it ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.numbers import count, number
from dashboard.charts.theme import Look, blend, panels


@dataclass(frozen=True)
class RocCurve:
    """One class against all others."""

    name: str
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]
    area: float
    positives: int


def confusion(counts: NDArray[np.int64], classes: Sequence[str], look: Look) -> go.Figure:
    """The confusion matrix as bars, which select over their whole area.

    Args:
        counts: (C, C), rows true, columns predicted.
        classes: C names in label order.
        look: Theme and size.

    Returns:
        A figure whose bars carry `customdata = [true, predicted]` as label numbers.
    """
    t, size, n = look.tokens, look.size, len(classes)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    cells = [(i, j) for i in range(n) for j in range(n)]
    names = [escape(name) for name in classes]
    figure = panels(look, [[""]], height=430 if n < 4 else 90 * n + 70)
    figure.add_bar(
        x=[j for _, j in cells],
        y=[0.96] * len(cells),
        base=[n - 1 - i + 0.02 for i, _ in cells],
        width=0.97,
        marker={
            "color": [_cell_colour(shares[i, j], i == j, look) for i, j in cells],
            "cornerradius": 6,
            "line": {"width": 0},
        },
        customdata=[[i, j] for i, j in cells],
        text=[f"<b style='font-size:1.6em'>{count(int(counts[i, j]))}</b><br>{number(shares[i, j])}" for i, j in cells],
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
        title_text="predicted", side="top", tickvals=places, ticktext=names, tickfont=ticks, range=[-0.5, n - 0.5]
    )
    figure.update_yaxes(
        title_text="true",
        tickvals=[n - 0.5 - i for i in places],
        ticktext=names,
        range=[0, n],
        showgrid=False,
        tickfont=ticks,
        tickangle=-90 if n < 4 else 0,
    )
    figure.update_layout(barmode="overlay", bargap=0, clickmode="event+select", margin={"t": 8})
    return figure


def _cell_colour(share: float, correct: bool, look: Look) -> str:
    """Grey for correct, magenta by row share for an error; never so strong that ink cannot be read on it."""
    t = look.tokens
    if correct:
        return blend(t.paper, t.right, 0.08 + 0.3 * share)
    return blend(t.paper, t.wrong, min(0.06 + 1.4 * share, 0.5 if look.dark else 0.45)) if share else t.paper


def roc(curves: Sequence[RocCurve], look: Look) -> go.Figure:
    """True against false positive rate, one line for each class, named at its end."""
    t = look.tokens
    figure = panels(look, [[""]], height=430)
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": t.right, "width": look.size(1.2), "dash": "dot"},
        hoverinfo="skip",
    )
    figure.add_annotation(x=0.62, y=0.55, text="guessing", xanchor="left", yanchor="top")
    gap = min(0.08, 0.9 / max(len(curves), 1))
    for i, curve in enumerate(curves):
        colour = t.accent if len(curves) == 1 else t.categories[i % len(t.categories)]
        name = escape(curve.name)
        figure.add_scatter(
            x=curve.false_positive_rate,
            y=curve.true_positive_rate,
            mode="lines",
            line={"color": colour, "width": look.size(3 if len(curves) == 1 else 2.4)},
            hovertemplate=f"{name}<br>false positive rate %{{x:.3f}}<br>recall %{{y:.3f}}<extra></extra>",
        )
        figure.add_annotation(
            x=1,
            y=0.04 + gap * (len(curves) - 1 - i),
            xanchor="right",
            text=f"{name} <b>{number(curve.area)}</b>",
            font={"color": colour},
        )
    figure.update_xaxes(title_text="false positive rate", range=[-0.02, 1.02], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_yaxes(title_text="recall", range=[-0.02, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_layout(margin={"t": 8})
    return figure
