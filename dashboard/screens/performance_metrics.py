"""All metrics of a split, below the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard.figures.metrics import METRICS
from dashboard.figures.source import Source
from dashboard.widgets.figure import show_of

if TYPE_CHECKING:
    import pandas as pd


def every_metric(source: Source) -> dict[str, pd.DataFrame]:
    """Folded; returns their table, none where none was recorded."""
    try:
        shown = METRICS.shape(source)
    except NotAvailable:
        return {}
    with st.expander("All metrics as a table"):
        show_of(source, METRICS)
    return METRICS.numbers(shown)
