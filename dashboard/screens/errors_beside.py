"""The tags of Errors that other runs give, and why some tags are absent."""

from __future__ import annotations

import streamlit as st

from core.exceptions import SentiscopeError
from core.failures.tags import MODELS, WITH, called
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import finding

UNSURE = "unsure under dropout"


def other_run(record: RunRecord, split: str) -> str:
    """The run that the picker below the tags holds; empty: none, as at first: nobody has asked for one."""
    run = state.offer(state.DISAGREE, data.models_beside(record, split))
    try:
        return run if run and len(data.known(record, split).tagged.rows(f"{WITH}{run}")) else ""
    except SentiscopeError as error:
        finding(f"{run} cannot stand beside it", f"{error}.")
        return ""


def beside_tags(shown: Analysis) -> None:
    """Below the table of tags: the picker, and which tags are not there."""
    there = data.models_beside(shown.table.record, shown.table.split)
    if there:
        st.selectbox(
            "Compare with",
            there,
            index=None,
            key=state.DISAGREE,
            bind="query-params",
            width=320,
            placeholder="Another model",
            help="A tag for the sentences of which this run says something else; the best on this split stands first",
        )
    if said := absent(shown, "none is picked above" if there else "no other model was evaluated on these rows"):
        caption(f"Not here: {said}.")


def absent(shown: Analysis, lone: str) -> str:
    """Why tags are absent, those with the same reason together; of dropout only where nobody can ask for it.

    Args:
        shown: once all tags have been found.
        lone: why no other model disagrees.
    """
    reasons: dict[str, list[str]] = {}
    own = {MODELS: lone, UNSURE: data.unsure(shown.table.record, shown.table.split).why}
    for name, why in shown.known.tagged.absent.items():
        if reason := own.get(name, why):
            reasons.setdefault(reason, []).append(called(name))
    return " · ".join(f"{', '.join(names)} – {why}" for why, names in reasons.items())
