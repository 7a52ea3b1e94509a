"""Steps of a training whose weights are kept: a click on a curve opens Sentence as the model read it then."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.formatting import count
from core.interpret.model_edits import Edits
from core.runs.record import RunRecord
from core.runs.store import list_kept_steps
from dashboard import state
from dashboard.data import data
from dashboard.figures.figure import Figure, Shape
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show_caption, show_with_tables

CLICK = "Click a point to read a sentence as the model did then."
NONE = "This run kept no checkpoints. Train with `--set training.keep=10` to read sentences at a step."


def show_curves(record: RunRecord, figure: Figure[Shape], shape: Shape) -> Tables:
    """Show curves over epochs, where a click opens Sentence at the nearest step whose weights are kept."""
    steps = list_kept_steps(data.store().get_path(record.run))
    key = f"fig-{figure.name}"
    tables = show_with_tables(figure, shape, more=CLICK if steps else "", on_select="rerun", selection_mode="points")
    points = state.get_clicked_points(key)
    if points and not steps:
        show_caption(NONE)
    elif points and record.progress.get("epochs"):
        step = find_nearest(steps, float(points[0]["x"]) * record.progress["steps"] / record.progress["epochs"])
        state.clear_clicks(key)
        state.open_page("sentence", **{state.EDIT: Edits(step=step).encode_line()})
    return tables


def find_nearest(steps: Sequence[int], asked: float) -> int:
    """Return the kept step that is nearest to a step of the training."""
    return min(steps, key=lambda each: abs(each - asked))


def show_step(record: RunRecord, edits: Edits) -> None:
    """Say which step of the training is read, with a way back to the trained model; nothing for the trained model."""
    if edits.step is None:
        return
    planned = record.progress.get("steps")
    with st.container(key="kept-step", horizontal=True, vertical_alignment="center", gap="small"):
        of = f" of {count(planned)}" if planned else ""
        st.html(f'<p class="s-cap" role="status"><b>The model at step {count(edits.step)}{of} of its training</b></p>')
        back = replace(edits, step=None).encode_line()
        label = "Back to the trained model"
        st.button(label, key="leave-step", type="tertiary", on_click=state.set_param, args=(state.EDIT, back))
