"""Embedding map as a chart: sentences as points, their density, and markers on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from core.error_analysis.clusters import FoundGroups
from core.error_analysis.predictions_table import cut_quarters, parse_dates
from core.evaluation.projection import Density
from core.exceptions import InputError
from core.formatting import count
from core.runs.record import LABEL
from core.text.graphemes import clip_text
from dashboard.figures.decisions import COLUMN, PHENOMENON, PREDICTED
from dashboard.figures.drawing import escape_text
from dashboard.figures.theme import Look, Tokens, blend_colors, build_template, color_classes

Floats = NDArray[np.floating]
COLORS = ("label", "prediction", "correctness", "confidence")
GROUP = "found group"  # name of the colouring by embedding clusters
OF = "label "  # prefix of the colouring by one label, if sentences may have several
KINDS = 6  # most categories with their own colour: more than six are hard to distinguish
MOSTLY = 0.5  # least share of coloured sentences that makes a column useful for colouring; a column of names is not
SHADE = 0.2  # share of ink where the density is highest; all point colours stay visible on it
LEGEND = 28  # most characters of a name in the legend
HELD = (0.1, 0.9, 0.2)  # shares of the points that the density contours enclose: from, to, step


@dataclass(frozen=True)
class PointGroup:
    """Points of an embedding map that share a colour."""

    name: str
    points: NDArray[np.integer]  # positions on the map
    color: str
    symbol: str = "circle"
    front: bool = False  # drawn larger and in front of the others


@dataclass(frozen=True)
class Shades:
    """Numeric value of each point on an embedding map, drawn as a colour on a scale."""

    title: str
    values: Floats
    low: float
    high: float


def list_colorings(points: pd.DataFrame) -> list[str]:
    """Return what the points of an embedding map can be coloured by, such as label, confidence or a data column."""
    bits = [f"{OF}{name.removeprefix(LABEL)}" for name in map(str, points) if name.startswith(LABEL)]
    first = [*bits, *(way for way in COLORS if way not in ("label", "prediction"))] if bits else list(COLORS)
    return [*first, *([PHENOMENON] if PHENOMENON in points else []), *_find_own_columns(points), GROUP]


def color_points(
    points: pd.DataFrame, way: str, classes: Sequence[str], tokens: Tokens, *, ordered: bool = False
) -> list[PointGroup] | Shades:
    """Colour the points of an embedding map: each group in its own colour, or by a number on a colour scale."""
    if way.startswith(OF):
        label = way.removeprefix(OF)
        has, found = (points[f"{prefix}{label}"].to_numpy() != 0 for prefix in (LABEL, PREDICTED))
        return [
            PointGroup("others", np.flatnonzero(~has & ~found), tokens.right),
            PointGroup(f"predicted {label}, wrong", np.flatnonzero(~has & found), tokens.wrong, "x"),
            PointGroup(f"{label}, missed", np.flatnonzero(has & ~found), tokens.categories[1], "diamond", front=True),
            PointGroup(f"{label}, found", np.flatnonzero(has & found), tokens.accent, front=True),
        ]
    if way == "confidence":
        least = 0.0 if any(str(name).startswith(LABEL) for name in points) else 1 / len(classes)
        return Shades("P(predicted)", points["probability"].to_numpy(float), least, 1.0)
    if way == "correctness":
        wrong = (points["label"] != points["predicted"]).to_numpy()
        return [
            PointGroup("correct", np.flatnonzero(~wrong), tokens.right),
            PointGroup("wrong", np.flatnonzero(wrong), tokens.wrong, "x", front=True),
        ]
    if way == PHENOMENON:
        return _group_kinds(points[PHENOMENON].astype(str), tokens)
    if way in (own := _find_own_columns(points)):
        values = own[way]
        if is_numeric_dtype(values) and values.nunique() > KINDS:
            return Shades(way, values.to_numpy(float), float(values.min()), float(values.max()))
        return _group_kinds(values.astype(str), tokens)
    column = points["label" if way == "label" else "predicted"].to_numpy()
    return [
        PointGroup(name, np.flatnonzero(column == name), color)
        for name, color in zip(classes, color_classes(tokens, classes, ordered=ordered), strict=True)
    ]


def color_groups(rows: NDArray[np.integer], found: FoundGroups | None, tokens: Tokens) -> list[PointGroup]:
    """Return the largest embedding clusters in colour; all other points are grey, behind them."""
    at = [(each.name, np.flatnonzero(np.isin(rows, each.places))) for each in (found.groups if found else ())]
    here = [(name, places) for name, places in at if len(places)]
    others = np.concatenate([np.empty(0, np.int64), *(places for _, places in here[KINDS:])])
    none = np.setdiff1d(np.arange(len(rows)), np.concatenate([np.empty(0, np.int64), *(places for _, places in at)]))
    rest = (("no cluster", none, "circle"), ("smaller clusters", others, "diamond"))
    gray = [PointGroup(name, places, tokens.right, symbol) for name, places, symbol in rest if len(places)]
    return [*gray, *_color_parts(here, tokens)]


def _color_parts(parts: Sequence[tuple[str, NDArray[np.integer]]], tokens: Tokens) -> list[PointGroup]:
    colored = zip(parts[:KINDS], tokens.categories, strict=False)
    return [PointGroup(name, places, color, front=True) for (name, places), color in colored]


def _find_own_columns(points: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the data columns that can colour a map, by option name: numeric ones, or ones with few distinct values."""
    found = {}
    for name in map(str, points):
        column = points[name]
        if not name.startswith(COLUMN) or column.nunique() < 2:
            continue
        column = _parse_column(column)
        numbers = is_numeric_dtype(column) and not is_bool_dtype(column) and np.isfinite(column.to_numpy(float)).all()
        if numbers or column.astype(str).value_counts(normalize=True).iloc[:KINDS].sum() >= MOSTLY:
            own = name.removeprefix(COLUMN)
            found[f"data {own}" if own in (*COLORS, GROUP) or own.startswith(OF) else own] = column
    return found


def _parse_column(column: pd.Series) -> pd.Series:
    """Parse a text column: as numbers (but all whole and different: row ids), as quarters of dates, or not at all."""
    if is_numeric_dtype(column) or is_bool_dtype(column):
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return column if column.is_unique and not (numbers % 1).any() else numbers
    try:
        times = parse_dates(column)
    except InputError:  # day and month are ambiguous
        times = None
    if times is None or times.nunique() <= KINDS:
        return column
    found = cut_quarters(times)
    return pd.Series(np.array(found.names, object)[found.place], column.index)


def _group_kinds(column: pd.Series, tokens: Tokens) -> list[PointGroup]:
    """Group map points by a column's most frequent values in colour; all others are grey, behind them."""
    order = list(column.value_counts().index[:KINDS])
    groups = _color_parts([(kind, np.flatnonzero(column == kind)) for kind in order], tokens)
    rest = np.flatnonzero(~column.isin(order))
    return [PointGroup("others", rest, tokens.right), *groups] if len(rest) else groups


@dataclass(frozen=True)
class PlacedSentence:
    """The user's typed sentence, with its position on an embedding map."""

    place: Floats
    text: str


@dataclass(frozen=True)
class MapOverlays:
    """Markers and density contours drawn on an embedding map in addition to its points."""

    marked: Sequence[int] = ()  # selected points; all others fade
    found: Sequence[int] = ()  # matches of the search, each with a ring in front
    wanted: str = ""  # the search text
    near: Sequence[int] = ()
    """Nearest neighbours of one sentence or of the marked ones, nearest first; each has a square."""
    center: int | None = None  # the row whose neighbours these are, if it is one row
    placed: PlacedSentence | None = None  # a typed sentence with its own marker
    names: Sequence[tuple[str, NDArray[np.integer]]] = ()
    """Group names with their points; each name is written at the median of its points."""
    density: Density | None = None  # only on a 2-D map


PLAIN = MapOverlays()


def draw_map(
    places: Floats,
    rows: NDArray[np.integer],
    words: Sequence[str],
    coloring: Sequence[PointGroup] | Shades,
    axes: Sequence[str],
    look: Look,
    upon: MapOverlays = PLAIN,
) -> go.Figure:
    """Draw an embedding map in two or three dimensions; each point carries its row number in the split.

    `places` are (m, k), `rows` (m,) of the split, `words` m unescaped hover texts or none, `axes` k titles, empty if a
    direction has no meaning; `coloring`: groups that cover all points, or a value for each.
    """
    figure, flat, t = go.Figure(layout={"template": build_template(look)}), places.shape[1] == 2, look.tokens
    if upon.density is not None and flat:
        _draw_density(figure, upon.density, look)
    shown = [escape_text(word) for word in words]
    groups = [PointGroup("", np.arange(len(places)), "")] if isinstance(coloring, Shades) else coloring
    for group in sorted(groups, key=lambda group: group.front):
        _draw_points(figure, places, rows, shown, group, coloring if isinstance(coloring, Shades) else None, look)
    if upon.marked and flat:  # as after a lasso selection
        for trace in figure.select_traces("scattergl"):
            trace.selectedpoints = np.flatnonzero(np.isin(trace.customdata, upon.marked)).tolist()
    elif upon.marked:  # a 3-D map has no selection: rings instead
        marker = {"size": look.scale_size(7), "symbol": "circle-open", "color": t.ink, "line": {"width": 3}}
        _add_markers(figure, places[np.isin(rows, upon.marked)], marker=marker, name="selected", hoverinfo="skip")
    _draw_markers(figure, places, rows, shown, upon, look)
    if upon.placed is not None:
        size, name = look.scale_size(17 if flat else 9), "your sentence"
        marker = {"size": size, "symbol": "diamond", "color": t.accent, "line": {"color": t.paper, "width": 3}}
        said: dict[str, Any] = {"hovertext": escape_text(clip_text(upon.placed.text, 80)), "name": name}
        hover = f"{name}<br>%{{hovertext}}<extra></extra>"
        _add_markers(figure, upon.placed.place[None], marker=marker, hovertemplate=hover, **said)
    for name, at in upon.names if flat else ():
        x, y = np.median(places[at], axis=0)
        font = {"color": t.ink, "size": look.scale_size(13.5)}
        box = {"bgcolor": t.paper, "bordercolor": t.grid, "borderpad": 2, "opacity": 0.92}
        above = look.scale_size(18)  # a small group stays visible
        figure.add_annotation(x=float(x), y=float(y), text=escape_text(name), yshift=above, font=font, **box)
    many = not isinstance(coloring, Shades)
    legend = {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0, "itemsizing": "constant"}
    figure.update_layout(_make_flat_axes(axes, look) if flat else _make_3d_axes(axes, look), showlegend=many)
    figure.update_layout(height=525 if flat else look.scale_height(620), uirevision="map", legend=legend)
    # The buttons are at the side, since the legend is above the points.
    return figure.update_layout(margin={"t": look.scale_size(34) if many else 8}, modebar={"orientation": "v"})


def _add_markers(figure: go.Figure, places: Floats, *, fades: float = 0, **trace: Any) -> None:
    """Add markers to an embedding map; on a 2-D map all share one layer, since a second layer would hide the first."""
    if places.shape[1] == 3:
        x, y, z = places.T
        figure.add_scatter3d(x=x, y=y, z=z, mode="markers", **trace)
        return
    kept = {"marker": {"opacity": 1}}
    chosen = {"selected": kept, "unselected": {"marker": {"opacity": fades}}} if fades else {}
    figure.add_scattergl(x=places[:, 0], y=places[:, 1], mode="markers", **trace, **chosen)


def _make_hover(shown: Sequence[str], at: Sequence[int] | NDArray[np.integer]) -> dict[str, Any]:
    return {"text": [shown[i] for i in at], "hovertemplate": "%{text}<extra></extra>"} if shown else {}


def _format_name(name: str, n: int, look: Look) -> str:
    return f"{name} <span style='color:{look.tokens.muted}'>n = {count(n)}</span>"


def _draw_density(figure: go.Figure, density: Density, look: Look) -> None:
    t, (start, end, step) = look.tokens, HELD
    contours: dict[str, Any] = {"start": start, "end": end, "size": step, "coloring": "fill"}
    scale = [[i / 5, blend_colors(t.paper, t.ink, SHADE * i / 5)] for i in range(6)]
    line = {"color": blend_colors(t.paper, t.ink, 2 * SHADE), "width": look.scale_size(0.8), "smoothing": 1}
    style = {"contours": contours, "colorscale": scale, "zmin": 0, "zmax": 1, "showscale": False, "hoverinfo": "skip"}
    figure.add_contour(x=density.x, y=density.y, z=1 - density.held, line=line, **style)


def _draw_markers(
    figure: go.Figure, places: Floats, rows: NDArray[np.integer], shown: Sequence[str], upon: MapOverlays, look: Look
) -> None:
    t, place = look.tokens, {row: at for at, row in enumerate(rows.tolist())}
    kinds = (
        (f"with “{upon.wanted}”", upon.found, "circle-open", t.ink, 10),
        ("nearest", upon.near, "square-open", t.accent, 14),
        ("the sentence", () if upon.center is None else (upon.center,), "diamond", t.accent, 17),
    )
    for name, of, symbol, color, size in kinds:
        if not (at := [place[row] for row in of if row in place]):
            continue
        edge, width = (t.paper, 3) if symbol == "diamond" else (color, look.scale_size(1.5))
        pixels = look.scale_size(size * (0.55 if places.shape[1] == 3 else 1))
        said = escape_text(clip_text(name, LEGEND, "…”"))
        said = said if len(of) == 1 else _format_name(said, len(at), look)
        marker = {"symbol": symbol, "color": color, "size": pixels, "line": {"color": edge, "width": width}}
        told = {"name": said, "customdata": [int(rows[each]) for each in at], **_make_hover(shown, at)}
        _add_markers(figure, places[at], fades=1, marker=marker, **told)


def _draw_points(
    figure: go.Figure,
    places: Floats,
    rows: NDArray[np.integer],
    shown: Sequence[str],
    group: PointGroup,
    shades: Shades | None,
    look: Look,
) -> None:
    at, deep = group.points, places.shape[1] == 3
    size = look.scale_size((7 if group.front else 6) if len(places) <= 1500 else 5 if group.front else 4)
    size *= 0.6 if deep else 1  # a 3-D map draws crosses thick
    marker = {"size": size, "symbol": group.symbol, "opacity": 0.9 if group.front else 0.7, "color": group.color}
    if shades is not None:
        bar = {"title": {"text": shades.title}, "thickness": 12, "outlinewidth": 0, "tickformat": ".1f"}
        bar |= {"len": 0.6, "y": 0, "yanchor": "bottom"}  # below the buttons
        marker |= {"color": shades.values, "cmin": shades.low, "cmax": shades.high, "colorbar": bar}
        marker["colorscale"] = [[i / 3, color] for i, color in enumerate(look.tokens.ordinal)]
    told = {"name": _format_name(escape_text(group.name), len(at), look), "customdata": rows[at].tolist()}
    text = _make_hover(shown, at) or {"hoverinfo": "skip"}
    _add_markers(figure, places[at], fades=0.15, marker=marker, **told, **text)


def _make_flat_axes(axes: Sequence[str], look: Look) -> dict[str, Any]:
    bare = {"showgrid": False, "showticklabels": False, "zeroline": False}
    across, up = ({**bare, "title": {"text": name}} for name in axes)
    line = {"color": look.tokens.accent, "width": 2, "dash": "solid"}
    modes = {"dragmode": "lasso", "clickmode": "event+select", "newselection": {"line": line}}
    return {"xaxis": across, "yaxis": {**up, "scaleanchor": "x"}, **modes}


def _make_3d_axes(axes: Sequence[str], look: Look) -> dict[str, Any]:
    font = {"size": look.scale_size(13), "color": look.tokens.muted}
    side = {"showticklabels": False, "gridcolor": look.tokens.grid, "showbackground": False}
    side |= {"zeroline": False, "showspikes": False}
    scene = {f"{at}axis": {**side, "title": {"text": name, "font": font}} for at, name in zip("xyz", axes, strict=True)}
    return {"scene": {**scene, "aspectmode": "data", "dragmode": "orbit"}}
