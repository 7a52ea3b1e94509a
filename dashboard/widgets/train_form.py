"""Choosing what to train, and starting it."""

from __future__ import annotations

import streamlit as st

from core.config import parse_settings
from core.exceptions import SentiscopeError
from core.models.presets import PRESETS
from core.runs import jobs
from core.training.config import TrainingConfig
from core.verbs import configure
from dashboard import data, datasets, state
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem

MODEL, DATA = "ndt-01-n3", "built-in"


def train_form() -> None:
    """Four choices on top, the rest under More, one button."""
    with st.container(key="train-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            "Model",
            list(PRESETS),
            index=list(PRESETS).index(MODEL),
            key=state.PRESET,
            width=165,
            persist_state="session",
            help="All presets in words: `sentiscope presets`",
        )
        st.selectbox(
            "Data",
            [option.id for option in datasets.options() if not option.lacking],
            key=state.DATA,
            bind="query-params",
            width=165,
            accept_new_options=True,
            help="A known name, or the path of a file or folder on this machine; the Data page shows what is in it",
        )
        st.number_input(
            "Epochs",
            1,
            1000,
            TrainingConfig.epochs,
            key=state.EPOCHS,
            width=120,
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
    preset = PRESETS[state.draft(state.PRESET, MODEL)]
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
        preset = draft(state.PRESET, MODEL)
        chosen = datasets.option(draft(state.DATA, DATA)).settings
        record = jobs.submit(
            data.store(),
            configure(chosen["data.name"], preset, {**own, **chosen, **settings}),
            preset,
            draft(state.NAME, ""),
        )
    except SentiscopeError as error:
        state.put(state.PROBLEM, str(error))
        return
    state.choose_run(record.run)
