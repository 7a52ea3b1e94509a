"""The words by every method, and most read against most needed; asked when the bench stands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard.data import data
from dashboard.figures.methods import EXTENT, METHODS, READ_NEEDED, Together, named
from dashboard.figures.source import Source
from dashboard.figures.words import target
from dashboard.reader.models import Asking
from dashboard.widgets.figure import show, show_of
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
