"""Page Start."""

from __future__ import annotations

from dashboard.data import data
from dashboard.widgets.messages import show_header
from dashboard.widgets.unfinished import show_continue


def show_page() -> None:
    """Draw the Start page."""
    show_header("Start", "Is the writer positive or negative?")
    show_continue(data.list_runs())


show_page()
