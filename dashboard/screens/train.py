"""Page Train: the choice of model and data, and the start, progress and stop of a training."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.data.mixture import LINEAGE
from core.exceptions import SentiscopeError
from core.formatting import count, format_duration, format_plus_minus, number
from core.runs import training_jobs
from core.runs.cost_estimate import count_rows, count_uncut_rows
from core.runs.record import RunRecord
from core.runs.store import describe_place
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.results import read_headline
from dashboard.figures.training_curves import GRADIENTS, LEARNING, PROGRESS, describe_learning, draw_progress
from dashboard.figures.training_log import Curves
from dashboard.screens.train_form import show_form
from dashboard.widgets import messages
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show_caption, show_drawing, show_heading
from dashboard.widgets.kept_steps import show_curves
from dashboard.widgets.options import show_sections
from dashboard.widgets.runs import list_facts, show_damaged
from dashboard.widgets.style import get_look

CHOOSE = "Train which model, on what data, for how long?"
WATCH = "Is it still learning, and when should it stop?"
LOOK_BACK = "How did the training go?"
FIRST_STEP, AT_ONCE = "The curves begin with the first step.", "This model is fitted in one go, without curves."
POLL_SECONDS = 1.0
EPOCH, EVALUATING = "Epoch", "Evaluating"
ENDS = {"done": "finished", "failed": "failed", "cancelled": "stopped"}


def show_page() -> None:
    """Draw the Train page: the form of a new training, or the chosen run while it trains and afterwards."""
    records = data.list_runs()
    record = next((one for one in records if one.run == state.get_run()), None)
    view = state.get_latest(state.VIEW)
    if record is not None and (view == state.RUN_VIEW or (record.is_live and view != state.FORM_VIEW)):
        _show_run(record)
        return
    messages.show_header("Train", CHOOSE)
    show_form(partial(_offer_run, record))
    waiting = any(one.is_live for one in records)
    st.fragment(_show_others, run_every=POLL_SECONDS if waiting else None)(waiting)


def _show_run(record: RunRecord) -> None:
    if record.status == "damaged":
        messages.show_header("Train", LOOK_BACK)
        show_damaged(record)
        _offer_form()
    elif record.is_live:
        place = describe_place(record.process)
        messages.show_header("Train", WATCH, list_facts(record, *[("", place)] * bool(place)))
        st.fragment(_show_live, run_every=POLL_SECONDS)(record.run)
    else:
        took = f" after {format_duration(record.seconds)}" if record.seconds else ""
        messages.show_header(
            "Train", LOOK_BACK, list_facts(record, ("", ENDS.get(record.status, record.status) + took))
        )
        messages.show_refusal(state.PROBLEM, "This training cannot continue")
        _show_outcome(record)


def _offer_form() -> None:
    ask = partial(state.set_value, state.VIEW, state.FORM_VIEW)
    st.button("Train another model", "another", on_click=ask, icon=":material/add:")


def _offer_run(record: RunRecord | None) -> None:
    if record is not None:
        ask = partial(state.set_value, state.VIEW, state.RUN_VIEW)
        st.button(f"Curves of {data.label_run(record.run)}", "curves", on_click=ask, type="tertiary")


def _show_live(run: str) -> None:
    if state.get_value(state.REQUESTED, ""):
        st.rerun()
    _watch_run(run)
    _show_queue(data.list_runs(), run)


def _show_others(waiting: bool) -> None:
    """Show the queue of training and waiting runs; rerun the page when the last run ends."""
    records = data.list_runs()
    if state.get_value(state.REQUESTED, "") or (waiting and not any(one.is_live for one in records)):
        st.rerun()
    _show_queue(records)


def _watch_run(run: str) -> None:
    record = data.store().read(run)
    if not record.is_live:
        state.set_value(state.VIEW, state.RUN_VIEW)
        st.rerun()
    curves, skipped = data.read_curves(record)
    stage, detail, share = _describe_progress(record, curves)
    messages.show_summary(_describe_state(record, curves, stage))
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container():
            messages.show_progress("", f"{detail[:1].upper()}{detail[1:]}", share)
        if record.status == "running":
            pause = "Saves a checkpoint and makes room for others; “Resume” continues from there"
            st.button("Pause", "pause", pause, partial(_stop_run, run, keep=True), icon=":material/pause:")
        ask, cancel = partial(state.set_value, state.CANCELLING, run), "Ends the training for good, after asking"
        st.button("Cancel", "cancel", cancel, ask, icon=":material/close:", type="tertiary")
        _offer_form()
    _confirm_cancel(record)
    if curves.loss:
        show_drawing(PROGRESS.draw(curves, get_look()), PROGRESS.name, str(PROGRESS.reading))
        show_caption(str(PROGRESS.reading))
        _show_more(record, curves, skipped)
    else:
        st.html(f'<p class="s-wait">{FIRST_STEP if record.config.model.by_steps else AT_ONCE}</p>')


def _confirm_cancel(record: RunRecord) -> None:
    refused, why = state.get_value(state.NOT_STOPPED, ("", ""))
    if refused == record.run:
        messages.show_problem("This training was not stopped", why)
    if state.get_value(state.CANCELLING, "") != record.run:
        return
    run, name = record.run, f"*{data.label_run(record.run)}*"  # for screen readers
    if record.status == "running":
        cost = "This keeps its curves but deletes its checkpoint: it can only start over. “Pause” keeps the checkpoint."
    elif data.has_checkpoint(run):
        cost = "It waits to be resumed. This keeps its curves but deletes its checkpoint: it can only start over."
    else:
        cost = "It has not started, so it has no checkpoint. It leaves the queue."
    with st.container(key=f"queued-confirm-{run}", horizontal=True, vertical_alignment="center", gap="small"):
        messages.show_selection(f"Cancel {data.label_run(run)}?", cost)
        stop = partial(_stop_run, run, keep=False)
        st.button(f"Cancel it {name}", on_click=stop, type="primary", key=f"confirm-cancel-{run}")
        st.button(f"Leave it {name}", on_click=state.pop_value, args=(state.CANCELLING,), key=f"leave-{run}")


def _stop_run(run: str, *, keep: bool) -> None:
    state.pop_value(state.CANCELLING)
    state.pop_value(state.NOT_STOPPED)
    try:
        training_jobs.cancel(data.store(), run, keep=keep, insist=True)
    except SentiscopeError as error:
        if data.store().read(run).is_live:  # it may have ended before the click
            state.set_value(state.NOT_STOPPED, (run, str(error)))


def _resume_run(run: str) -> None:
    state.pop_value(state.CANCELLING)
    with state.store_refusal(state.PROBLEM):
        training_jobs.start(data.store(), run)


def _show_queue(records: Sequence[RunRecord], beside: str = "") -> None:
    live = [record for record in records if record.is_live]
    others = sorted((one for one in live if one.run != beside), key=lambda one: (one.status != "running", one.created))
    if not others:
        return
    show_heading("Queue", "queue", note=f"{count(len(live))} running or waiting")
    for record in others:
        place = training_jobs.get_queue_position(records, record.run)
        with st.container(key=f"queued-{record.run}", horizontal=True, vertical_alignment="center", gap="small"):
            label, run = data.label_run(record.run), record.run  # the name is for screen readers
            where = describe_place(record.process)
            state_now = "running" if not place else "waiting" if where else f"number {place} in the queue"
            messages.show_selection(label, " · ".join(filter(None, (state_now, where))))
            st.button(f"Watch *{label}*", on_click=state.choose_run, args=(run,), type="tertiary", key=f"watch-{run}")
            asked = (state.CANCELLING, run)
            st.button(f"Cancel *{label}*", on_click=state.set_value, args=asked, type="tertiary", key=f"cancel-{run}")
        _confirm_cancel(record)


def _describe_progress(record: RunRecord, curves: Curves) -> tuple[str, str, float]:
    if training_jobs.is_stuck(data.store(), record):
        return "Does not answer", "“Cancel” again ends its process", 0.0
    if data.store().is_cancel_requested(record.run):
        return "Stopping", "after the current step", 0.0
    if record.status == "queued":
        records = data.list_runs()
        if describe_place(record.process):
            return "Waiting for a free place", "you may close this tab", 0.0
        place = training_jobs.get_queue_position(records, record.run)
        if place == 1 and all(other.status != "running" for other in records):
            return "Starting", "the training process is starting · you may close this tab", 0.0
        return "Waiting for a free place", f"number {place} in the queue · you may close this tab", 0.0
    now = max([*curves.step[-1:], *curves.lambda_step[-1:], *curves.epoch[-1:], 0.0])
    if record.progress.get("stage") == "masked" and not now:
        done = record.progress["step"] / record.progress["steps"]
        epoch, epochs = record.progress["epoch"], record.progress["epochs"]
        left = format_duration(record.seconds / done * (1 - done)) if done else "unknown time"
        return f"Masked words, epoch {min(epoch + 1, epochs)} of {epochs}", f"{left} until training on labels", done
    if not now:
        return f"Loading {_count_sentences(record)}", "then building the vocabulary · you may close this tab", 0.0
    if now >= curves.epochs:
        return EVALUATING, "measuring on the test sentences", 1.0
    left = format_duration(curves.seconds / now * (curves.epochs - now))
    left = f"at most {left} left · you may close this tab"
    return f"{EPOCH} {int(now) + 1} of {curves.epochs}", left, now / curves.epochs


def _count_sentences(record: RunRecord) -> str:
    records, counts = data.list_runs(), access.get_counts(record.config)
    rows = record.progress.get("rows", {}).get("train")
    if rows is None and count_uncut_rows(record.config, records, counts) is not None:
        rows = count_rows(record.config, records, counts)
    return "the sentences" if rows is None else f"{count(rows)} sentences"


def _describe_state(record: RunRecord, curves: Curves, stage: str) -> str:
    """Return the finding of a running training; `stage` is shown before its first step, and if it needs attention."""
    if not stage.startswith((EPOCH, EVALUATING)):
        return stage
    if found := read_headline(record):
        rest = "intervals and the TF-IDF baseline follow" if found.low is None else "the TF-IDF baseline follows"
        return f"Test {found.name} is {number(found.value)}; {rest}."
    return describe_learning(curves) if curves.loss else stage


def _show_outcome(record: RunRecord) -> None:
    curves, skipped = data.read_curves(record)
    if record.status == "failed":
        messages.show_problem("Training has failed", record.reason)
    elif record.status == "cancelled":
        messages.show_finding("Training has been stopped", _describe_resume(record))
    if record.status == "done":
        messages.show_summary(_describe_result(record))
    elif record.foreign_reason:
        messages.show_finding("You can view this run but not train it here", record.foreign_reason)
    with st.container(horizontal=True):
        _offer_next(record)
        _offer_form()
    if curves.loss:
        st.fragment(_show_replay)(record.run)
        _show_more(record, curves, skipped)
        show_export_bar("train", LEARNING.build_tables(curves))
    elif record.status == "done":
        by_steps = record.config.model.by_steps
        why = "has no readable history" if by_steps else "is not trained step by step but fitted at once"
        messages.show_finding("There are no curves to show", f"{record.preset} {why}. Its numbers are on Performance.")
    for note in record.data_notes:
        if note.startswith((NAME, LINEAGE)):
            show_caption(messages.as_sentence(note))
    if record.unknown_fields:
        show_caption(f"Fields of a newer version, kept but not read: {', '.join(record.unknown_fields[:8])}.")


def _describe_result(record: RunRecord) -> str:
    found = read_headline(record)
    if found is None:
        return f"{data.label_run(record.run)} is trained."
    beside = (
        f"; TF-IDF with logistic regression reaches {number(found.yardstick)}" if found.yardstick is not None else ""
    )
    return f"Test {found.name} is {format_plus_minus(found.value, found.low, found.high)}{beside}."


def _offer_next(record: RunRecord) -> None:
    if record.status == "done":
        of_texts = (("See what it gets wrong", "performance", "target"), ("Type a sentence", "sentence", "notes"))
        of_words = (("See what it gets wrong", "tokens", "label"),)
        for title, page, icon in of_words if record.task == "tokens" else of_texts:
            if st.button(title, key=f"to-{page}", icon=f":material/{icon}:"):
                state.open_page(page)
    elif not record.foreign_reason:
        word, about = "Start over", "It has no checkpoint, so it starts from step 0"
        if data.has_checkpoint(record.run):
            word, about = "Resume", "Continues from its last checkpoint"
        st.button(word, "go-on", about, partial(_resume_run, record.run), icon=":material/play_arrow:")


def _show_replay(run: str) -> None:
    """Show the curves of an ended training up to a step, which a slider and two buttons choose."""
    curves, _ = data.read_curves(data.store().read(run))
    key, steps = f"{state.REPLAY}{run}", list(curves.step)
    end = state.get_value(key, steps[-1])
    place = steps.index(end) if end in steps else len(steps) - 1
    shown = curves.cut_at(steps[place])
    show_drawing(draw_progress(shown, get_look(), curves), PROGRESS.name, str(PROGRESS.reading))
    with st.container(key="replay", horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.select_slider("Epoch", steps, steps[-1], format_func=lambda epoch: number(epoch, 2), key=key)
        following = steps[min(place + 1, len(steps) - 1)]
        last = place + 1 == len(steps)
        st.button("Next step", "replay-next", on_click=state.set_value, args=(key, following), disabled=last)
        st.button("Reset", "replay-reset", "Before the training", state.set_value, (key, steps[0]))
    show_caption(f"{describe_learning(shown)} {PROGRESS.reading}")


def _describe_resume(record: RunRecord) -> str:
    if not data.has_checkpoint(record.run) or not record.progress.get("steps"):
        return record.reason
    done, steps = count(int(record.progress["step"])), count(int(record.progress["steps"]))
    same = f"`sentiscope train --resume {record.run}`"
    return f"It stopped at step {done} of {steps}. “Resume” or {same} continues there."


def _show_more(record: RunRecord, curves: Curves, skipped: int) -> None:
    figures = (LEARNING, GRADIENTS) if any(curves.norms) else (LEARNING,)
    show_sections({str(figure.title): partial(show_curves, record, figure, curves) for figure in figures})
    if skipped:
        left_out = "The curves leave them out; the run itself is not affected."
        messages.show_problem(f"{count(skipped)} lines of the history cannot be read", left_out)


show_page()
