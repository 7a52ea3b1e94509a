"""Streamlit pages, one for each question about a model: read the selection, compute, draw figures, offer the export."""

from __future__ import annotations

from typing import NamedTuple


class Screen(NamedTuple):
    """The title, icon and requirements of a page in the dashboard's navigation."""

    title: str
    icon: str
    of_run: bool = True
    """Whether it shows a run or its data, so that a slice can be picked without a selection."""
    of_texts: str = ""
    """Why it cannot show a run that tags words; empty: it can."""


PAGES = {
    "overview": Screen("Overview", "grid_view", of_run=False),
    "lessons": Screen("Lessons", "school", of_run=False),
    "lesson": Screen("Lesson", "school", of_run=False),
    "data": Screen("Data", "table_rows"),
    "models": Screen("Models", "account_tree", of_run=False),
    "train": Screen("Train", "play_circle", of_run=False),
    "sweeps": Screen("Sweeps", "grid_on", of_run=False),
    "performance": Screen("Performance", "target", of_texts="Confusion, ROC and calibration need one label per text."),
    "errors": Screen("Errors", "rule", of_texts="It lists texts with one label each."),
    "compare": Screen("Compare", "compare_arrows", of_texts="Paired tests need one label per text."),
    "behave": Screen("Behave", "checklist", of_texts="The tests ask for the polarity of a whole text."),
    "embeddings": Screen("Embeddings", "scatter_plot", of_texts="Each point is a text with its label."),
    "sentence": Screen("Sentence", "notes", of_texts="It explains the prediction for a whole text."),
    "steps": Screen("Steps", "footprint", of_texts="Its last step is the prediction for a whole text."),
    "tokens": Screen("Tokens", "label", of_run=False),
    "lambdas": Screen("Lambdas", "timeline", of_texts="Its curves need a model that labels whole texts."),
}
"""By the file in this folder, which is the path of its link, in the order of the navigation."""
