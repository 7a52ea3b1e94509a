"""Methods side by side, tests of whether to believe them, and patching from another sentence."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import InputError, NotAvailable
from core.runs import errands
from core.runs.beliefs import BeliefFiles
from dashboard import state
from dashboard.data import data
from dashboard.figures.belief import ALONG, BELIEF, HOW, METHOD
from dashboard.figures.figure import Figure
from dashboard.figures.methods import EXTENT, METHODS, READ_NEEDED, Together, named
from dashboard.figures.patching import DONOR, PATCHING
from dashboard.figures.source import Source
from dashboard.figures.words import target
from dashboard.reader.models import Asking
from dashboard.widgets.errand import begin, under_way
from dashboard.widgets.figure import caption, heading, show, show_bare, show_of
from dashboard.widgets.messages import finding
from dashboard.widgets.options import asked, choose
from dashboard.widgets.waiting import waited

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.explain import Methods


UNFINISHED = "Not every method was asked."


def side_by_side(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with a word; gives its tables."""
    with st.container(key="by-method"):
        asked(EXTENT, source)
        known = waited(question(source), "methods", UNFINISHED)
        if not known.whole:
            tables = {} if known.found is None else _so_far(source, known.found)
            choose(EXTENT, source)
            return tables
        with st.container(key="pair-methods"):
            left, right = st.columns([6, 5], gap="large")
        with left:
            tables = METHODS.numbers(show_of(source, METHODS))
            choose(EXTENT, source)
        with right, contextlib.suppress(NotAvailable):
            tables |= READ_NEEDED.numbers(show_of(source, READ_NEEDED))
    return tables


def _so_far(source: Source, found: Methods) -> dict[str, pd.DataFrame]:
    shown = Together(source.record, found, bool(source.edits))
    show(METHODS, shown)
    return METHODS.numbers(shown)


def question(source: Source) -> Asking:
    """What is asked of a text by the methods that are chosen."""
    return data.asking(("each_method", source.record.run, source.text, target(source), source.edits, named(source)))


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


LONGEST = 2_000
"""Characters."""
OFFER = (
    "Type the sentence with one word replaced: which layer, word and head carries the difference? A place of the "
    "second is put into the first, one at a time."
)


def from_another(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with maps; gives its table."""
    with st.container(key="patching"):
        place = st.container()
        donor = st.text_input(
            "Second sentence of as many tokens",
            key=state.DONOR,
            bind="query-params",
            max_chars=LONGEST,
            placeholder="A second sentence of as many tokens",
            label_visibility="collapsed",
        )
        source.choices[DONOR.name] = donor or ""
        shape, said = None, ("", OFFER)
        if (donor or "").strip():
            about = source.record.run, source.text, donor, target(source), source.edits
            try:
                if waited(data.asking(("patches", *about)), "patches", "Not every place was put in.").whole:
                    shape = show_bare(source, PATCHING)
            except InputError as error:
                said = "These two cannot be put together", f"{str(error)[:1].upper()}{str(error)[1:]}."
        with place:
            note = "" if shape is None else PATCHING.say(PATCHING.note, shape)
            heading(str(PATCHING.title), PATCHING.name, note=note, about=str(PATCHING.how))
        if shape is None:
            finding(*said) if said[0] else caption(said[1])
            return {}
        caption(PATCHING.say(PATCHING.reading, shape))
        return PATCHING.numbers(shape)
