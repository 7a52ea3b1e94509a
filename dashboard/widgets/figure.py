"""Display of a figure on a page: heading with n, drawing with alternative text, caption, and method on demand."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import NotAvailable
from dashboard import state
from dashboard.data import data
from dashboard.figures.decisions import FEW, name_small_samples
from dashboard.figures.drawing import NOTHING, Component, DataTable, Drawing, TableColumn, read_asset, to_draw_script
from dashboard.figures.figure import Figure, Shape, Source
from dashboard.figures.theme import make_config
from dashboard.widgets.messages import show_finding
from dashboard.widgets.style import get_look, get_row_height

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.widgets.export import Tables


def make_anchor(name: str) -> str:
    """Return the HTML id of a figure's heading, for links within the page."""
    return f"at-{name}"


def show_heading(title: str, name: str, *, note: str = "", about: str = "") -> None:
    """Show a section heading; `about` is Markdown (never a user's text) that opens behind a question mark."""
    with st.container(key=f"head-{name}", horizontal=True, vertical_alignment="center", wrap=False):
        heading = f'<h2 id="{make_anchor(name)}">{escape(title)}</h2><span>{escape(note)}</span>'
        st.html(f'<div class="s-fig">{heading}</div>')
        if about:
            show_how(name, about)


def show_how(name: str, *about: str) -> None:
    """Show a question mark that opens explanations in Markdown, a paragraph each (never a user's text)."""
    with st.popover(":material/help:", type="tertiary", help="How this is computed", key=f"about-{name}"):
        st.markdown("\n\n".join(about))


def show_figure_heading(figure: Figure[Shape], shape: Any = None, *, about: bool = True) -> None:
    """Show a figure's heading without the drawing; `shape` is the figure's data, None if the figure has none yet."""
    note = "" if shape is None else figure.resolve_text(figure.note, shape)
    title, how = figure.resolve_text(figure.title, shape), str(figure.how) if about else ""
    show_heading(title, figure.name, note=note, about=how)


def show_caption(text: str) -> None:
    """Show a one-line caption that explains the figure above it; text between backticks is code."""
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    st.html(f'<p class="s-cap">{words.replace(" %", "&nbsp;%")}</p>')  # no line break between number and unit


def show_figure(source: Source, figure: Figure[Shape], **options: Any) -> Shape:
    """Show a figure of a run, cached for all visitors; return its data. Options as of `show`. NotAvailable: no data."""
    shape, drawing = data.draw_figure(figure, source, get_look())
    show(figure, shape, drawing=drawing, **options)
    return shape


def show_figures(source: Source, *figures: Figure[Any], **options: Any) -> Tables:
    """Show several figures of a run with headings and captions; return their tables for the export."""
    tables: Tables = {}
    for figure in figures:
        tables |= figure.build_tables(show_figure(source, figure, **options))
    return tables


def show_bare(source: Source, figure: Figure[Shape], *, name: str = "", **options: Any) -> Shape:
    """Show a figure of a run without heading and caption; return the figure's data."""
    shape, drawing = data.draw_figure(figure, source, get_look())
    note, reading = (figure.resolve_text(words, shape) for words in (figure.note, figure.reading))
    show_drawing(drawing, name or figure.name, figure.write_alt_text(shape, note, reading), **options)
    return shape


def show_others(
    source: Source,
    page: str,
    placed: Sequence[Figure[Any]],
    absent: Callable[[Figure[Any]], None] = lambda figure: None,
) -> Tables:
    """Show a page's registered figures other than those in `placed`, at the page's end; return their tables.

    `absent` is called with the figures that this run does not have.
    """
    from dashboard.figures.registry import list_unplaced  # loads pandas; the first page shows its heading before that

    tables: Tables = {}
    for figure in list_unplaced(page, placed):
        try:
            tables |= show_figures(source, figure)
        except NotAvailable:
            absent(figure)
    return tables


def show(
    figure: Figure[Shape],
    shape: Shape,
    *,
    drawing: Drawing | None = None,
    more: str = "",
    name: str = "",
    **options: Any,
) -> None:
    """Show a figure with heading, caption and explanations.

    `drawing`: an existing drawing of `shape`; `more`: a hint on how to use the figure on this page. A `name` is needed
    if a figure is twice on a page, or if a setting must clear its selection. `options`: as of `show_drawing`.
    """
    name = name or figure.name
    title, note, how = (figure.resolve_text(words, shape) for words in (figure.title, figure.note, figure.how))
    reading = f"{figure.resolve_text(figure.reading, shape)} {more}".strip()
    show_heading(title, name, note=note, about=how)
    drawing = figure.draw(shape, get_look()) if drawing is None else drawing
    show_drawing(drawing, name, figure.write_alt_text(shape, note, reading), **options)
    if reading:
        show_caption(reading)
    if small := name_small_samples(figure.sizes(shape)) if figure.sizes else "":
        show_finding("This figure uses few sentences", f"Fewer than {FEW}: {small}.")


def show_with_tables(figure: Figure[Shape], shape: Shape, **options: Any) -> Tables:
    """Show a figure as `show` does; return its tables for the export."""
    show(figure, shape, **options)
    return figure.build_tables(shape)


def show_drawing(drawing: Drawing, name: str, alt: str, tools: Sequence[str] = (), **options: Any) -> Any:
    """Show only the drawing of a figure, without heading and caption; return the element's selection event.

    `tools`: buttons of Plotly's toolbar, such as `lasso2d`; `options`: further arguments, such as `on_select`.
    """
    if isinstance(drawing, Component):
        key = state.get_figure_key(name)
        own = _mount_component(drawing.name, drawing.root, drawing.style, drawing.script)
        return own(key=key, data={**drawing.data, **_make_exchange(key, drawing.data)}, **options)
    key = state.get_widget_key(f"fig-{name}")
    if isinstance(drawing, DataTable):
        columns = {name: _make_column(column) for name, column in drawing.columns.items()}
        width = "content" if drawing.narrow else "stretch"
        return show_table(drawing.rows, alt, columns, width=width, placeholder=NOTHING, key=key, **options)
    return st.plotly_chart(drawing, theme=None, config=make_config(name, tools), key=key, alt=alt, **options)


@cache
def _mount_component(name: str, root: str, style: str, script: str) -> Callable[..., Any]:
    """Return the Streamlit component with this name, cached; user text travels in its data, never in its code."""
    return st.components.v2.component(f"sentiscope_{name}", html=root, css=style, js=wrap_script(script))


def wrap_script(script: str) -> str:
    """Wrap a component's JavaScript so that old data never overwrite new data and all user changes arrive.

    Streamlit 1.67 loads a component's script before it draws, without checking whether newer data have arrived, so an
    older drawing may come last. Of two messages that wait for a busy page, it delivers only one.
    """
    return to_draw_script(script) + read_asset("component.js")


def _make_exchange(key: str, data: Mapping[str, Any]) -> dict[str, int]:
    """Return two numbers that keep a component in sync: of the last confirmed user change, and of the drawing.

    The turn is a time in microseconds, so a later session has larger turns.
    """
    now, (before, turn) = (data, state.get_confirmed(key)), state.get_value(f"{state.TURN}{key}", (None, 0))
    if now != before:
        turn = max(time.time_ns() // 1000, turn + 1)
        state.set_value(f"{state.TURN}{key}", (now, turn))
    return {"turn": int(turn), "confirmed": now[1]}


def show_table(rows: Any, alt: str, columns: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """Show a data table that is not a registered figure; options and result as of `st.dataframe`.

    Args:
        rows: As `st.dataframe` takes them.
        alt: What is read out.
        columns: By name a title of a text column, that and a width in pixels, or a column of Streamlit's.
        options: Of that element.
    """
    config = dict(columns or {})
    for name, each in config.items():
        if isinstance(each, str | tuple):
            title, width = (each, None) if isinstance(each, str) else each
            config[name] = st.column_config.TextColumn(title, width=width)
    chosen = {"hide_index": True, "row_height": get_row_height(), "column_config": config or None, **options}
    return st.dataframe(rows, alt=alt, **chosen)


def edit_labels(rows: pd.DataFrame, columns: Mapping[str, Any], key: str) -> pd.DataFrame:
    """Show a table of labels and their numbers of rows, in which all other columns can be edited; return its rows."""
    columns = {"rows": st.column_config.NumberColumn("Rows", width=90), **columns}
    look: dict[str, Any] = {"hide_index": True, "row_height": get_row_height(), "width": "content", "key": key}
    return st.data_editor(rows, disabled=["label", "rows"], column_config=columns, **look)


def _make_column(column: TableColumn) -> Any:
    words: dict[str, Any] = {"help": column.help or None, "width": column.width, "alignment": column.alignment}
    if column.decimals is None:
        return st.column_config.Column(column.label or None, **words)
    return st.column_config.NumberColumn(column.label or None, format=f"%.{column.decimals}f", **words)
