"""The sentences at which a run fails; one of them opens on Sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import selection, state
from dashboard.figures.behavioral_tests import FAILING, Behaved, Failing, failing
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.runs import chosen_record
from dashboard.widgets.selected import inside_button
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
    key = f"fig-{name}"

    def look_at() -> None:
        take_failing(found, state.draft(state.current(key), {}).get("selection", {}).get("rows", []), key)

    event = place(
        FAILING.draw(found, look()), name, f"Failing: {found.name}", on_select=look_at, selection_mode="single-row"
    )
    caption(FAILING.say(FAILING.reading, found))
    rows = event["selection"]["rows"]
    record = chosen_record()
    if rows and record is not None and inside_button(record):
        state.choose_run(run)
        selection.look_inside()
    return FAILING.numbers(found)


def take_failing(found: Failing, rows: Sequence[int] = (), by: str = "") -> None:
    """All cases that fail are selected on all pages; the chosen one of them is looked at."""
    record = chosen_record()
    if not found.cases or record is None:
        return
    texts = [case.texts[-1] for _, case in found.cases]
    labels = [case.expected[0] if len(case.expected) == 1 else "" for _, case in found.cases]
    known = [label if label in record.classes else "" for label in labels]
    about = f"fails {found.name}"
    selection.choose_sentences(record, texts, known, about, at=rows[0] if rows else None, by=by)
