"""Where sentences lie on a map, and how clearly each stands with its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.numbers import count, number
from dashboard.charts.panels import Panels
from dashboard.charts.theme import Look, spread, template

HOVERED = 5_000
"""Above so many points their texts would weigh more than the figure; they are read by selecting."""
TOOLS = ("lasso2d", "select2d", "zoom2d", "pan2d", "resetScale2d")
Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Group:
    """Points that share a colour."""

    name: str
    points: NDArray[np.integer]
    """Positions on the map."""
    colour: str
    symbol: str = "circle"
    front: bool = False
    """Drawn above the others, a little larger."""


@dataclass(frozen=True)
class Shades:
    """One value for each point instead of groups."""

    title: str
    values: Floats
    low: float
    high: float


@dataclass(frozen=True)
class Placed:
    """The typed sentence."""

    place: Floats
    text: str


def scatter(
    places: Floats,
    rows: NDArray[np.integer],
    words: Sequence[str],
    colouring: Sequence[Group] | Shades,
    axes: Sequence[str],
    look: Look,
    *,
    placed: Placed | None = None,
) -> go.Figure:
    """The map. Points carry `customdata` = their row of the split.

    Args:
        places: (m, k), k = 2 or 3.
        rows: (m,) rows of the split.
        words: m texts to show when pointed at, unescaped; empty for none.
        colouring: Groups that together are all points, or a value for each.
        axes: k titles; empty where a direction means nothing.
        look: Theme and size.
        placed: A further sentence with a mark of its own.
    """
    figure = go.Figure(layout={"template": template(look)})
    shown = [escape(word) for word in words]
    groups = [Group("", np.arange(len(places)), "")] if isinstance(colouring, Shades) else colouring
    for group in sorted(groups, key=lambda group: group.front):
        _points(figure, places, rows, shown, group, colouring if isinstance(colouring, Shades) else None, look)
    if placed is not None:
        _mark(figure, placed, look)
    (_flat if places.shape[1] == 2 else _deep)(figure, axes, look)
    many = not isinstance(colouring, Shades)
    figure.update_layout(
        height=look.height(560 if places.shape[1] == 2 else 620),
        margin={"t": look.size(34) if many else 8},
        showlegend=many,
        legend={"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
        uirevision="map",
        modebar={"orientation": "v"},  # beside the points: above them stands the legend
    )
    return figure


def _points(
    figure: go.Figure,
    places: Floats,
    rows: NDArray[np.integer],
    shown: Sequence[str],
    group: Group,
    shades: Shades | None,
    look: Look,
) -> None:
    t, at = look.tokens, group.points
    size = look.size((7 if group.front else 6) if len(places) <= 1500 else 5 if group.front else 4)
    marker = {"size": size, "symbol": group.symbol, "opacity": 0.9 if group.front else 0.7, "color": group.colour}
    if shades is not None:
        bar = {"title": {"text": shades.title}, "thickness": 12, "outlinewidth": 0, "tickformat": ".1f"}
        bar |= {"len": 0.6, "y": 0, "yanchor": "bottom"}  # below the buttons
        marker |= {"color": shades.values, "cmin": shades.low, "cmax": shades.high, "colorbar": bar}
        marker["colorscale"] = [[i / 3, colour] for i, colour in enumerate(t.ordinal)]
    text = {"text": [shown[i] for i in at], "hovertemplate": "%{text}<extra></extra>"} if shown else {}
    common = {
        "name": f"{escape(group.name)} <span style='color:{t.muted}'>n = {count(len(at))}</span>",
        "mode": "markers",
        "marker": marker,
        "customdata": rows[at].tolist(),
        **(text or {"hoverinfo": "skip"}),
    }
    if places.shape[1] == 3:
        figure.add_scatter3d(x=places[at, 0], y=places[at, 1], z=places[at, 2], **_solid(common))
        return
    figure.add_scattergl(
        x=places[at, 0],
        y=places[at, 1],
        **common,
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0.15}},
    )


def _solid(common: dict[str, object]) -> dict[str, object]:
    """In space a cross is drawn thick, and markers need half the size."""
    marker = dict(common["marker"])  # type: ignore[call-overload]
    marker["size"] = marker["size"] * 0.6
    return {**common, "marker": marker}


def _mark(figure: go.Figure, placed: Placed, look: Look) -> None:
    t = look.tokens
    marker = {"size": look.size(17), "symbol": "diamond", "color": t.accent, "line": {"color": t.paper, "width": 3}}
    name = "your sentence"
    common = {
        "name": name,
        "mode": "markers",
        "hovertext": escape(placed.text[:80]),
        "hovertemplate": f"{name}<br>%{{hovertext}}<extra></extra>",
    }
    if len(placed.place) == 3:
        x, y, z = ([value] for value in placed.place)
        figure.add_scatter3d(x=x, y=y, z=z, marker={**marker, "size": look.size(9)}, **common)
    else:
        x, y = ([value] for value in placed.place)
        figure.add_scattergl(x=x, y=y, marker=marker, **common)  # in the same layer, above the points


def _flat(figure: go.Figure, axes: Sequence[str], look: Look) -> None:
    bare = {"showgrid": False, "showticklabels": False, "zeroline": False}
    figure.update_xaxes(title_text=axes[0], **bare)
    figure.update_yaxes(title_text=axes[1], scaleanchor="x", **bare)
    figure.update_layout(
        dragmode="lasso",
        clickmode="event+select",
        newselection={"line": {"color": look.tokens.accent, "width": 2, "dash": "solid"}},
    )


def _deep(figure: go.Figure, axes: Sequence[str], look: Look) -> None:
    t = look.tokens
    names = ("xaxis", "yaxis", "zaxis")
    side = {
        "showticklabels": False,
        "gridcolor": t.grid,
        "showbackground": False,
        "zeroline": False,
        "showspikes": False,
    }
    font = {"size": look.size(13), "color": t.muted}
    scene = {name: {**side, "title": {"text": title, "font": font}} for name, title in zip(names, axes, strict=True)}
    figure.update_layout(scene={**scene, "aspectmode": "data", "dragmode": "orbit"})


@dataclass(frozen=True)
class Spectrum:
    """Silhouettes of one space, by class."""

    title: str
    overall: float
    classes: tuple[tuple[str, Floats], ...]
    """Name, and its samples in rising order."""


def silhouettes(spaces: Sequence[Spectrum], colours: Sequence[str], look: Look) -> go.Figure:
    """Silhouette plots side by side: a bar for each sentence, sorted within its class, with means.

    Args:
        spaces: One panel each; the classes are the same in all.
        colours: One for each class.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[space.title for space in spaces]], height=130 + 80 * len(colours), horizontal_spacing=0.06)
    n = sum(len(samples) for _, samples in spaces[0].classes)
    gap = max(1, round(0.06 * n))
    for column, space in enumerate(spaces, start=1):
        place = {"row": 1, "col": column}
        base, names, middles = 0, [], []
        # From the bottom upwards, so that the first class stands on top.
        for (name, samples), colour in reversed(list(zip(space.classes, colours, strict=True))):
            heights = base + np.arange(len(samples))
            mean = float(samples.mean())
            figure.add_scatter(
                x=samples,
                y=heights,
                fill="tozerox",
                mode="lines",
                line={"color": colour, "width": 1, "shape": "vh"},
                hovertemplate=f"{escape(name)}<br>silhouette %{{x:.3f}}<extra></extra>",
                **place,
            )
            ends = [heights[0], heights[-1]]
            figure.add_scatter(
                x=[mean, mean], y=ends, mode="lines", line={"color": t.ink, "width": 2}, hoverinfo="skip", **place
            )
            names.append(f"{escape(name)} <b>{number(mean)}</b><br>n = {count(len(samples))}")
            middles.append(sum(ends) / 2)
            base += len(samples) + gap
        for name, height in zip(names, spread(middles, 0.42 * (n + gap * len(names)) / len(names)), strict=True):
            figure.add_annotation(
                x=-0.99, y=height, xanchor="left", align="left", text=name, font={"color": t.ink}, **place
            )
        figure.add_vline(x=space.overall, line={"color": t.ink, "width": 1.2, "dash": "dot"}, **place)
        figure.add_annotation(
            x=space.overall,
            y=base,
            xanchor="left",
            xshift=6,
            text=f"all {number(space.overall)}",
            font={"color": t.ink},
            **place,
        )
        figure.add_vline(x=0, line={"color": t.ink, "width": 1}, **place)
    figure.update_xaxes(range=[-1, 1], tickvals=[-1, -0.5, 0, 0.5, 1], title="silhouette")
    figure.update_yaxes(showticklabels=False, showgrid=False, range=[-gap, n + gap * (len(colours) + 1)])
    return figure.drawn()
