"""Kinds of drawings (charts, tables and browser components) for pages, notebooks and HTML files that work offline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import plotly.graph_objects as go

from core.formatting import count, number
from dashboard.figures.theme import SANS, Look, make_config

if TYPE_CHECKING:
    import pandas as pd

Node = str | list[Any]
EMPTY = frozenset({"col", "br"})  # tags without an end tag
NOTHING = "–"  # shown in a cell without a value
TITLE = 60  # pixels of a title above an exported chart; on a page the heading replaces it
_TITLE_PAD = {"t": 14, "l": 12, "b": 24}
_DEAF = "setStateValue: () => {}, setTriggerValue: () => {}, send: () => {}"
"""Outside of pages, selections have no receiver."""


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
