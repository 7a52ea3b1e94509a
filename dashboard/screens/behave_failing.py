"""The sentences at which a run fails; one of them opens on Sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import state
from dashboard.figures.behaviour import Behaved
from dashboard.figures.failing import FAILING, failing, failing_table
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd


def failing_of(behaved: Behaved, picked: str) -> dict[str, pd.DataFrame]:
    """The failing cases of a picked row; gives the table for the export.

    Args:
        behaved: What is shown.
        picked: The id of the row.
    """
    state.keep_to(state.FAILS, behaved.runs)
    run = state.asked(state.FAILS) if state.asked(state.FAILS) in behaved.runs else behaved.run
    found = failing(behaved, picked, run)
    heading(FAILING.say(FAILING.title, found), FAILING.name, note=FAILING.say(FAILING.note, found))
    if len(behaved.runs) > 1:
        st.segmented_control(
            "Fails for",
            behaved.runs,
            default=behaved.run,
            key=state.FAILS,
            bind="query-params",
            required=True,
            label_visibility="collapsed",
        )
    if not found.cases:
        caption(f"{run} passes all of it." if found.asked else f"{run} has no class that could be right.")
        return {}
    name = f"{FAILING.name}-{picked}-{run}"
    event = place(
        FAILING.draw(found, look()), name, f"Failing: {found.name}", on_select="rerun", selection_mode="single-row"
    )
    caption(FAILING.say(FAILING.reading, found))
    rows = event["selection"]["rows"]
    if rows and st.button("Look inside this sentence", icon=":material/notes:", key="open-failing"):
        state.choose_run(run)
        state.go("sentence", **{state.TEXT: failing_table(found)["text"][rows[0]]})
    return FAILING.numbers(found)
