"""Deleting a run from a page: never without asking, and never one that is being trained."""

from __future__ import annotations

import streamlit as st

from core.exceptions import SentiscopeError
from dashboard import state
from dashboard.data import data
from dashboard.figures.results import offered
from dashboard.widgets.messages import finding, problem

WHAT = "Its record, curves, weights, predictions and maps are deleted for good; other runs are not touched."


def removal_button(run: str) -> None:
    """Offers to delete a run, after asking."""
    if st.button("Delete …", key=f"remove-{run}", type="tertiary", help="Asks first"):
        _ask(run)


@st.dialog("Delete a run")
def _ask(run: str) -> None:
    """The question, or why there is none to ask."""
    try:
        data.store().removable(run)
    except SentiscopeError as error:
        problem("This run stays", str(error))
        return
    problem(f"Delete “{run}”?", WHAT)
    with st.container(horizontal=True):
        if st.button("Delete it", key="remove-yes", type="primary", on_click=_remove, args=(run,)):
            st.rerun()
        if st.button("Keep it", key="remove-no"):
            st.rerun()


def _remove(run: str) -> None:
    """Button: gone, and no page speaks of it any longer."""
    try:
        data.store().remove(run)
    except SentiscopeError as error:
        state.put(state.REMOVED, ("It could not be deleted", str(error)))
        return
    state.clear(state.ROWS)  # a chosen row is a place in the table, where another run stands now
    if state.run() == run and (first := offered(data.runs())):
        state.choose_run(first.run)
    state.put(state.REMOVED, (f"“{run}” is deleted", "Nothing of it is left here."))


def removed() -> None:
    """What became of the last deletion; shown once."""
    if said := state.take(state.REMOVED):
        finding(*said)
