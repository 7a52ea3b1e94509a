"""A map of sentences as a chart: points, what lies behind them, and what is marked upon them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.evaluation.projection import Density
from core.text.clusters import clipped
from dashboard.figures.map_colours import Floats, Group, Shades
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count
from dashboard.figures.theme import Look, blend, template

SHADE = 0.2
"""Ink in the densest of the field behind the points: quiet enough for every colour upon it."""
LEGEND = 28
"""Characters of a name in the legend."""
HELD = (0.1, 0.9, 0.2)
"""Shares of the points that the lines of the field enclose: from, to, step."""


@dataclass(frozen=True)
class Placed:
    """The typed sentence."""

    place: Floats
    text: str


@dataclass(frozen=True)
class Upon:
    """What is drawn besides the points; rows are those of the split."""

    marked: Sequence[int] = ()
    """Selected; all others fade."""
    found: Sequence[int] = ()
    """That contain what was searched: a ring each, above all."""
    wanted: str = ""
    """What was searched."""
    near: Sequence[int] = ()
    """The nearest to one sentence, or to the marked ones, the nearest first; a square each."""
    centre: int | None = None
    """The row whose neighbours these are, where it is one."""
    placed: Placed | None = None
    """A further sentence with a mark of its own."""
    names: Sequence[tuple[str, NDArray[np.integer]]] = ()
    """Groups by name, each at the middle of its positions on the map."""
    density: Density | None = None
    """Behind a map of two dimensions."""


PLAIN = Upon()


def draw_map(
    places: Floats,
    rows: NDArray[np.integer],
    words: Sequence[str],
    colouring: Sequence[Group] | Shades,
    axes: Sequence[str],
    look: Look,
    upon: Upon = PLAIN,
) -> go.Figure:
    """The map. Points carry `customdata` = their row of the split.

    Args:
        places: (m, k), k = 2 or 3.
        rows: (m,) rows of the split.
        words: m texts to show when pointed at, unescaped; empty for none.
        colouring: Groups that together are all points, or a value for each.
        axes: k titles; empty where a direction means nothing.
        look: Theme and size.
        upon: What is drawn besides.
    """
    figure = go.Figure(layout={"template": template(look)})
    if upon.density is not None and places.shape[1] == 2:
        _field(figure, upon.density, look)
    shown = [escape_text(word) for word in words]
    groups = [Group("", np.arange(len(places)), "")] if isinstance(colouring, Shades) else colouring
    for group in sorted(groups, key=lambda group: group.front):
        _points(figure, places, rows, shown, group, colouring if isinstance(colouring, Shades) else None, look)
    if upon.marked:
        _select(figure, places, rows, upon.marked, look)
    _marks(figure, places, rows, shown, upon, look)
    if upon.placed is not None:
        _mark(figure, upon.placed, look)
    if places.shape[1] == 2:
        _names(figure, places, upon.names, look)
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


def _field(figure: go.Figure, density: Density, look: Look) -> None:
    """Lines that enclose equal shares of the points; only lightness tells them apart."""
    t, (start, end, step) = look.tokens, HELD
    figure.add_contour(
        x=density.x,
        y=density.y,
        z=1 - density.held,
        contours={"start": start, "end": end, "size": step, "coloring": "fill"},
        colorscale=[[i / 5, blend(t.paper, t.ink, SHADE * i / 5)] for i in range(6)],
        zmin=0,
        zmax=1,
        line={"color": blend(t.paper, t.ink, 2 * SHADE), "width": look.size(0.8), "smoothing": 1},
        showscale=False,
        hoverinfo="skip",
    )


def _marks(
    figure: go.Figure,
    places: Floats,
    rows: NDArray[np.integer],
    shown: Sequence[str],
    upon: Upon,
    look: Look,
) -> None:
    """Open marks around points, in front of all of them; each of another shape."""
    t, place = look.tokens, {row: at for at, row in enumerate(rows.tolist())}
    kinds = (
        (f"with “{upon.wanted}”", upon.found, "circle-open", t.ink, 10),
        ("nearest", upon.near, "square-open", t.accent, 14),
        ("the sentence", () if upon.centre is None else (upon.centre,), "diamond", t.accent, 17),
    )
    for name, of, symbol, colour, size in kinds:
        at = [place[row] for row in of if row in place]
        if not at:
            continue
        deep = places.shape[1] == 3
        line = {"color": t.paper, "width": 3} if symbol == "diamond" else {"color": colour, "width": look.size(1.5)}
        marker = {"symbol": symbol, "color": colour, "size": look.size(size * (0.55 if deep else 1)), "line": line}
        said = escape_text(clipped(name, LEGEND, "…”"))
        common = {
            "name": said if len(of) == 1 else f"{said} <span style='color:{t.muted}'>n = {count(len(at))}</span>",
            "mode": "markers",
            "marker": marker,
            "customdata": [int(rows[each]) for each in at],
            **({"text": [shown[i] for i in at], "hovertemplate": "%{text}<extra></extra>"} if shown else {}),
        }
        if deep:
            figure.add_scatter3d(x=places[at, 0], y=places[at, 1], z=places[at, 2], **common)
        else:
            stays = {"marker": {"opacity": 1}}
            figure.add_scattergl(x=places[at, 0], y=places[at, 1], **common, selected=stays, unselected=stays)


def _names(figure: go.Figure, places: Floats, names: Sequence[tuple[str, NDArray[np.integer]]], look: Look) -> None:
    """The name of each group over the middle of its points."""
    t = look.tokens
    for name, at in names:
        x, y = np.median(places[at], axis=0)
        figure.add_annotation(
            x=float(x),
            y=float(y),
            text=escape_text(name),
            yshift=look.size(18),  # above them, so that a small group is not covered
            font={"color": t.ink, "size": look.size(13.5)},
            bgcolor=t.paper,
            bordercolor=t.grid,
            borderpad=2,
            opacity=0.92,
        )


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
        "name": f"{escape_text(group.name)} <span style='color:{t.muted}'>n = {count(len(at))}</span>",
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


def _select(figure: go.Figure, places: Floats, rows: NDArray[np.integer], marked: Sequence[int], look: Look) -> None:
    """As if they had been drawn around; in space, where nothing can be selected, with a ring each."""
    if places.shape[1] == 2:
        for trace in figure.select_traces("scattergl"):
            trace.selectedpoints = np.flatnonzero(np.isin(trace.customdata, marked)).tolist()
        return
    x, y, z = places[np.isin(rows, marked)].T
    marker = {"size": look.size(7), "symbol": "circle-open", "color": look.tokens.ink, "line": {"width": 3}}
    figure.add_scatter3d(x=x, y=y, z=z, mode="markers", marker=marker, name="selected", hoverinfo="skip")


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
        "hovertext": escape_text(clipped(placed.text, 80)),
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
