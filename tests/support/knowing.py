"""What a page knows of the errors of a run that was evaluated and never trained."""

from answering import answering

from core.runs.store import RunStore
from dashboard.figures.analysis import make_known


def known_of(folder, chances, rows, *, find=True):
    """(What is known of the run `one`, which gives these rows these probabilities; its store); tags only if found."""
    store = RunStore(folder / "runs")
    known = make_known(store, store.read(answering(store, "one", chances, rows)), "test")
    if find:
        known.find()
    return known, store
