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
    group: str = ""
    letter: str = ""  # after g, in the presenter
    exhibit: tuple[str, ...] = ()
    """Its figures in the presenter: side by side, below each other if the first is as low as a line of words."""


PAGES = {
    "overview": Screen("Overview", "grid_view", of_run=False, letter="r"),
    "data": Screen("Data", "table_rows", letter="d"),
    "models": Screen("Models", "account_tree", of_run=False, letter="o"),
    "train": Screen("Train", "play_circle", of_run=False, letter="n", exhibit=("progress",)),
    "sweeps": Screen("Sweeps", "grid_on", of_run=False, letter="w"),
    "performance": Screen(
        "Performance",
        "target",
        of_texts="Confusion, ROC and calibration need one label per text.",
        letter="p",
        exhibit=("confusion",),
    ),
    "errors": Screen(
        "Errors", "rule", of_texts="It lists texts with one label each.", letter="e", exhibit=("error-tags",)
    ),
    "compare": Screen(
        "Compare",
        "compare_arrows",
        of_texts="Paired tests need one label per text.",
        letter="c",
        exhibit=("compare-matrix", "compare-models"),
    ),
    "behave": Screen(
        "Behave",
        "checklist",
        of_texts="The tests ask for the polarity of a whole text.",
        letter="v",
        exhibit=("behaviour",),
    ),
    "embeddings": Screen(
        "Embeddings", "scatter_plot", of_texts="Each point is a text with its label.", letter="m", exhibit=("map",)
    ),
    "sentence": Screen(
        "Sentence", "notes", of_texts="It explains the prediction for a whole text.", letter="s", exhibit=("words",)
    ),
    "steps": Screen("Steps", "footprint", of_texts="Its last step is the prediction for a whole text.", letter="t"),
    "tokens": Screen("Tokens", "label", of_run=False),
    "lambdas": Screen(
        "Lambdas",
        "timeline",
        of_texts="Its curves need a model that labels whole texts.",
        letter="b",
        exhibit=("course",),
    ),
}
"""By the file in this folder, which is the path of its link, in the order of the navigation."""
