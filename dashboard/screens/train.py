"""Train: choose a model and data, start, watch it learn, stop it."""

from __future__ import annotations

import streamlit as st

from dashboard import data, state
from dashboard.widgets.header import header
from dashboard.widgets.runs import facts
from dashboard.widgets.train_form import train_form
from dashboard.widgets.training import LIVE, past, queue, watch

CHOOSE = "Which model shall learn, from what, and for how long?"
WATCH = "Is it still learning, and when should it stop?"
POLL_SECONDS = 1.0


def page() -> None:
    """The training that goes on, or the form and what became of the chosen run."""
    records = data.runs()
    record = next((one for one in records if one.run == state.run()), None)
    if record is not None and record.status in LIVE:
        header("Train", WATCH, facts(record))
        st.fragment(watch, run_every=POLL_SECONDS)(record.run)
        queue(records, record.run)
        return
    header("Train", CHOOSE)
    train_form()
    queue(records)
    if record is not None and record.status != "damaged":
        past(record)


page()
