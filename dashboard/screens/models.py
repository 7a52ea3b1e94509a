"""Page Models: all presets, the parts of each, and the differences between two."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import systems
from core.models.describe import parts
from core.models.presets import PAPERS, PRESETS
from core.numbers import NARROW, count
from core.runs.backbones import FOLDER
from core.runs.record import RunRecord
from core.systems import nearest
from dashboard import state
from dashboard.data import data
from dashboard.figures.diagram import DIAGRAM, Made
from dashboard.figures.models import (
    ALL,
    USUAL,
    Sizes,
    backbone_frame,
    departure_frame,
    difference_frame,
    preset_frame,
    runs_of,
    sizes_of,
    trial_frame,
)
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import caption, heading, show, show_table
from dashboard.widgets.messages import header
from dashboard.widgets.style import row_height
from dashboard.widgets.training_fields import preset_picker, show_equation

QUESTION = "Which models are there, what are they made of, and what sets one apart from another?"
MODEL = "ndt-01-n3"
OWN, FIXED = "of the run", "usual"


def page() -> None:
    """Show the table of presets, then the chosen model."""
    records = data.runs()
    header("Models", QUESTION, [(count(len(PRESETS)), "models"), (count(len(PAPERS) - 1), "papers and baselines")])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = preset_picker(MODEL)
        sizes = _sizes(next((one for one in records if one.run == state.run()), None))
    frame = preset_frame(state.draft(state.PAPER, ALL), sizes, records)
    heading("Presets", "presets", note=f"parameters with {sizes.words}")
    preset_table(frame)
    caption("A chosen row is shown below. Parts: what a model has besides a plain transformer encoder.")
    tables: dict[str, Table] = {"Presets": frame, **_whole(name, sizes, records)}
    tables |= _list("Departures", departure_frame(name), DEPARTURES, f"Where {name} departs from its paper")
    tables |= _list("Worth trying", trial_frame(name), TRIALS, f"What else could be asked of {name}")
    tables["Differences"] = _compare(name)
    tables |= _backbones(state.draft(state.PAPER, ALL))
    export_bar("models", tables)


def _sizes(record: RunRecord | None) -> Sizes:
    own = sizes_of(record)
    chosen = st.segmented_control(
        "Sizes",
        [OWN, FIXED] if own else [FIXED],
        default=OWN if own else FIXED,
        key=state.SIZES,
        bind="query-params",
        required=True,
        help="At which vocabulary and classes parameters are counted, and for the preset of the run at which layers, "
        "heads and widths; the run is chosen in the sidebar",
    )
    return own if own and chosen == OWN else USUAL


def _whole(name: str, sizes: Sizes, records: list[RunRecord]) -> dict[str, Table]:
    preset = PRESETS[name]
    heading(name, "model", note=preset.source)
    caption(preset.line)
    with st.container(key="model-actions", horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("Train this", type="primary", key="train-this"):
            state.go("train")
        found = runs_of(name, records)
        st.html("Its runs:" if found else "It has no finished run here yet.", width="content")
        for run in found:
            if st.button(run, key=f"run-{run}", type="tertiary", on_click=state.choose_run, args=(run,)):
                state.go("performance")
    classes = systems.possible(name, sizes.classes)
    model = sizes.model_of(name)
    made = Made(parts(model, vocabulary=sizes.vocabulary, classes=classes), name)
    with st.container(key="pair-model"):
        left, right = st.columns([1.1, 1], gap="large")
        with left:
            show(DIAGRAM, made, name=f"parts-{name}")
        with right:
            heading("Equation", "equation", note="of one head in one layer, and what is around it")
            show_equation(model)
    return dict(DIAGRAM.numbers(made))


DEPARTURES = ("Departs from the paper in", "departures", "and chooses, where the paper leaves it open")
TRIALS = ("Worth trying", "trials", "settings that no preset changes, and what each would show")
TITLES = {"what": "What", "paper": "Paper", "here": "Here", "why": "Why", "instead": "To follow the paper, set"}
TITLES |= {"question": "Question", "set": "To find out, set"}


def _list(file: str, frame: pd.DataFrame, head: tuple[str, str, str], about: str) -> dict[str, Table]:
    if frame.empty:
        return {}
    heading(*head[:2], note=head[2])
    show_table(frame, about, {name: title for name, title in TITLES.items() if name in frame})
    return {file: frame}


def _backbones(paper: str) -> dict[str, Table]:
    frame = backbone_frame(paper)
    if frame.empty:
        return {}
    heading("Backbones of the papers", "backbones", note="as recipes of the model pretrained")
    titles = {"recipe": ("Recipe", 170), "backbone": ("Backbone", 230), "state": ("Weights", 170)}
    titles |= {"sets": ("It sets", 210), "get": ("To get it", 230), "source": ("Paper", 230)}
    about = "Pretrained encoders that the papers fine-tune, and whether their weights are here"
    show_table(frame, about, titles, column_order=list(titles))
    caption(
        "`sentiscope train --model pretrained --recipe NAME` fine-tunes one. Nothing is downloaded: FOLDER is what "
        f"{FOLDER} names, or the hub's own cache is used. Names on the hub were not checked here."
    )
    return {"Backbones": frame}


def _compare(name: str) -> Table:
    others = [other for other in PRESETS if other != name]
    state.keep_to(state.AGAINST, others)
    state.follow(state.AGAINST, name, nearest(name, systems.settings()))
    heading("What sets it apart", "differences", note="settings that differ, those of the model first")
    other = st.selectbox(
        "Compared with",
        others,
        key=state.AGAINST,
        bind="query-params",
        width=280,
        help="At first its nearest relative: the preset with the fewest other settings of the model",
    )
    frame = difference_frame(name, other)
    titles = {"what": "What", "setting": "Setting"}
    show_table(frame, f"Settings in which {name} and {other} differ", titles, row_height=None)
    return frame


def preset_table(frame: pd.DataFrame) -> None:
    """Show one row per preset; choosing one makes it the page's model."""
    names = frame["model"].tolist()
    besides = "What it has besides a plain transformer encoder"
    columns = {
        "model": ("Model", 142),
        "parameters": st.column_config.NumberColumn("Parameters", width=84),
        "parts": st.column_config.TextColumn("Parts", width=170, help=besides),
        "runs": st.column_config.NumberColumn("Runs", width=40, help="Of all kinds, here"),
        "line": ("In words", 254),
    }

    def choose() -> None:
        """Make the chosen row the page's model."""
        rows = state.rows_of(state.PRESETS)
        if rows and rows[0] < len(names):
            state.put(state.PRESET, names[rows[0]])

    show_table(
        frame.style.format(thousands=NARROW, subset=["parameters"]),  # numbers still, so that they sort by size
        "All presets",
        columns,
        height=10 * row_height(),
        column_order=list(columns),
        key=state.current(state.PRESETS),
        on_select=choose,
        selection_mode="single-row",
    )


page()
