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
from dashboard.widgets.figure import caption, heading, heading_of, show, show_bare, show_tables
from dashboard.widgets.messages import as_sentence, finding
from dashboard.widgets.options import asked, choose
from dashboard.widgets.waiting import begin, under_way, waited

if TYPE_CHECKING:
    import pandas as pd


def side_by_side(source: Source) -> dict[str, pd.DataFrame]:
    """Show the section, of a text with a word; return its tables."""
    tables: dict[str, pd.DataFrame] = {}
    with st.container(key="by-method"):
        asked(EXTENT, source)
        wanted = "each_method", source.record.run, source.text, target(source), source.edits, named(source)
        known = waited(data.asking(wanted), "methods", "Not every method was asked.")
        if not known.whole:
            if known.found is not None:
                shown = Together(source.record, known.found, bool(source.edits))
                show(METHODS, shown)
                tables = METHODS.numbers(shown)
            choose(EXTENT, source)
            return tables
        with st.container(key="pair-methods"):
            left, right = st.columns([6, 5], gap="large")
        with left:
            tables = show_tables(source, METHODS)
            choose(EXTENT, source)
        with right, contextlib.suppress(NotAvailable):
            tables |= show_tables(source, READ_NEEDED)
    return tables


SHOWN = "deletion"


def may_i_believe_it(source: Source) -> dict[str, pd.DataFrame]:
    """Show the section, of a text with a word; return its tables."""
    tables: dict[str, pd.DataFrame] = {}
    with st.container(key="belief"):
        found = data.belief(source.record)
        if found is None:
            heading(str(BELIEF.title), "belief", about=HOW)
        else:
            tables |= _fresh(source, BELIEF)
        measured = set() if found is None else {each.method for each in found.methods}
        _measure(source, measured)
        if found is not None:
            choose(METHOD, source)
            tables |= _fresh(source, ALONG)
    return tables


def _fresh(source: Source, figure: Figure[Any]) -> dict[str, pd.DataFrame]:
    """Show a figure of files that a job writes: its drawing is not kept."""
    shape = figure.shape(source)
    show(figure, shape)
    return figure.numbers(shape)


def _measure(source: Source, measured: set[str]) -> None:
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
OFFER = (
    "Type the sentence with one word replaced: which layer, word and head carries the difference? A place of the "
    "second is put into the first, one at a time."
)


def from_another(source: Source) -> dict[str, pd.DataFrame]:
    """Show the section, of a text with maps; return its table."""
    with st.container(key="patching"):
        place = st.container()
        label, example = "Second sentence of as many tokens", "A second sentence of as many tokens"
        hidden: dict[str, Any] = {"placeholder": example, "label_visibility": "collapsed"}
        donor = st.text_input(label, key=state.DONOR, bind="query-params", max_chars=LONGEST, **hidden)
        source.choices[DONOR.name] = donor or ""
        shape, said = None, ("", OFFER)
        if (donor or "").strip():
            about = source.record.run, source.text, donor, target(source), source.edits
            try:
                if waited(data.asking(("patches", *about)), "patches", "Not every place was put in.").whole:
                    shape = show_bare(source, PATCHING)
            except InputError as error:
                said = "These two cannot be put together", as_sentence(error)
        with place:
            heading_of(PATCHING, shape)
        if shape is None:
            finding(*said) if said[0] else caption(said[1])
            return {}
        caption(PATCHING.say(PATCHING.reading, shape))
        return PATCHING.numbers(shape)
