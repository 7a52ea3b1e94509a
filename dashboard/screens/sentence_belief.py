"""May I believe it: what was measured of the methods of a run, and the job that measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.runs import errands
from core.runs.beliefs import BeliefFiles
from dashboard.data import data
from dashboard.figures.belief import ALONG, BELIEF, HOW, METHOD
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.widgets.errand import begin, under_way
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.options import choose

if TYPE_CHECKING:
    import pandas as pd

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
    every, single = BeliefFiles.of(data.store(), run), BeliefFiles.of(data.store(), run, SHOWN)
    for files, key, what in ((every, "measure-all", "all methods"), (single, "measure-deletion", SHOWN)):
        if under_way(files, key, f"Measuring {what} on {files.limit} sentences"):
            return
    if errands.job(every).status == "done":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not measured:
            begin(single, "measure-deletion", f"Measure {SHOWN}")
        begin(every, "measure-all")
        again = "Some minutes in a separate process; you may leave the page or close the tab."
        caption(again if measured else every.offer.takes)
