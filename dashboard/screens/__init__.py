"""Streamlit pages, one for each question about a model: read the selection, compute, draw figures, offer the export."""

from typing import NamedTuple

HIDDEN = "hidden"
NO_PAGE = "no-page"  # URL parameter of the home page: the address that was asked for and names no page


class Screen(NamedTuple):
    """The title, icon, group and requirements of a page in the dashboard's navigation."""

    title: str
    icon: str
    group: str
    """The heading in the menu; empty: above all groups, `HIDDEN`: no entry, the address works."""
    letter: str = ""
    """The key that opens it after g, in the presenter; empty: none."""
    of_run: bool = True
    """Whether the page shows a run or its data, so that a slice can be selected there."""
    of_texts: str = ""
    """Why the page cannot show runs that tag words; empty: it can."""


PAGES = {
    "start": Screen("Start", "home", "", "h", of_run=False),
    "lessons": Screen("Lessons", "school", "Learn", "l", of_run=False),
    "sentence": Screen("Sentence", "notes", "Learn", "s", of_texts="It explains the prediction for a whole text."),
    "steps": Screen("Steps", "footprint", "Learn", "t", of_texts="Its last step is the prediction for a whole text."),
    "attention": Screen(
        "Attention", "timeline", "Learn", "i", of_texts="Its maps need a model that labels whole texts."
    ),
    "runs": Screen("Runs", "grid_view", "Evaluate", "r", of_run=False),
    "performance": Screen(
        "Performance", "target", "Evaluate", "p", of_texts="Confusion, ROC and calibration need one label per text."
    ),
    "errors": Screen("Errors", "rule", "Evaluate", "e", of_texts="It lists texts with one label each."),
    "compare": Screen("Compare", "compare_arrows", "Evaluate", "c", of_texts="Paired tests need one label per text."),
    "behave": Screen(
        "Behaviour tests", "checklist", "Evaluate", "v", of_texts="The tests ask for the polarity of a whole text."
    ),
    "embeddings": Screen(
        "Embeddings", "scatter_plot", "Evaluate", "m", of_texts="Each point is a text with its label."
    ),
    "papers": Screen("Papers", "menu_book", "Evaluate", "a", of_run=False),
    "tokens": Screen("Tagging", "label", "Evaluate", of_run=False),
    "data": Screen("Data", "table_rows", "Build", "d"),
    "models": Screen("Models", "account_tree", "Build", "o", of_run=False),
    "train": Screen("Train", "play_circle", "Build", "n", of_run=False),
    "classroom": Screen("Class", "groups", "Build", of_run=False),
    "sweeps": Screen("Sweeps", "grid_on", HIDDEN, of_run=False),
    "lesson": Screen("Lesson", "school", HIDDEN, of_run=False),
    "theory": Screen("Theory", "function", HIDDEN, of_run=False),
}
"""By the file in this folder, which is the path of its link, in the order of the navigation."""

LAMBDA_ADDRESS = "lambdas"  # opens Attention with its section on λ
ALIASES = {"overview": "runs", LAMBDA_ADDRESS: "attention"}
"""Addresses of former versions, and the page that each opens."""
TAGGING, CLASSROOM = "tokens", "classroom"
"""Pages with an entry in the menu only while there is a run that tags words, or a class."""


def list_entries(*, tagging: bool, classroom: bool = False) -> dict[str, Screen]:
    """Return the pages with an entry in the menu, in its order."""
    left_out = {name for name, there in ((TAGGING, tagging), (CLASSROOM, classroom)) if not there}
    return {name: each for name, each in PAGES.items() if each.group != HIDDEN and name not in left_out}
