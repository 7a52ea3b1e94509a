"""Train: choose a model and data, start, watch it learn, stop it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data.kept_examples import NAME
from core.data.lineage import NAME as LINEAGE
from core.exceptions import SentiscopeError
from core.runs import jobs
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.curves import Curves
from dashboard.figures.numbers import count, duration, number, plus_minus
from dashboard.figures.results import headline
from dashboard.figures.training import LAMBDAS, LEARNING
from dashboard.screens.train_form import train_form
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.header import header
from dashboard.widgets.messages import finding, problem, progress, selection_note
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
        if record.status == "running":
            st.button(
                "Pause",
                icon=":material/pause:",
                key="pause",
                on_click=_stop,
                args=(run, True),
                help="Saves a checkpoint and makes room for others; “Resume” continues from there",
            )
        st.button(
            "Cancel",
            icon=":material/close:",
            key="cancel",
            type="tertiary",
            on_click=state.put,
            args=(state.CANCELLING, run),
            help="Asks first, since it ends it for good",
        )
    _confirm(record)
    _numbers(record, curves)
    if record.config.model.by_steps:
        # Empty at first: the browser fetches what draws it while the process that trains comes up.
        _figures(curves, skipped)


def _confirm(record: RunRecord) -> None:
    """Where cancelling was asked for: what it costs, and the button that does it."""
    if state.draft(state.CANCELLING, "") != record.run:
        return
    run, name = record.run, f"*{record.run}*"  # for those who hear the page
    if record.status == "running":
        cost = "Its curves stay; its checkpoint is dropped, so that it can only start over. “Pause” would keep it."
    elif data.has_checkpoint(run):
        cost = "It waits to be resumed. Its curves stay; its checkpoint is dropped, so that it can only start over."
    else:
        cost = "It has not begun, so there is no checkpoint to lose; it leaves the queue."
    with st.container(key=f"queued-confirm-{run}", horizontal=True, vertical_alignment="center", gap="small"):
        selection_note(f"Cancel {run}?", cost)
        st.button(f"Cancel it {name}", on_click=_stop, args=(run, False), type="primary", key=f"confirm-cancel-{run}")
        st.button(f"Leave it {name}", on_click=state.take, args=(state.CANCELLING,), key=f"leave-{run}")


def _stop(run: str, keep: bool) -> None:
    state.take(state.CANCELLING)
    try:
        jobs.cancel(data.store(), run, keep=keep, insist=True)
    except SentiscopeError as error:
        if data.store().read(run).status in LIVE:  # else it ended by itself between the look and the click
            state.put(state.PROBLEM, str(error))


def _go_on(run: str) -> None:
    state.take(state.CANCELLING)
    try:
        jobs.start(data.store(), run)
    except SentiscopeError as error:
        state.put(state.PROBLEM, str(error))


def queue(records: Sequence[RunRecord], beside: str = "") -> None:
    """Other runs that train or wait, in their order; `beside` is the one that the page shows already."""
    live = [record for record in records if record.status in LIVE]
    others = sorted((one for one in live if one.run != beside), key=lambda one: (one.status != "running", one.created))
    if not others:
        return
    heading("Queue", "queue", note=f"{count(len(live))} running or waiting")
    for record in others:
        place = jobs.position(records, record.run)
        with st.container(key=f"queued-{record.run}", horizontal=True, vertical_alignment="center", gap="small"):
            selection_note(record.run, f"number {place} in the queue" if place else "running")
            name, run = f"Watch *{record.run}*", record.run  # the name is for those who hear the page
            st.button(name, on_click=state.choose_run, args=(run,), type="tertiary", key=f"watch-{run}")
            asked = (state.CANCELLING, run)
            st.button(f"Cancel *{run}*", on_click=state.put, args=asked, type="tertiary", key=f"cancel-{run}")
        _confirm(record)


def _progress(record: RunRecord, curves: Curves) -> tuple[str, str, float]:
    if jobs.is_stuck(data.store(), record):
        return "Does not answer", "“Cancel” once more ends its process", 0.0
    if data.store().cancel_requested(record.run):
        return "Stopping", "after the step under way", 0.0
    if record.status == "queued":
        records = data.runs()
        place = jobs.position(records, record.run)
        if place == 1 and all(other.status != "running" for other in records):
            return "Starting", "the training process is starting · you may close this tab", 0.0
        return "Waiting for a free place", f"number {place} in the queue · you may close this tab", 0.0
    now = max([*curves.step[-1:], *curves.lambda_step[-1:], *curves.epoch[-1:], 0.0])
    if record.progress.get("stage") == "masked" and not now:
        done = record.progress["step"] / record.progress["steps"]
        epoch, epochs = record.progress["epoch"], record.progress["epochs"]
        left = duration(record.seconds / done * (1 - done)) if done else "not yet known how long"
        return f"Masked words, epoch {min(epoch + 1, epochs)} of {epochs}", f"{left} left before the labels", done
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


def _numbers(record: RunRecord, curves: Curves) -> None:
    """The first test metrics as soon as they are known, before that the last validation."""
    if found := headline(record):
        rest = "intervals and the TF-IDF yardstick follow" if found.low is None else "the TF-IDF yardstick follows"
        caption(f"Test {found.name} {number(found.value)}; {rest}.")
    elif curves.epoch:
        spread = ""
        if curves.validation_range:
            low, high = curves.validation_range[-1]
            spread = f" ({number(low)} to {number(high)})"
        caption(
            f"After epoch {len(curves.epoch)}: validation loss {number(curves.validation_loss[-1])}, "
            f"{curves.metric} {number(curves.validation_metric[-1])}{spread}."
        )


def past(record: RunRecord) -> None:
    """What became of the chosen run, and what can be done with it."""
    curves, skipped = data.curves(record)
    heading(record.run, "past", note=_outcome(record))
    if record.status == "failed":
        problem("Training has failed", record.reason)
    elif record.status == "cancelled":
        finding("Training has been stopped", _stands(record))
    if record.status == "done":
        _reached(record)
    elif record.unbound:
        finding("This run can be looked at, and not be trained here", record.unbound)
    else:
        kept = data.has_checkpoint(record.run)
        st.button(
            "Resume" if kept else "Start over",
            icon=":material/play_arrow:",
            key="go-on",
            on_click=_go_on,
            args=(record.run,),
            help="Continues from its last checkpoint" if kept else "No checkpoint is left; it starts from step 0",
        )
    if record.strange:
        caption(f"Written by a newer version, kept and not read here: {', '.join(record.strange[:8])}.")
    if curves.loss:
        _figures(curves, skipped)
        export_bar("train", LEARNING.numbers(curves))
    elif record.status == "done":
        by_steps = record.config.model.by_steps
        why = "has no readable history left" if by_steps else "is not trained step by step: it is solved in one go"
        finding("There are no curves to show", f"{record.preset} {why}. Its numbers are on Performance.")


def _stands(record: RunRecord) -> str:
    """How far a stopped training came."""
    if not data.has_checkpoint(record.run) or not record.progress.get("steps"):
        return record.reason
    done, steps = count(int(record.progress["step"])), count(int(record.progress["steps"]))
    same = f"`sentiscope train --resume {record.run}`"
    return f"It stands at step {done} of {steps}. “Resume” continues there, as does {same}."


def _reached(record: RunRecord) -> None:
    """Where a finished run leads to."""
    if found := headline(record):
        known = found.low is not None and found.high is not None
        said = plus_minus(found.value, found.low or 0, found.high or 0) if known else number(found.value)
        beside = f"; TF-IDF with logistic regression {number(found.yardstick)}" if found.yardstick is not None else ""
        caption(f"Test {found.name} {said}{beside}.")
    for note in record.data_notes:
        if note.startswith((NAME, LINEAGE)):
            caption(f"{note[:1].upper()}{note[1:]}.")
    with st.container(horizontal=True):
        of_texts = (("See what it gets wrong", "performance", "target"), ("Type a sentence", "sentence", "notes"))
        of_words = (("See what it gets wrong", "tokens", "label"),)
        for title, page, icon in of_words if record.task == "tokens" else of_texts:
            if st.button(title, key=f"to-{page}", icon=f":material/{icon}:"):
                state.go(page)


def _outcome(record: RunRecord) -> str:
    words = {"done": "finished", "failed": "failed", "cancelled": "stopped"}
    took = f" after {duration(record.seconds)}" if record.seconds else ""
    return words.get(record.status, record.status) + took


def _figures(curves: Curves, skipped: int) -> None:
    show(LEARNING, curves)
    if curves.lambdas:
        show(LAMBDAS, curves)
    if skipped:
        problem(
            f"{count(skipped)} lines of the history cannot be read",
            "They were left out of the curves; the run itself is not affected.",
        )


page()
