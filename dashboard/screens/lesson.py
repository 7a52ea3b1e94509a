"""Page Lesson."""

from __future__ import annotations

from dashboard.widgets.messages import show_header


def show_page() -> None:
    """Draw the Lesson page."""
    show_header("Lesson", "Predict first. Then look.")


show_page()
