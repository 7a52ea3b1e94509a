"""Page Lessons."""

from __future__ import annotations

from dashboard.widgets.messages import show_header


def show_page() -> None:
    """Draw the Lessons page."""
    show_header("Lessons", "Predict first. Then look.")


show_page()
