"""The error data of an evaluated run without training, as a page uses it."""

from answering import answering

from core.runs.store import RunStore
from dashboard.figures.row_selection import make_facts


def known_of(folder, chances, rows, *, find=True):
    """(error data of the run `one` with these rows and probabilities, its store); tags only if found."""
    store = RunStore(folder / "runs")
    known = make_facts(store, store.read(answering(store, "one", chances, rows)), "test")
    if find:
        known.find_tags()
    return known, store
