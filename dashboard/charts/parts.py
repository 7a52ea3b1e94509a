"""What a model knows of each token of one sentence, and how its other learned numbers moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.attention import block
from dashboard.charts.numbers import number
from dashboard.charts.panels import Panels
from dashboard.charts.theme import Look, diverging, layer_colour, readable, sequential, shade, template

Floats = NDArray[np.floating]
NAMED = 48
"""Tokens whose words fit below the cells."""
WRITTEN = 16
"""Tokens whose values fit into the cells."""
PER_ROW = 3
"""Panels side by side."""


@dataclass(frozen=True)
class TokenRow:
    """One number for each token, under a name."""

    name: str
    values: Floats
    """(L,)."""
    direction: int = 1
    """What more of it means: 1 plus, −1 minus, 0 neither; see the colours of `token_rows`."""


def token_rows(
    rows: Sequence[TokenRow], tokens: Sequence[str], look: Look, *, label: str, top: float = 0, zero: float = 0
) -> go.Figure:
    """A cell for each token, a line for each row; the page colour is `zero`, and a row without direction has no other.

    Args:
        rows: At least one.
        tokens: L words.
        look: Theme and size.
        label: What the colour measures.
        top: How far from `zero` is full colour; 0: as far as the farthest value.
        zero: The value that means nothing.
    """
    t, size = look.tokens, look.size
    step = block(len(tokens))
    values = np.stack([_strongest(row.values, step) for row in rows])
    z = (values - zero) * np.array([[row.direction] for row in rows], np.float32)
    top = top or float(np.abs(z).max()) or 1.0
    signed = bool((z < 0).any())
    words = [escape(token) for token in tokens][::step]
    places = list(range(len(words)))
    axis: dict[str, Any] = {"tickvals": places, "ticktext": words, "tickangle": -40 if len(words) > 10 else 0}
    layout = {
        "template": template(look),
        "height": look.height(96 + 34 * len(rows)),
        "margin": {"t": size(6), "b": size(40)},
        "xaxis": {"showgrid": False, "tickfont": {"color": t.ink}, **axis}
        if len(words) <= NAMED
        else {"visible": False},
        "yaxis": {"autorange": "reversed", "showgrid": False, "tickfont": {"color": t.ink}},
    }
    trace = {
        "type": "heatmap",
        "z": z,
        "x": places,
        "y": [escape(row.name) for row in rows],
        "text": [words] * len(rows),
        "customdata": values,
        "zmin": -top if signed else 0,
        "zmax": top,
        "colorscale": diverging(t) if signed else sequential(t),
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": f"%{{text}}<br>{escape(label)} %{{customdata:.3f}}<extra>%{{y}}</extra>",
    }
    if len(words) <= WRITTEN:
        layout["annotations"] = [
            {
                "x": x,
                "y": y,
                "text": number(value, 2),
                "font": {"size": size(13), "color": readable(t, shade(t, z[y, x], top))},
            }
            for y, line in enumerate(values)
            for x, value in enumerate(line)
        ]
    return go.Figure({"data": [trace], "layout": layout})


def _strongest(values: Floats, step: int) -> Floats:
    """(L,) to one value of each block of a long text: the one that is largest in size."""
    parts = [values[start : start + step] for start in range(0, len(values), step)]
    return np.array([part[np.abs(part).argmax()] for part in parts], np.float32)


def token_bars(row: TokenRow, tokens: Sequence[str], look: Look, *, label: str) -> go.Figure:
    """A bar for each token, from 0 to 1."""
    t, step = look.tokens, block(len(tokens))
    words = [escape(token) for token in tokens][::step]
    places = list(range(len(words)))
    trace = {
        "type": "bar",
        "x": places,
        "y": _strongest(row.values, step),
        "marker": {"color": t.accent},
        "customdata": words,
        "hovertemplate": f"%{{customdata}}<br>{escape(label)} %{{y:.3f}}<extra>{escape(row.name)}</extra>",
    }
    layout = {
        "template": template(look),
        "height": look.height(210),
        "bargap": 0.25,
        "xaxis": {"tickvals": places, "ticktext": words, "tickangle": -40 if len(words) > 10 else 0}
        if len(words) <= NAMED
        else {"visible": False},
        "yaxis": {"range": [0, 1.02], "dtick": 0.5, "title": {"text": label}},
    }
    return go.Figure({"data": [trace], "layout": layout})


@dataclass(frozen=True)
class NumberLine:
    """One learned number over a training: x in epochs."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def numbers_course(lines: Mapping[str, Sequence[NumberLine]], epochs: int, look: Look) -> go.Figure:
    """A panel for each number, a line for each layer that has one of its own; the deeper the layer, the stronger.

    Args:
        lines: By name; one line for each layer, or a single one of the whole model.
        epochs: Planned.
        look: Theme and size.
    """
    t = look.tokens
    names = list(lines)
    titles = [
        [*names[i : i + PER_ROW], *[""] * (PER_ROW - len(names[i : i + PER_ROW]))]
        for i in range(0, len(names), PER_ROW)
    ]
    figure = Panels(
        look, titles, height=40 + 220 * len(titles), horizontal_spacing=0.09, vertical_spacing=0.44 / len(titles)
    )
    for index, (name, layers) in enumerate(lines.items()):
        at = {"row": index // PER_ROW + 1, "col": index % PER_ROW + 1}
        for layer, line in enumerate(layers):
            of = f"layer {layer + 1}" if len(layers) > 1 else "all layers"
            figure.add_scatter(
                x=line.x,
                y=line.y,
                mode="lines",
                line={"color": layer_colour(t, layer, len(layers)), "width": look.size(2.4)},
                hovertemplate=f"{of}<br>epoch %{{x:.1f}}<br>{escape(name)} %{{y:.4f}}<extra></extra>",
                **at,
            )
        figure.update_xaxes(range=[0, epochs], title="epoch", nticks=5, **at)
        figure.update_yaxes(nticks=5, exponentformat="none", **at)
    for index in range(len(names), len(titles) * PER_ROW):
        figure.update_xaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
        figure.update_yaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
    return figure.drawn()
