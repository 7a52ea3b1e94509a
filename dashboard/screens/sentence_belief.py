"""May I believe it: what was measured of the methods of a run, and the job that measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import SentiscopeError
from core.runs import beliefs, errands
from core.runs.beliefs import BeliefFiles
from dashboard import state
from dashboard.data import data
from dashboard.figures.belief import ALONG, BELIEF, HOW, METHOD
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.widgets.errand import watch
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import problem
from dashboard.widgets.options import choose

if TYPE_CHECKING:
    import pandas as pd

OFFER = (
    "Whether a push is evidence belongs to the run and the method, not to a sentence. It is measured on 200 validation "
    "sentences in a separate process and kept: deletion takes half a minute, all methods some minutes. You may leave "
    "the page or close the tab."
)
SHOWN = "deletion"
"""The method whose pushes stand above."""


def may_i_believe_it(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with a word; gives its tables."""
    tables: dict[str, pd.DataFrame] = {}
    with st.container(key="belief"):
        found = data.belief(source.record)
        if found is None:
            heading(BELIEF.title if isinstance(BELIEF.title, str) else "", "belief", about=HOW)
        else:
            tables |= _fresh(source, BELIEF)
        measured = set() if found is None else {each.method for each in found.methods}
        _measure(source, measured)
        if found is not None:
            choose(METHOD, source)
            tables |= _fresh(source, ALONG)
    return tables


def _fresh(source: Source, figure: Figure[Any]) -> dict[str, pd.DataFrame]:
    """Of files that a job beside the page writes: no drawing of theirs is kept."""
    shape = figure.shape(source)
    show(figure, shape)
    return figure.numbers(shape)


def _measure(source: Source, measured: set[str]) -> None:
    """The job, while it runs; else what there is to measure still."""
    run = source.record.run
    every, single = beliefs.files(data.store(), run), beliefs.files(data.store(), run, SHOWN)
    for files, what in ((every, "all methods"), (single, SHOWN)):
        job = errands.job(files)
        if job.status == "running":
            watch(files, f"Measuring {what} on {files.limit} sentences", "belief")
            return
        if job.status == "failed":
            problem("It could not be measured", job.what)
    if text := state.take(state.BELIEF_PROBLEM):
        problem("The measuring was not begun", text)
    if errands.job(every).status == "done":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not measured:
            st.button("Measure deletion", key="measure-deletion", on_click=_start, args=(single,))
        st.button("Measure all methods", key="measure-all", on_click=_start, args=(every,))
        caption(
            OFFER if not measured else "Some minutes in a separate process; you may leave the page or close the tab."
        )


def _start(files: BeliefFiles) -> None:
    errands.forget(files)
    try:
        beliefs.start(data.store(), files)
    except SentiscopeError as error:
        state.put(state.BELIEF_PROBLEM, str(error))
