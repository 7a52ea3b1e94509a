"""Page Start."""

from __future__ import annotations

from dashboard.widgets.messages import show_header


def show_page() -> None:
    """Draw the Start page."""
    show_header("Start", "Is the writer positive or negative?")


show_page()
