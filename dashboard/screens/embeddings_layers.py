"""The layers of the model one by one: how clearly the classes lie apart in each, read in a process of its own."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.runs import errands, layers
from dashboard import state
from dashboard.data import data
from dashboard.figures.class_separation import MAP_LAYERS
from dashboard.figures.source import Source
from dashboard.widgets.errand import watch
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import problem

OFFER = (
    "The model reads a sample of the split once more, layer by layer, in a separate process; seconds to a minute, and "
    "kept."
)


def layers_below(source: Source) -> dict[str, pd.DataFrame]:
    """The section: its figure, the offer to read them, or why there are none; gives its numbers."""
    try:
        known = data.layers(source.record, source.split)
    except NotAvailable as reason:
        heading(str(MAP_LAYERS.title), MAP_LAYERS.name)
        caption(f"There is none: {reason}.")
        return {}
    if known is None:
        heading(str(MAP_LAYERS.title), MAP_LAYERS.name, about=str(MAP_LAYERS.how))
        not_read(source)
        return {}
    shown = MAP_LAYERS.shape(source)
    show(MAP_LAYERS, shown, more="The map is of the shaded one; choose another under Vectors.")
    return MAP_LAYERS.numbers(shown)


def not_read(source: Source) -> None:
    """The job, while it runs; else the button that begins it.

    Raises:
        NotAvailable: there are no layers to read.
    """
    here = data.layer_files(source.record.run, source.split)
    job = errands.job(here)
    if job.status == "running":
        watch(here, "Reading the layers", "layers")
        return
    if job.status == "failed":
        problem("The layers could not be read", job.what)
    if text := state.take(state.LAYERS_PROBLEM):
        problem("It was not begun", str(text))
    st.button("Read the layers", key="read-layers", on_click=_start, args=(source.record.run, source.split))
    caption(OFFER)


def _start(run: str, split: str) -> None:
    try:
        here = data.layer_files(run, split)
        errands.forget(here)
        layers.start(data.store(), here)
    except SentiscopeError as error:
        state.put(state.LAYERS_PROBLEM, str(error))
