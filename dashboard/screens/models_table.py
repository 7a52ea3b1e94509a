"""All presets as a table whose chosen row is shown whole."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.numbers import NARROW
from dashboard import state
from dashboard.widgets.style import row_height


def preset_table(frame: pd.DataFrame) -> None:
    """One row per preset; choosing one makes it the page's model.

    Args:
        frame: as `dashboard.figures.models.preset_frame` makes it.
    """
    text = st.column_config.TextColumn
    names = frame["model"].tolist()
    st.dataframe(
        frame.style.format(thousands=NARROW, subset=["parameters"]),  # numbers still, so that they sort by size
        hide_index=True,
        height=10 * row_height(),
        row_height=row_height(),
        column_order=["model", "parameters", "parts", "runs", "line"],
        column_config={
            "model": text("Model", width=142),
            "parameters": st.column_config.NumberColumn("Parameters", width=84),
            "parts": text("Parts", width=170, help="What it has besides a plain transformer encoder"),
            "runs": st.column_config.NumberColumn("Runs", width=40, help="Of all kinds, here"),
            "line": text("In words", width=254),
        },
        key=state.current(state.PRESETS),
        on_select=lambda: _choose(names),
        selection_mode="single-row",
        alt="All presets",
    )


def _choose(names: list[str]) -> None:
    """A row was chosen, or given up; the selection stays where it is."""
    rows = (state.draft(state.current(state.PRESETS), None) or {}).get("selection", {}).get("rows", [])
    if rows and rows[0] < len(names):
        state.put(state.PRESET, names[rows[0]])
