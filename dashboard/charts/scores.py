"""What the probabilities of a model are worth: calibration, outcomes by confidence, accuracy by phenomenon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.numbers import count, number
from dashboard.charts.panels import Panels
from dashboard.charts.theme import Look, blend

FEW = 30
"""Below this a figure says little."""
BINS, BARS = 10, 20
TICKS = [0, 0.25, 0.5, 0.75, 1]


@dataclass(frozen=True)
class Bin:
    """Rows whose probability lies in one tenth: what was claimed and what came true."""

    low: float
    high: float
    n: int
    claimed: float
    true: float
    interval: tuple[float, float]


def calibration(bins: Sequence[Bin], threshold: float, score: str, look: Look) -> go.Figure:
    """What came true in each bin of what was claimed, as bars with n; the diagonal would be perfect."""
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    figure.add_bar(
        x=[(each.low + each.high) / 2 for each in bins],
        y=[each.true for each in bins],
        width=[0.92 * (each.high - each.low) for each in bins],
        marker={"color": [blend(t.paper, t.accent, 0.2 if each.n < FEW else 0.5) for each in bins], "cornerradius": 3},
        error_y={
            "array": [each.interval[1] - each.true for each in bins],
            "arrayminus": [each.true - each.interval[0] for each in bins],
            "color": t.ink,
            "thickness": look.size(1.4),
            "width": 0,
        },
        customdata=[[number(each.claimed), count(each.n)] for each in bins],
        hovertemplate="claimed %{customdata[0]}<br>came true %{y:.3f}<br>n = %{customdata[1]}<extra></extra>",
    )
    line = {"color": t.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
    for each in bins:
        figure.add_annotation(
            x=(each.low + each.high) / 2, y=1.03, yanchor="bottom", text=count(each.n), font={"size": look.size(14)}
        )
    _threshold(figure, threshold, look)
    figure.update_xaxes(title=f"{escape(score)}, n above", range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="came true", range=[0, 1.13], tickvals=TICKS)
    return figure.drawn()


def confidence(
    right: NDArray[np.int64], wrong: NDArray[np.int64], threshold: float, score: str, look: Look
) -> go.Figure:
    """How many right (grey) and wrong (magenta) answers there are at each probability.

    Args:
        right: (`BARS`,) counts in equal bins of 0 to 1.
        wrong: (`BARS`,)
        threshold: Drawn as a line.
        score: What the probability is called.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    middles = [(place + 0.5) / BARS for place in range(BARS)]
    for name, values, colour in (("right", right, t.right), ("wrong", wrong, t.wrong)):
        figure.add_bar(
            x=middles,
            y=values,
            width=0.92 / BARS,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{x:.2f}}<br>{name}: %{{y}}<extra></extra>",
        )
    _threshold(figure, threshold, look)
    labels = ((f"right {count(int(right.sum()))}", t.muted, 0.0), (f"wrong {count(int(wrong.sum()))}", t.wrong, 0.3))
    for text, colour, x in labels:
        corner: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(x=x, y=1, text=text, font={"color": colour}, **corner)
    figure.update_xaxes(title=escape(score), range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="sentences", rangemode="tozero", nticks=6)
    figure.update_layout(barmode="stack")
    return figure.drawn()


def _threshold(figure: Panels, threshold: float, look: Look) -> None:
    figure.add_vline(x=threshold, line={"color": look.tokens.ink, "width": look.size(1.6)})


def phenomena(table: pd.DataFrame, look: Look) -> go.Figure:
    """Accuracy of each phenomenon with its interval and n; a ring where TF-IDF lies.

    Args:
        table: phenomenon, accuracy, low, high, n, tfidf; the first row stands at the bottom.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[""]], height=70 + 32 * len(table))
    names = [escape(name) for name in table["phenomenon"]]
    figure.add_scatter(
        x=table["tfidf"],
        y=names,
        mode="markers",
        marker={"symbol": "circle-open", "size": look.size(11), "color": t.muted, "line": {"width": look.size(2)}},
        hovertemplate="TF-IDF %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=table["accuracy"],
        y=names,
        mode="markers",
        marker={"size": look.size(10), "color": [t.right if n < FEW else t.accent for n in table["n"]]},
        error_x={
            "array": table["high"] - table["accuracy"],
            "arrayminus": table["accuracy"] - table["low"],
            "thickness": look.size(2),
            "color": t.accent,
            "width": 0,
        },
        customdata=table["n"],
        hovertemplate="%{y}<br>accuracy %{x:.3f}<br>n = %{customdata}<extra></extra>",
    )
    for name, n in zip(names, table["n"], strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(int(n)), font={"size": look.size(14)})
    figure.update_xaxes(title="accuracy, n at the right", range=[0, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8})
    return figure.drawn()
