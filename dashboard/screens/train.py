"""Train: choose a model and data, start, watch it learn, stop it."""

from __future__ import annotations

import streamlit as st

from core.config import parse_settings
from core.data.sources import SOURCES
from core.exceptions import SentiscopeError
from core.models.presets import PRESETS
from core.runs import jobs
from core.runs.record import RunRecord
from core.training.config import TrainingConfig
from core.verbs import configure
from dashboard import data, state
from dashboard.charts.numbers import count, duration, number
from dashboard.charts.training import Curves, lambdas, learning
from dashboard.views import curve_tables
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.header import header
from dashboard.widgets.messages import finding, problem, progress
from dashboard.widgets.runs import facts
from dashboard.widgets.style import look

CHOOSE = "Which model shall learn, from what, and for how long?"
WATCH = "Is it still learning, and when should it stop?"
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
POLL_SECONDS = 1.0
LIVE = ("queued", "running")


def page() -> None:
    """The form, or the training that is going on."""
    record = next((one for one in data.runs() if one.run == state.run()), None)
    if record is not None and record.status in LIVE:
        header("Train", WATCH, facts(record))
        st.fragment(_watch, run_every=POLL_SECONDS)(record.run)
        return
    header("Train", CHOOSE)
    _form()
    _others()
    if record is not None and record.status != "damaged":
        _past(record)


def _form() -> None:
    with st.container(key="train-form", horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(
            "Model",
            list(PRESETS),
            index=list(PRESETS).index("ndt-01-n3"),
            key=state.PRESET,
            width=210,
            persist_state="session",
            help="All presets in words: `sentiscope presets`",
        )
        st.selectbox(
            "Data",
            [name for name, source in SOURCES.items() if source.task == "single"],
            key=state.DATA,
            width=210,
            accept_new_options=True,
            persist_state="session",
            help="A known name, or the path of a file or folder on this machine",
        )
        st.number_input(
            "Epochs",
            1,
            1000,
            TrainingConfig.epochs,
            key=state.EPOCHS,
            width=130,
            persist_state="session",
            help="How often it sees all sentences, at most; it stops earlier when nothing improves",
        )
        with st.popover("More"):
            st.number_input(
                "Training sentences, at most",
                0,
                None,
                0,
                500,
                key=state.LIMIT,
                persist_state="session",
                help="0: all of them. Fewer are quicker; classes keep their shares",
            )
            st.number_input(
                "Seed",
                0,
                None,
                0,
                key=state.SEED,
                persist_state="session",
                help="The same seed gives the same model; others show how much is chance",
            )
            st.text_input(
                "Name of the run", key=state.NAME, persist_state="session", placeholder="made from the choices"
            )
            st.text_area(
                "Further settings, one name=value a line",
                key=state.SETTINGS,
                persist_state="session",
                placeholder="training.lr=0.001\nmodel.layers=3",
                help="The names of `sentiscope train --set`",
            )
        st.button("Start training", type="primary", on_click=_start, key="start")
    preset = PRESETS[state.draft(state.PRESET, "ndt-01-n3")]
    caption(
        f"{preset.line} Everything under More has a sensible default; the training goes on when this tab is closed."
    )
    if text := state.take(state.PROBLEM):
        problem("This training cannot start", text)


def _start() -> None:
    """Button: make the run, start its process, and choose it."""
    draft = state.draft
    try:
        settings = parse_settings(line for line in draft(state.SETTINGS, "").splitlines() if line.strip())
        own = {
            "data.limit": draft(state.LIMIT, 0),
            "training.seed": draft(state.SEED, 0),
            "training.epochs": draft(state.EPOCHS, 10),
        }
        preset = draft(state.PRESET, "ndt-01-n3")
        record = jobs.submit(
            data.store(),
            configure(draft(state.DATA, "built-in"), preset, {**own, **settings}),
            preset,
            draft(state.NAME, ""),
        )
    except SentiscopeError as error:
        state.put(state.PROBLEM, str(error))
        return
    state.choose_run(record.run)


def _others() -> None:
    """Trainings that go on elsewhere, each one click away."""
    for record in (one for one in data.runs() if one.status in LIVE):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                f"Watch {record.run}",
                on_click=state.choose_run,
                args=(record.run,),
                type="tertiary",
                icon=":material/play_circle:",
                key=f"watch-{record.run}",
            )


def _watch(run: str) -> None:
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
        place = jobs.position(data.runs(), record.run)
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


def _past(record: RunRecord) -> None:
    """What became of the chosen run."""
    curves, skipped = data.curves(record)
    heading(record.run, "past", note=_outcome(record))
    if record.status in ("failed", "cancelled"):
        problem(f"This training has {'failed' if record.status == 'failed' else 'been stopped'}", record.reason)
    if curves.loss:
        _figures(curves, skipped)
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
    if not curves.loss:
        return
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
    export_bar("train", curve_tables(curves))


page()
