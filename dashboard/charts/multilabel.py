"""Several labels a text: how each label fares, and what its own threshold changes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from dashboard.charts.numbers import count
from dashboard.charts.panels import Panels
from dashboard.charts.scores import FEW
from dashboard.charts.theme import Look

TICKS = [0, 0.25, 0.5, 0.75, 1]


def label_scores(labels: Sequence[tuple[str, int, float, float]], look: Look) -> go.Figure:
    """F1 of each label: a ring at 0.5, a dot at its tuned threshold, a line between.

    Args:
        labels: name, n, F1 at 0.5, F1 at the tuned threshold (NaN: none); the first stands on top.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[""]], height=80 + 32 * len(labels))
    names = [escape(name) for name, *_ in labels][::-1]
    sizes, half, tuned = zip(*(row[1:] for row in labels[::-1]), strict=True)
    colours = [t.right if n < FEW else t.accent for n in sizes]
    for name, low, high, colour in zip(names, half, tuned, colours, strict=True):
        figure.add_scatter(
            x=[low, high],
            y=[name, name],
            mode="lines",
            line={"color": colour, "width": look.size(2)},
            hoverinfo="skip",
        )
    for values, symbol, said in ((half, "circle-open", "at 0.5"), (tuned, "circle", "tuned")):
        figure.add_scatter(
            x=values,
            y=names,
            mode="markers",
            marker={
                "symbol": symbol,
                "size": look.size(11),
                "color": colours,
                "line": {"width": look.size(2), "color": colours},
            },
            customdata=sizes,
            hovertemplate=f"%{{y}}, {said}<br>F1 %{{x:.3f}}<br>n = %{{customdata}}<extra></extra>",
        )
    for name, n in zip(names, sizes, strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(n), font={"size": look.size(14)})
    figure.update_xaxes(title="F1, n at the right", range=[-0.02, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8}, showlegend=False)
    return figure.drawn()
