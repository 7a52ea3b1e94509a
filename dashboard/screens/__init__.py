"""Streamlit pages, one for each question about a model: read the selection, compute, draw figures, offer the export."""

from __future__ import annotations

from typing import NamedTuple


class Screen(NamedTuple):
    """The title, icon and requirements of a page in the dashboard's navigation."""

    title: str
    icon: str
    of_run: bool = True
    """Whether it shows a run or its data, so that a slice can be picked while nothing is selected."""
    of_texts: str = ""
    """Why it has nothing to show of a run that gives each word a tag; empty: it has."""


PAGES = {
    "overview": Screen("Overview", "grid_view", of_run=False),
    "data": Screen("Data", "table_rows"),
    "models": Screen("Models", "account_tree", of_run=False),
    "train": Screen("Train", "play_circle", of_run=False),
    "sweeps": Screen("Sweeps", "grid_on", of_run=False),
    "performance": Screen(
        "Performance", "target", of_texts="Confusion, ROC and calibration are of one label for each text."
    ),
    "errors": Screen("Errors", "rule", of_texts="Its rows are texts with a label each."),
    "compare": Screen("Compare", "compare_arrows", of_texts="Paired tests are of the same texts, right or wrong."),
    "behave": Screen("Behave", "checklist", of_texts="A suite asks for the polarity of a text."),
    "embeddings": Screen("Embeddings", "scatter_plot", of_texts="A point is a text with its label."),
    "sentence": Screen("Sentence", "notes", of_texts="Pushes and parts are of the answer to a whole text."),
    "steps": Screen("Steps", "footprint", of_texts="Its last stage is the answer to a whole text."),
    "tokens": Screen("Tokens", "label", of_run=False),
    "lambdas": Screen("Lambdas", "timeline", of_texts="Its curves are of the answer to a whole text."),
}
"""By the file in this folder, which is the path of its link, in the order of the navigation."""
