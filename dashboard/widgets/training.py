"""A training as it goes on, and what became of it."""

from __future__ import annotations

import streamlit as st

from core.exceptions import SentiscopeError
from core.runs import jobs
from core.runs.record import RunRecord
from dashboard import data
from dashboard.charts.numbers import count, duration, number
from dashboard.charts.training import Curves, lambdas, learning
from dashboard.views.training import curve_tables
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.messages import finding, problem, progress
from dashboard.widgets.style import look

LEARNING = "Stop when the validation loss turns upwards while the training loss still falls."
LEARNING_HOW = (
    "Training loss is that of each logged batch; validation is measured on all validation sentences after each epoch. "
    "The best epoch by the validation metric is kept."
)
LAMBDAS = (
    "Left: the value; above zero a component is added, below zero it is taken away. Right: the same, counted from its "
    "first value and magnified. The stronger the line, the deeper the layer."
)
LAMBDAS_HOW = (
    "One value for each layer and component, logged with the loss; where heads or tokens differ, their mean. "
    "All panels on the right share one scale, so that the components can be compared."
)
LIVE = ("queued", "running")


def watch(run: str) -> None:
    """Drawn anew every second while the run is live; one full run at its end switches the clock off."""
    record = data.store().read(run)
    if record.status not in LIVE:
        st.rerun()
    curves, skipped = data.curves(record)
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container():
            progress(*_progress(record, curves))
        st.button(
            "Stop",
            icon=":material/stop:",
            key="stop",
            on_click=_stop,
            args=(run,),
            help="Saves a checkpoint first; “sentiscope train --resume” goes on from there",
        )
    _numbers(curves)
    if curves.loss:
        _figures(curves, skipped)


def _stop(run: str) -> None:
    try:
        jobs.cancel(data.store(), run)
    except SentiscopeError:
        pass  # it ended by itself between the look and the click


def _progress(record: RunRecord, curves: Curves) -> tuple[str, str, float]:
    if data.store().cancel_wished(record.run):
        return "Stopping", "saving a checkpoint", 0.0
    if record.status == "queued":
        records = data.runs()
        place = jobs.position(records, record.run)
        if place == 1 and all(other.status != "running" for other in records):
            return "Starting", "the process that trains comes up · you may close this tab", 0.0
        return "Waiting for a free place", f"number {place} in the queue · you may close this tab", 0.0
    now = max([*curves.step[-1:], *curves.lambda_step[-1:], *curves.epoch[-1:], 0.0])
    if not now:
        return "Getting ready", "reading the data, building the vocabulary · you may close this tab", 0.0
    if now >= curves.epochs:
        return "Evaluating", "measuring on the test sentences", 1.0
    left = duration(curves.seconds / now * (curves.epochs - now))
    return (
        f"Epoch {int(now) + 1} of {curves.epochs}",
        f"at most {left} left · you may close this tab",
        now / curves.epochs,
    )


def _numbers(curves: Curves) -> None:
    if curves.epoch:
        caption(
            f"After epoch {len(curves.epoch)}: validation loss {number(curves.validation_loss[-1])}, "
            f"{curves.metric} {number(curves.validation_metric[-1])}."
        )


def past(record: RunRecord) -> None:
    """What became of the chosen run."""
    curves, skipped = data.curves(record)
    heading(record.run, "past", note=_outcome(record))
    if record.status == "failed":
        problem("This training has failed", record.reason)
    elif record.status == "cancelled":
        finding("This training has been stopped", record.reason)
    if curves.loss:
        _figures(curves, skipped)
        export_bar("train", curve_tables(curves))
    elif record.status == "done":
        finding(
            "There are no curves to show",
            f"{record.preset} is not trained step by step: it is solved in one go. Its numbers are on Performance.",
        )


def _outcome(record: RunRecord) -> str:
    words = {"done": "finished", "failed": "failed", "cancelled": "stopped"}
    took = f" after {duration(record.seconds)}" if record.seconds else ""
    return words.get(record.status, record.status) + took


def _figures(curves: Curves, skipped: int) -> None:
    figure(
        "Learning",
        learning(curves, look()),
        "learning",
        note=f"{curves.epochs} epochs planned",
        reading=LEARNING,
        about=LEARNING_HOW,
    )
    if curves.lambdas:
        figure(
            "Lambdas",
            lambdas(curves, look()),
            "lambdas",
            note="weight of each further component, by layer",
            reading=LAMBDAS,
            about=LAMBDAS_HOW,
        )
    if skipped:
        problem(
            f"{count(skipped)} lines of the history cannot be read",
            "They were left out of the curves; the run itself is not affected.",
        )
