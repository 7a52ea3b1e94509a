"""Models: which there are, what each is made of, what sets two apart."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import systems
from core.models.describe import equation, parts
from core.models.neighbours import nearest
from core.models.presets import PAPERS, PRESETS
from core.numbers import NARROW
from core.runs.backbones import FOLDER
from core.runs.record import RunRecord
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
from dashboard.figures.numbers import count
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.header import header
from dashboard.widgets.preset_picker import preset_picker
from dashboard.widgets.style import row_height

QUESTION = "Which models are there, what are they made of, and what sets one apart from another?"
MODEL = "ndt-01-n3"
OWN, FIXED = "of the run", "usual"


def page() -> None:
    """The table, then the chosen model."""
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
    tables |= _departures(name) | _trials(name)
    tables["Differences"] = _compare(name)
    tables |= _backbones(state.draft(state.PAPER, ALL))
    export_bar("models", tables)


def _sizes(record: RunRecord | None) -> Sizes:
    """Vocabulary and classes of the chosen run, or the usual ones."""
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
    """In words, drawn, as an equation; returns the table of its parts."""
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
            for index, line in enumerate(equation(model)):
                with st.container(key=f"equation-{index}", gap=None):
                    st.latex(line.latex)
                    caption(line.words)
    return {**DIAGRAM.numbers(made)}


def _departures(name: str) -> dict[str, Table]:
    """Where it departs from its paper on purpose; nothing for a preset without a paper."""
    frame = departure_frame(name)
    if frame.empty:
        return {}
    heading("Departs from the paper in", "departures", note="and chooses, where the paper leaves it open")
    titles = {"what": "What", "paper": "Paper", "here": "Here", "why": "Why", "instead": "To follow the paper, set"}
    st.dataframe(
        frame,
        hide_index=True,
        row_height=row_height(),
        column_config={column: st.column_config.TextColumn(title) for column, title in titles.items()},
        alt=f"Where {name} departs from its paper",
    )
    return {"Departures": frame}


def _trials(name: str) -> dict[str, Table]:
    """What else could be asked of it; nothing where no such setting has an effect."""
    frame = trial_frame(name)
    if frame.empty:
        return {}
    heading("Worth trying", "trials", note="settings that no preset changes, and what each would show")
    st.dataframe(
        frame,
        hide_index=True,
        row_height=row_height(),
        column_config={
            "question": st.column_config.TextColumn("Question"),
            "set": st.column_config.TextColumn("To find out, set"),
        },
        alt=f"What else could be asked of {name}",
    )
    return {"Worth trying": frame}


def _backbones(paper: str) -> dict[str, Table]:
    """The pretrained encoders that papers fine-tune, and which are here; nothing for a paper without one."""
    frame = backbone_frame(paper)
    if frame.empty:
        return {}
    heading("Backbones of the papers", "backbones", note="as recipes of the model pretrained")
    titles = {"recipe": ("Recipe", 170), "backbone": ("Backbone", 230), "state": ("Weights", 170)}
    titles |= {"sets": ("It sets", 210), "get": ("To get it", 230), "source": ("Paper", 230)}
    st.dataframe(
        frame,
        hide_index=True,
        row_height=row_height(),
        column_order=list(titles),
        column_config={name: st.column_config.TextColumn(title, width=px) for name, (title, px) in titles.items()},
        alt="Pretrained encoders that the papers fine-tune, and whether their weights are here",
    )
    caption(
        "`sentiscope train --model pretrained --recipe NAME` fine-tunes one. Nothing is downloaded: FOLDER is what "
        f"{FOLDER} names, or the hub's own cache is used. Names on the hub were not checked here."
    )
    return {"Backbones": frame}


def _compare(name: str) -> Table:
    """The settings in which it differs from another."""
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
    st.dataframe(
        frame,
        hide_index=True,
        column_config={"what": st.column_config.TextColumn("What"), "setting": st.column_config.TextColumn("Setting")},
        alt=f"Settings in which {name} and {other} differ",
    )
    return frame


def preset_table(frame: pd.DataFrame) -> None:
    """One row per preset; choosing one makes it the page's model."""
    text = st.column_config.TextColumn
    names = frame["model"].tolist()
    st.dataframe(
        frame.style.format(thousands=NARROW, subset=["parameters"]),  # numbers still, so that they sort by size
        hide_index=True,
        height=10 * row_height(),
        row_height=row_height(),
        column_order=["model", "parameters", "parts", "runs", "line"],
        column_config={
            "model": text("Model", width=142),
            "parameters": st.column_config.NumberColumn("Parameters", width=84),
            "parts": text("Parts", width=170, help="What it has besides a plain transformer encoder"),
            "runs": st.column_config.NumberColumn("Runs", width=40, help="Of all kinds, here"),
            "line": text("In words", width=254),
        },
        key=state.current(state.PRESETS),
        on_select=lambda: _choose(names),
        selection_mode="single-row",
        alt="All presets",
    )


def _choose(names: list[str]) -> None:
    """A row was chosen, or given up; the selection stays where it is."""
    rows = (state.draft(state.current(state.PRESETS), None) or {}).get("selection", {}).get("rows", [])
    if rows and rows[0] < len(names):
        state.put(state.PRESET, names[rows[0]])


page()
