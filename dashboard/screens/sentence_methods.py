"""The words by every method, how far these agree, and most read against most needed; asked when the bench stands."""

from __future__ import annotations

import contextlib
import time
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

PATIENCE = 0.5
"""Seconds after which it is said what is asked, with a way to stop it."""


def side_by_side(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with a word; gives its tables."""
    about = (source.record.run, source.text, target(source), source.edits)
    with st.container(key="by-method"):
        choose(EXTENT, source)
        asked: data.Question = (*about, named(source))
        known = data.explained(*asked)
        stopped = state.draft(state.METHODS_STOPPED, None) == asked
        if not known.whole and not stopped:
            _ask(asked)
        if not known.whole:
            _stopped()
            if known.found is None:
                return {}
            shown = Together(source.record, known.found, bool(source.edits))
            show(METHODS, shown)
            return METHODS.numbers(shown)
        left, right = st.columns([6, 5], gap="large")
        with left:
            tables = METHODS.numbers(show_of(source, METHODS))
        for column, figure in ((left, AGREEMENT), (right, READ_NEEDED)):
            with column, contextlib.suppress(NotAvailable):
                tables |= figure.numbers(show_of(source, figure))
    return tables


def _ask(asked: data.Question) -> None:
    """Asks, and from `PATIENCE` on says by which method, with a button; pressing it ends this run of the page."""
    place, begun = st.empty(), time.monotonic()
    line = None

    def tell(method: str, share: float | None) -> None:
        nonlocal line
        if time.monotonic() - begun < PATIENCE:
            return
        if line is None:
            with place.container(horizontal=True, vertical_alignment="center", gap="medium"):
                line = st.container().empty()
                st.button(
                    "Stop",
                    icon=":material/stop:",
                    key="methods-stop",
                    on_click=state.put,
                    args=(state.METHODS_STOPPED, asked),
                    help="What was found so far stays",
                )
        with line.container():
            progress(f"Asking by {NAMES[method]}", "the model reads the text again and again", share or 0.0)

    data.explain_by(*asked, tell)
    place.empty()


def _stopped() -> None:
    finding("Stopped", "Not every method was asked.")
    st.button("Go on", key="methods-on", on_click=state.put, args=(state.METHODS_STOPPED, None))
