"""The tag of texts that a run is unsure of under dropout: found in a process of its own when somebody asks."""

from __future__ import annotations

import streamlit as st

from core.exceptions import SentiscopeError
from core.failures import unsure
from core.runs import errands
from dashboard import data, state
from dashboard.figures.source import Source
from dashboard.widgets.errand import watch
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem

NAME = "unsure under dropout"


def unsure_offer(source: Source) -> None:
    """Why there is no such tag, the job while it runs, or the button that begins it; nothing once it is there."""
    record, split = source.record, source.split
    found = data.unsure(record, split)
    if found.files is None:
        caption(f"There is no tag “{NAME}”: {found.why}.")
        return
    job = errands.job(found.files)
    if job.status == "done":
        return
    if job.status == "running":
        watch(found.files, "Reading with dropout on", "unsure")
        return
    if job.status == "failed":
        problem("It could not be read with dropout on", job.what)
    if text := state.take(state.UNSURE_PROBLEM):
        problem("It was not begun", str(text))
    st.button(
        f"Find what is {NAME}",
        key="find-unsure",
        on_click=_start,
        args=(source,),
        help=f"The run reads the texts {unsure.READINGS} times with dropout left on, in a separate process, and keeps "
        f"what it finds. The tag: the answer is another in {unsure.FLIPS:.0%} of the readings or more, or its "
        f"probability has a standard deviation of {unsure.SPREAD} or more.",
    )


def _start(source: Source) -> None:
    """A callback."""
    found = data.unsure(source.record, source.split).files
    if found is None:
        return
    errands.forget(found)
    try:
        unsure.start(data.store(), source.record, source.split)
    except SentiscopeError as error:
        state.put(state.UNSURE_PROBLEM, str(error))
