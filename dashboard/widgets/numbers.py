"""Learned numbers as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.figures import parts
from dashboard.widgets.figure import caption
from dashboard.widgets.style import row_height

if TYPE_CHECKING:
    import pandas as pd


def number_list(table: pd.DataFrame) -> None:
    """The table of `figures.parts.number_table`, or of a record, with how to read it."""
    titles = {"number": "Number", "what it is": "What it is", "learned": "Value"}
    st.dataframe(
        table,
        hide_index=True,
        row_height=row_height(),
        width="content",
        column_config={name: st.column_config.TextColumn(title) for name, title in titles.items()},
        alt="Learned numbers",
    )
    if set(table["number"]) - {parts.NEUTRAL_TOKENS}:
        caption(parts.NUMBERS_READING)
