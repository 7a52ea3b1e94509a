"""Search for the smallest change of a text that flips the prediction, in short time slices that can be stopped."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.model_edits import Edits
from dashboard import state
from dashboard.data import data
from dashboard.figures import counterfactuals as figures
from dashboard.figures.figure import Source
from dashboard.figures.word_attributions import TOWARDS
from dashboard.widgets.bars import show_prediction
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show_caption, show_heading
from dashboard.widgets.messages import show_finding, show_notes, show_refusal
from dashboard.widgets.progress import show_stoppable
from dashboard.widgets.style import get_look

if TYPE_CHECKING:
    from core.interpret.counterfactual import Flip

TITLE = "What would change the prediction"
ABOUT = (
    "The search deletes a word, or replaces it by one of at most 8 others: words of opposite polarity in the lexicon, "
    "and neighbours among the model’s word vectors. It deletes or replaces up to two words, deletes up to three, and "
    "reads at most 4 000 texts, small changes first. Your changes inside the model apply."
)
OFFER = "Finds the fewest words to delete or replace to change the prediction."
Asked = tuple[str, str, str, str, Edits]
"""Run, weights, text, target and edits."""
SLICE, TICK = 0.3, 0.1
"""Seconds of search between two checks for a click, and of pause."""


def show_counterfactual(source: Source) -> Tables:
    """Show the search for the smallest change that flips the prediction; return the table of its results."""
    run = source.record.run
    target = str(source.get_choice(TOWARDS)) if TOWARDS.has_choices(source) else ""  # with two classes, the prediction
    asked = (run, data.hash_weights(run), source.text, target, source.edits)
    search = _get_search(asked)
    ticking = search is not None and search.running
    with st.container(key="flip"):
        st.fragment(_show_section, run_every=TICK if ticking else None)(source, asked, _get_phase(search))
    return {} if search is None or search.running else {"Smallest change": figures.build_flip_table(search)}


def _get_search(asked: Asked) -> figures.SearchSession | None:
    search: figures.SearchSession | None = state.get_value(state.FLIP, None)
    return search if search is not None and search.asked == asked else None


def _get_phase(search: figures.SearchSession | None) -> str:
    return "" if search is None else "running" if search.running else "ended"


def _show_section(source: Source, asked: Asked, before: str) -> None:
    """Continue a counterfactual search for one time slice and show its state; rerun the page if its phase changed."""
    show_heading(TITLE, "flip", note="after your changes" if source.edits else "", about=ABOUT)
    search = _get_search(asked)
    if search is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button("Find the smallest change", key="flip-start", on_click=_begin_search, args=(asked,))
            show_caption(OFFER)
        show_refusal(state.FLIP_PROBLEM, "The search did not start")
    elif search.running:
        _show_progress(search)  # before the slice: a tick that comes during it would drop what follows
        search.advance(SLICE)
    else:
        _show_result(source, search)
    if _get_phase(search) != before:
        st.rerun()


def _begin_search(asked: Asked) -> None:
    run, _, text, target, edits = asked
    with state.store_refusal(state.FLIP_PROBLEM):
        state.set_value(state.FLIP, figures.SearchSession(asked, data.search_counterfactual(run, text, target, edits)))


def _show_progress(search: figures.SearchSession) -> None:
    found = search.found
    what, share = "Finding the smallest change", found.readings / found.allowed.readings
    show_stoppable(
        what, figures.write_progress(search), share, "flip-stop", search.stop, (), "Keeps the results so far"
    )
    if found.flip:
        st.html(figures.mark_moves(found.text, found.flip.moves))


def _show_result(source: Source, search: figures.SearchSession) -> None:
    found = search.found
    show_finding(*figures.write_verdict(search))
    if found.note:
        show_caption(found.note)
    for place, flip in enumerate(search.flips):
        _show_change(source, found.text, flip, place)
    show_caption(figures.describe_moves(found.allowed))
    if found.allowed.replacements:
        with st.expander("Possible replacements of each word"):
            show_notes(figures.list_replacements(found.allowed))


def _show_change(source: Source, text: str, flip: Flip, place: int) -> None:
    read = replace(source.view, probabilities=flip.probabilities)
    with st.container(key=f"flip-{place}", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(gap="xxsmall"):
            st.html(figures.mark_moves(text, flip.moves))
            show_caption(f"{figures.write_moves(flip.moves).capitalize()}.")
        with st.container(width=300):
            show_prediction(source.record, read, get_look(), small=True)
        take = partial(state.set_value, state.TEXT, flip.text)
        if st.button("Use this text", f"flip-read-{place}", "Puts it into the text field", take):
            st.rerun()
