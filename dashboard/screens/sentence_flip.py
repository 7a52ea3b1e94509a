"""Counterfactuals of a text: a search for the smallest set of changes, in short slices that can be stopped."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.edits import Edits
from dashboard import state
from dashboard.data import data
from dashboard.figures import counterfactuals as figures
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS
from dashboard.widgets.bars import answer
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.messages import finding, notes, problem
from dashboard.widgets.style import look
from dashboard.widgets.waiting import stoppable

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.flip import Flip

TITLE = "What would change it"
ABOUT = (
    "A word is deleted, or replaced by one of at most 8 others: words of the opposite sign in the lexicon, and "
    "neighbours among the model’s vectors of words. Up to two words are deleted or replaced, up to three deleted, and "
    "at most 4 000 texts are read, the small changes first. Each text is read with what is changed inside."
)
OFFER = "The fewest words to delete or replace until the answer is another. It can be stopped at any time."
Asked = tuple[str, str, str, str, Edits]
"""Run, weights, text, target and what is changed inside."""
SLICE, TICK = 0.3, 0.1
"""Seconds of searching between two looks at what a person wants, and of rest."""


def what_would_change(source: Source) -> dict[str, pd.DataFrame]:
    """Show the search for the smallest change, for a text with a word; return the table of the results."""
    run = source.record.run
    target = str(source.chosen(TOWARDS)) if TOWARDS.counts(source) else ""  # of two classes the answer
    asked = (run, data.weights_fingerprint(run), source.text, target, source.edits)
    search = _search(asked)
    ticking = search is not None and search.running
    with st.container(key="flip"):
        st.fragment(_section, run_every=TICK if ticking else None)(source, asked, _phase(search))
    return {} if search is None or search.running else {"Smallest change": figures.flip_table(search)}


def _search(asked: Asked) -> figures.Searching | None:
    search: figures.Searching | None = state.draft(state.FLIP, None)
    return search if search is not None and search.asked == asked else None


def _phase(search: figures.Searching | None) -> str:
    return "" if search is None else "running" if search.running else "ended"


def _section(source: Source, asked: Asked, before: str) -> None:
    """Search for a slice of time and show the progress; run the page again when the phase `before` is over."""
    heading(TITLE, "flip", note="as edited" if source.edits else "", about=ABOUT)
    search = _search(asked)
    if search is None:
        _offer(asked)
    else:
        search.advance(SLICE)
        _progress(search) if search.running else _ended(source, search)
    if _phase(search) != before:
        st.rerun()


def _offer(asked: Asked) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Look for the smallest change", key="flip-start", on_click=_begin, args=(asked,))
        caption(OFFER)
    if text := state.take(state.FLIP_PROBLEM):
        problem("The search was not begun", text)


def _begin(asked: Asked) -> None:
    run, _, text, target, edits = asked
    with state.refusals(state.FLIP_PROBLEM):
        state.put(state.FLIP, figures.Searching(asked, data.flips(run, text, target, edits)))


def _progress(search: figures.Searching) -> None:
    found = search.found
    what, share = "Looking for the smallest change", found.readings / found.allowed.readings
    stoppable(what, figures.progress_line(search), share, "flip-stop", search.stop, (), "What was found so far stays")
    if found.flip:
        st.html(figures.marked(found.text, found.flip.moves))


def _ended(source: Source, search: figures.Searching) -> None:
    found = search.found
    finding(*figures.verdict(search))
    if found.note:
        caption(found.note)
    for place, flip in enumerate(search.flips):
        _flip(source, found.text, flip, place)
    caption(figures.allowed_line(found.allowed))
    if found.allowed.replacements:
        with st.expander("What each word may be replaced by"):
            notes(figures.replacement_lines(found.allowed))


def _flip(source: Source, text: str, flip: Flip, place: int) -> None:
    read = replace(source.view, probabilities=flip.probabilities)
    with st.container(key=f"flip-{place}", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(gap="xxsmall"):
            st.html(figures.marked(text, flip.moves))
            caption(f"{figures.moves_line(flip.moves).capitalize()}.")
        with st.container(width=300):
            answer(source.record, read, look(), small=True)
        take = partial(state.put, state.TEXT, flip.text)
        if st.button("Read this one", f"flip-read-{place}", "Puts it into the text field", take):
            st.rerun()
