"""Kinds of drawings (charts, tables and browser components) for pages, notebooks and HTML files that work offline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.formatting import count, number
from dashboard.figures.theme import SANS, Look, build_template, make_config, spread_labels

if TYPE_CHECKING:
    import pandas as pd

Node = str | list[Any]
EMPTY = frozenset({"col", "br"})  # tags without an end tag
NOTHING = "–"  # shown in a cell without a value
TITLE = 60  # pixels of a title above an exported chart; on a page the heading replaces it
_TITLE_PAD = {"t": 14, "l": 12, "b": 24}
_DEAF = "setStateValue: () => {}, setTriggerValue: () => {}, send: () => {}"
"""Outside of pages, selections have no receiver."""
_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "\n": "\u21b5", "\r": "\u21b5", "\t": " "}
"""Characters that Plotly reads as markup or as a template field (`%{x}`), and line breaks, which it shows as blanks."""
_ESCAPES = str.maketrans({**dict.fromkeys(map(chr, (*range(32), *range(127, 160))), "\ufffd"), **_SIGNS})


def escape_text(text: str) -> str:
    """Escape a text for Plotly: for names, labels, titles, axes and hover templates.

    Quotation marks stay, since Plotly has no entities for them. A line break becomes a visible sign.
    """
    return text.replace("\r\n", "\n").translate(_ESCAPES)


def make_node(tag: str, *children: Node | None, **attributes: str) -> Node:
    """Return an HTML node; in attribute names a final `_` is dropped, and any other `_` becomes a dash."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return [tag, named, *(child for child in children if child is not None)]


def write_node(node: Node) -> str:
    """Write a node tree (tag, attributes, children) as HTML."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, *children = node
    head = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{head}>" + ("" if tag in EMPTY else "".join(map(write_node, children)) + f"</{tag}>")


ASSETS = Path(__file__).parent.parent / "assets"


@cache
def read_asset(name: str) -> str:
    """Read a style sheet or script of the dashboard from `assets/`, cached."""
    return (ASSETS / name).read_text(encoding="utf-8")


def to_draw_script(script: str) -> str:
    """Convert a browser component's JavaScript module to a script that defines the function `draw`."""
    return script.replace("export default", "const draw =")


class SerializedChart(go.Figure):
    """Plotly chart that is serialised once and then shown many times."""

    def __init__(self, drawn: go.Figure) -> None:
        super().__init__()
        self.__dict__["_words"] = drawn.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the serialised Plotly chart, which callers must not change."""
        words: dict[str, Any] = self.__dict__["_words"]
        return words


@dataclass(frozen=True)
class TableColumn:
    """Heading and format of a column in a plain table."""

    label: str = ""  # empty: the column's name
    help: str = ""
    decimals: int | None = None  # None: whole numbers, or text
    alignment: Literal["left", "right"] | None = None  # None: text is left-aligned, numbers are right-aligned
    width: int | None = None  # pixels on a page; None: automatic


@dataclass(frozen=True)
class DataTable:
    """Plain table of data, with optional headings and number formats for named columns."""

    rows: pd.DataFrame
    columns: Mapping[str, TableColumn] = field(default_factory=dict)
    narrow: bool = False  # on a page it is as wide as its content, not as the page
    title: str = ""  # heading outside of pages

    def to_html(self) -> str:
        """Write a table as HTML without a style of its own; texts are escaped."""
        names = list(map(str, self.rows))
        usual = {name: "right" if self.rows[name].dtype.kind in "iuf" else "left" for name in names}
        columns = [(each := self.columns.get(name, TableColumn()), each.alignment or usual[name]) for name in names]
        head, body = [], []
        for name, (column, side) in zip(names, columns, strict=True):
            more = {"style": f"text-align:{side}"} | ({"title": column.help} if column.help else {})
            head.append(make_node("th", column.label or name, scope="col", **more))
        for row in self.rows.itertuples(index=False, name=None):
            cells = ((_format_cell(value, each.decimals), at) for value, (each, at) in zip(row, columns, strict=True))
            body.append(make_node("tr", *(make_node("td", text, style=f"text-align:{side}") for text, side in cells)))
        caption = make_node("caption", self.title) if self.title else None
        parts = make_node("thead", make_node("tr", *head)), make_node("tbody", *body)
        return write_node(make_node("table", caption, *parts))

    def _repr_html_(self) -> str:
        return self.to_html()


def _format_cell(value: Any, decimals: int | None) -> str:
    if value is None or value != value:
        return NOTHING
    if isinstance(value, Integral) and not isinstance(value, bool):
        return count(int(value))
    return number(float(value), 3 if decimals is None else decimals) if isinstance(value, Real) else str(value)


@dataclass(frozen=True)
class Component:
    """Drawing by a browser component of the dashboard, whose script and style sheet lie in `assets/`.

    The script is a module whose default export takes `data` and `parentElement`, which contains an element of the class
    `name`. It inserts user text only as text, never as HTML. Exported files and notebooks run the same script.
    """

    name: str
    data: Mapping[str, Any]  # plain values for JSON
    look: Look
    title: str = ""  # heading outside of pages
    still: Callable[[], str] | None = None
    """Returns HTML that shows the same without a script, for exported files; None: the script draws there, too."""
    frame: str = ""  # a component whose script calls this one's and draws around it, in an element of the class `frame`

    @property
    def script(self) -> str:
        """Return the JavaScript module that draws a browser component."""
        return "\n".join(read_asset(f"{name}.js") for name in (self.name, self.frame) if name)

    @property
    def style(self) -> str:
        """Return the style sheet of a browser component; it may use the variables of Streamlit's theme."""
        return "\n".join(read_asset(f"{name}.css") for name in (self.frame, self.name) if name)

    @property
    def root(self) -> str:
        """Return the empty HTML element, as text, that a browser component's script fills."""
        return f'<div class="{self.frame or self.name}"></div>'

    def to_html(self, place: str) -> str:
        """Write a browser component as HTML that draws itself; `place` is the id of its element in the document."""
        t = self.look.tokens
        theme = {"font": SANS, "text-color": t.ink, "background-color": t.paper, "primary-color": t.accent}
        colors = "".join(f"--st-{name}:{value};" for name, value in theme.items())
        told = json.dumps(self.data, ensure_ascii=False).replace("<", "\\u003c")  # no text can close the script tag
        call = f'draw({{data: {told}, parentElement: document.getElementById("{place}"), {_DEAF}}});'
        title = f"<p>{escape(self.title)}</p>" if self.title else ""
        if self.still is not None:
            return f'<div id="{place}">{title}{self.still()}</div>'
        return (
            f'<div id="{place}" style="{colors}"><style>{self.style}</style>{title}{self.root}</div>'
            f"<script>(() => {{\n{to_draw_script(self.script)}\n{call}\n}})();</script>"
        )

    def _repr_html_(self) -> str:
        return self.to_html(f"sentiscope-{self.name}-{id(self)}")


Drawing: TypeAlias = go.Figure | DataTable | Component


def add_title(drawing: Drawing, words: str) -> Drawing:
    """Return a drawing with a heading added, for use outside a page."""
    if not isinstance(drawing, go.Figure):
        return replace(drawing, title=words)
    drawing.update_layout(title={"text": words, "x": 0, "yref": "container", "automargin": True, "pad": _TITLE_PAD})
    return drawing.update_layout(height=drawing.layout.height + TITLE) if drawing.layout.height else drawing


def write_fragment(drawing: Drawing, name: str, *, plotly: bool) -> str:
    """Write a drawing (chart, table or component) as a part of an HTML document.

    `name` is the id of its element; with `plotly`, a chart includes plotly.js (5 MB), because the document does not.
    """
    if isinstance(drawing, go.Figure):
        return drawing.to_html(full_html=False, include_plotlyjs=plotly, config=make_config(name), div_id=name)
    return drawing.to_html() if isinstance(drawing, DataTable) else drawing.to_html(name)


FEW_ROWS = 4  # a matrix with fewer rows has large cells
INSIDE = dict[str, Any](textposition="inside", insidetextanchor="middle", textangle=0, constraintext="none")
"""Style of bars with a text in their middle."""


class Panels:
    """Grid of chart panels, each with its title at its top left corner.

    A style is (colour, or None for the trace's own; width or size before it is scaled), and then a dash or symbol.
    Plotly validates the whole figure after each added part, which takes 120 ms for six panels: so parts are collected
    here by methods with the names of Plotly's, and all are drawn at once in 15 ms.
    """

    def __init__(self, look: Look, titles: Sequence[Sequence[str]], *, height: int, **grid: Any) -> None:
        self.look, self.rows, self.columns = look, len(titles), len(titles[0])
        self.traces: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        self.shapes: list[dict[str, Any]] = []
        self.axes = {name: dict(axis) for name, axis in _make_axes(self.rows, self.columns, **grid).items()}
        self.layout: dict[str, Any] = {
            "template": build_template(look),
            "height": look.scale_height(height),
            "margin": {"t": look.scale_size(32)},
        }
        font = {"color": look.tokens.ink, "size": look.scale_size(15)}
        corner = {"x": 0, "y": 1, "yshift": 4, "xanchor": "left", "yanchor": "bottom", "font": font}
        corner |= {"xref": "x domain", "yref": "y domain"}
        for row, names in enumerate(titles, start=1):
            for column, title in enumerate(names, start=1):
                if title:
                    self.add_annotation(row=row, col=column, **corner, text=title)

    def add_scatter(self, **trace: Any) -> None:
        """Add lines, points or both, of the styles `stroke` and `dots`, to the panel `row`, `col`; `hover`: label."""
        stroke, dots = (trace.pop(name, ()) for name in ("stroke", "dots"))
        if stroke or dots:
            trace = {"mode": "+".join(["lines"] * bool(stroke) + ["markers"] * bool(dots)), **trace}
        for name, style, keys in (("line", stroke, ("width", "dash")), ("marker", dots, ("size", "symbol"))):
            if style:
                color, size, *kind = style
                drawn = ({} if color is None else {"color": color}) | {keys[0]: self.look.scale_size(size)}
                trace[name] = drawn | dict(zip(keys[1:], kind, strict=False)) | trace.get(name, {})
        self._add_trace("scatter", trace)

    def add_band(self, x: Any, ends: Iterable[Iterable[float]], color: str, *, col: int = 1) -> None:
        """Fill the area between two lines over the same x (`ends`: lower and upper) with a pale colour."""
        low, high = (list(each) for each in ends)
        area: dict[str, Any] = {"mode": "none", "fill": "toself", "fillcolor": color, "opacity": 0.16}
        area |= {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]], "hoverinfo": "skip", "showlegend": False}
        self.add_scatter(col=col, **area)

    def add_end_labels(self, ends: Sequence[tuple[str, float, str]], gap: float, **place: Any) -> None:
        """Write the names of lines at their ends, as (name, height, colour), moved apart so that none overlap."""
        heights = spread_labels([height for _, height, _ in ends], gap)
        for (name, _, color), height in zip(ends, heights, strict=True):
            style = {"xanchor": "left", "font": {"color": color}, **place}
            self.add_annotation(y=height, text=name, **style)

    def add_bar(self, **trace: Any) -> None:
        """Add a trace of bars to the chart panel `row`, `col`; `hover`: what their label says."""
        self._add_trace("bar", trace)

    def add_box(self, **trace: Any) -> None:
        """Add a box of quartiles to the chart panel `row`, `col`."""
        self._add_trace("box", trace)

    def add_annotation(self, *, row: int = 1, col: int = 1, **annotation: Any) -> None:
        """Add a text to a chart panel, positioned in data units or relative to the panel."""
        number = self._number_axis(row, col)
        for letter in "xy":
            domain = " domain" if "domain" in annotation.get(f"{letter}ref", "") else ""
            annotation[f"{letter}ref"] = f"{letter}{number}{domain}"
        self.annotations.append(annotation)

    def add_shape(self, *, row: int = 1, col: int = 1, **shape: Any) -> None:
        """Add a rectangle or a line to a chart panel, in the units of its axes."""
        number = self._number_axis(row, col)
        self.shapes.append({"xref": f"x{number}", "yref": f"y{number}", **shape})

    def add_hline(self, y: float, *, row: int = 1, col: int = 0, **shape: Any) -> None:
        """Add a horizontal line across one chart panel, or across every panel of a row if `col` is not given."""
        for column in [col] if col else range(1, self.columns + 1):
            across = {"x0": 0, "x1": 1, "xref": f"x{self._number_axis(row, column)} domain"}
            self.add_shape(type="line", y0=y, y1=y, row=row, col=column, **across, **shape)

    def add_vline(self, x: float, *, row: int = 1, col: int = 1, **shape: Any) -> None:
        """Add a vertical line to a chart panel, from its bottom to its top."""
        upwards = {"y0": 0, "y1": 1, "yref": f"y{self._number_axis(row, col)} domain"}
        self.add_shape(type="line", x0=x, x1=x, row=row, col=col, **upwards, **shape)

    def update_xaxes(self, *, row: int = 0, col: int = 0, **axis: Any) -> None:
        """Set up the x axis of one chart panel, of all panels in a row or column, or of all panels."""
        self._update_axes("x", row, col, axis)

    def update_yaxes(self, *, row: int = 0, col: int = 0, **axis: Any) -> None:
        """Set up the y axis of one chart panel, of all panels in a row or column, or of all panels."""
        self._update_axes("y", row, col, axis)

    def update_layout(self, **layout: Any) -> None:
        """Set up the layout of the whole chart; margins that are not given stay as they are."""
        self.layout |= layout | {"margin": {**self.layout["margin"], **layout.get("margin", {})}}

    def build_figure(self) -> go.Figure:
        """Return the Plotly figure of all chart panels."""
        parts = {"annotations": self.annotations, "shapes": self.shapes}
        return go.Figure({"data": self.traces, "layout": {**self.layout, **self.axes, **parts}})

    def _add_trace(self, kind: str, trace: dict[str, Any]) -> None:
        number = self._number_axis(trace.pop("row", 1), trace.pop("col", 1))
        hover = {"hovertemplate": f"{trace.pop('hover')}<extra></extra>"} if "hover" in trace else {}
        self.traces.append({"type": kind, "xaxis": f"x{number}", "yaxis": f"y{number}", **hover, **trace})

    def _update_axes(self, letter: str, row: int, col: int, axis: dict[str, Any]) -> None:
        for each in [row] if row else range(1, self.rows + 1):
            for column in [col] if col else range(1, self.columns + 1):
                self.axes[f"{letter}axis{self._number_axis(each, column)}"] |= axis

    def _number_axis(self, row: int, col: int) -> str:
        """Return the suffix that Plotly uses for the axes of a chart panel; empty for the first panel."""
        index = (row - 1) * self.columns + col
        return str(index) if index > 1 else ""


@cache
def _make_axes(rows: int, columns: int, **grid: Any) -> dict[str, dict[str, Any]]:
    layout = make_subplots(rows, columns, **grid).to_plotly_json()["layout"]
    return {name: axis for name, axis in layout.items() if name[1:].startswith("axis")}


def make_whiskers(
    values: Iterable[float], ends: Iterable[Sequence[float]], width: float, color: str | None = None
) -> dict[str, Any]:
    """Return Plotly error bars from values to the ends of their intervals."""
    gaps = [(high - value, value - low) for value, (low, high) in zip(values, ends, strict=True)]
    above, below = ([gap[side] for gap in gaps] for side in (0, 1))
    return {"array": above, "arrayminus": below, "color": color, "thickness": width, "width": 0}


def find_cell(first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> tuple[int, int] | None:
    """Return the matrix cell (row, column) that holds exactly the given sentences; None: there is no such cell.

    `first` and `second` (n,) are each sentence's row and column in the matrix; negative: not in the matrix.
    """
    if not len(rows) or first[rows[0]] < 0:
        return None
    cell = int(first[rows[0]]), int(second[rows[0]])
    whole = np.flatnonzero((first == cell[0]) & (second == cell[1]))
    return cell if np.array_equal(whole, np.sort(rows)) else None


def draw_bar_matrix(
    look: Look,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    color: Callable[[int, int], str],
    words: Callable[[int, int], str],
    hover: Callable[[int, int], str],
    height: int,
    titles: tuple[str, str] = ("", ""),
) -> go.Figure:
    """Draw a square matrix with a bar in each cell; a click anywhere in a cell returns its row and column.

    Names and `hover` must be escaped; `words` are HTML. `titles` are those of rows and columns; `height` applies only
    to a matrix with few rows, and also on a projector.
    """
    t, n = look.tokens, len(rows)
    places, few = list(range(n)), n < FEW_ROWS
    cells = [(i, j) for i in places for j in places]
    figure = Panels(look, [[""]], height=height if few else 90 * n + 70)
    figure.add_bar(
        x=[j for _, j in cells],
        y=[0.96] * len(cells),
        base=[n - 1 - i + 0.02 for i, _ in cells],
        width=0.97,
        marker={"color": [color(i, j) for i, j in cells], "cornerradius": 6, "line": {"width": 0}},
        customdata=[[i, j] for i, j in cells],
        text=[words(i, j) for i, j in cells],
        **INSIDE,
        textfont={"size": look.scale_size(18 if few else 14), "color": t.ink},
        hovertext=[hover(i, j) for i, j in cells],
        hover="%{hovertext}",
        selected={"marker": {"opacity": 1}, "textfont": {"color": t.ink}},
        unselected={"marker": {"opacity": 0.4}, "textfont": {"color": t.muted}},
    )
    ticks: dict[str, Any] = {"tickfont": {"size": look.scale_size(16 if few else 14), "color": t.ink}}
    figure.update_xaxes(side="top", tickvals=places, ticktext=list(columns), title=titles[1], tickangle=0)
    figure.update_xaxes(range=[-0.5, n - 0.5], **ticks)
    figure.update_yaxes(tickvals=[n - 0.5 - i for i in places], ticktext=list(rows), title=titles[0], range=[0, n])
    figure.update_yaxes(showgrid=False, **ticks)
    figure.update_layout(barmode="overlay", bargap=0, clickmode="event+select", margin={"t": 8})
    if few:
        figure.update_layout(height=height)
    return figure.build_figure()
