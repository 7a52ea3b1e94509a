"""The words by every method, how far these agree, and most read against most needed; asked when the bench stands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard import data, state
from dashboard.figures.methods import AGREEMENT, EXTENT, METHODS, NAMES, READ_NEEDED, Together, named
from dashboard.figures.source import Source
from dashboard.figures.words import target
from dashboard.widgets.figure import show, show_of
from dashboard.widgets.messages import finding, progress
from dashboard.widgets.options import choose

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.explain import Methods

PATIENCE, TICK = 0.5, 0.3
"""Seconds after which it is said what is asked, with a way to stop it; and between two looks at how far it is."""


def side_by_side(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with a word; gives its tables."""
    with st.container(key="by-method"):
        choose(EXTENT, source)
        question = (source.record.run, source.text, target(source), source.edits, named(source))
        if not _enough(question):
            data.explained(*question).go_on()  # somebody else may have stopped it
        known = data.ask(question, PATIENCE)
        if not known.whole:
            st.fragment(_asking, run_every=TICK if known.running else None)(known, question)
            return {} if known.found is None else _so_far(source, known.found)
        with st.container(key="pair-methods"):
            left, right = st.columns([6, 5], gap="large")
        with left:
            tables = METHODS.numbers(show_of(source, METHODS))
        for column, figure in ((left, AGREEMENT), (right, READ_NEEDED)):
            with column, contextlib.suppress(NotAvailable):
                tables |= figure.numbers(show_of(source, figure))
    return tables


def _so_far(source: Source, found: Methods) -> dict[str, pd.DataFrame]:
    shown = Together(source.record, found, bool(source.edits))
    show(METHODS, shown)
    return METHODS.numbers(shown)


def _asking(known: data.Explained, question: data.Question) -> None:
    """Drawn again and again by itself while a thread asks, and the page with it when that is over."""
    if known.whole or not (known.running or _enough(question)):
        st.rerun()
    if not known.running:
        finding("Stopped", "Not every method was asked.")
        if st.button("Go on", key="methods-on", on_click=_go_on, args=(known,)):
            st.rerun()
        return
    method, share = known.at
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container():
            progress(f"Asking by {NAMES[method]}", "the model reads the text again and again", share or 0.0)
        st.button(
            "Stop",
            icon=":material/stop:",
            key="methods-stop",
            on_click=_stop,
            args=(known, question),
            help="What was found so far stays",
        )


def _enough(question: data.Question) -> bool:
    """Whether this visitor has stopped it: others, who may ask the same, have not."""
    return bool(state.draft(state.ENOUGH, None) == question)


def _stop(known: data.Explained, question: data.Question) -> None:
    state.put(state.ENOUGH, question)
    known.stop()


def _go_on(known: data.Explained) -> None:
    state.put(state.ENOUGH, None)
    known.go_on()
