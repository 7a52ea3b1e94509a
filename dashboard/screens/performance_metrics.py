"""All metrics of a split, below the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard.data import data
from dashboard.figures.metrics import METRICS
from dashboard.figures.source import Source
from dashboard.widgets.figure import show
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd


def every_metric(source: Source) -> dict[str, pd.DataFrame]:
    """Folded; returns their table, none where none was recorded."""
    try:
        shown, drawing = data.drawn(METRICS, source, look())
    except NotAvailable:
        return {}
    folded = st.expander("All metrics as a table", key="every-metric", on_change="rerun")  # drawn when it is opened
    if folded.open:
        with folded:
            show(METRICS, shown, drawing=drawing)
    return METRICS.numbers(shown)
