"""Train: choose a model and data, start, watch it learn, stop it."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.data import data
from dashboard.screens.train_form import train_form
from dashboard.screens.train_watch import LIVE, past, queue, watch
from dashboard.widgets.header import header
from dashboard.widgets.runs import damaged, facts

CHOOSE = "Which model shall learn, from what, and for how long?"
WATCH = "Is it still learning, and when should it stop?"
POLL_SECONDS = 1.0


def page() -> None:
    """The training under way, or the form and what became of the chosen run."""
    records = data.runs()
    record = next((one for one in records if one.run == state.run()), None)
    if record is not None and record.status in LIVE:
        header("Train", WATCH, facts(record))
        st.fragment(_live, run_every=POLL_SECONDS)(record.run)
        with st.expander("Train another model", icon=":material/add:"):
            train_form()
        return
    header("Train", CHOOSE)
    train_form()
    waiting = any(one.status in LIVE for one in records)
    st.fragment(_others, run_every=POLL_SECONDS if waiting else None)(waiting)
    if record is not None:
        (damaged if record.status == "damaged" else past)(record)


def _live(run: str) -> None:
    """Drawn anew every second: the training and whatever else runs or waits."""
    _follow_wish()
    watch(run)
    queue(data.runs(), run)


def _others(waiting: bool) -> None:
    """The same without a training run of one's own to watch; one full run at the end switches the clock off."""
    _follow_wish()
    records = data.runs()
    if waiting and not any(one.status in LIVE for one in records):
        st.rerun()
    queue(records)


def _follow_wish() -> None:
    """Where another run was asked for here, the whole page is to speak of it."""
    if state.requested_run():
        st.rerun()


page()
