"""Export menu at the end of a page: its figures as SVG or PNG, its tables as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from core.table_format import format_csv
from dashboard import state
from dashboard.figures.drawing import read_asset

if TYPE_CHECKING:
    import pandas as pd

_figures = st.components.v2.component(
    "sentiscope_export",
    html=(
        '<div class="s-export"><button type="button" value="svg">Figures · SVG</button>'
        '<button type="button" value="png">Figures · PNG</button></div>'
    ),
    css=read_asset("export.css"),
    js=read_asset("export.js"),
)


Table: TypeAlias = "pd.DataFrame | Callable[[], pd.DataFrame]"
"""A table, or a function that returns it; the CSV is made on click, since a rerun drops files made before."""


def show_export_bar(
    page: str,
    tables: Mapping[str, Table],
    *,
    figures: bool = True,
    texts: Mapping[str, tuple[str, Callable[[], str]]] | None = None,
) -> None:
    """Show a menu of buttons that download the page's figures and tables as files; nothing on a projector.

    `texts`: further files, label → name of the file and the function that writes it.
    """
    if state.is_projector():
        return
    with st.popover("Export", key="export", type="tertiary"):
        if figures:
            _figures(key="export-figures", width="content")
        for name, table in tables.items():
            st.download_button(
                f"{name} · CSV",
                partial(lambda table: format_csv(table() if callable(table) else table), table),
                f"sentiscope-{page}-{name.lower().replace(' ', '-')}.csv",
                "text/csv",
                key=f"export-{name}",
                type="tertiary",
                on_click="ignore",
            )
        for label, (file, write) in (texts or {}).items():
            look: dict[str, Any] = {"key": f"export-{file}", "type": "tertiary", "on_click": "ignore"}
            st.download_button(label, write, f"sentiscope-{page}-{file}", "text/plain", **look)
