"""Page Models: all model presets, the parts of each, and the differences between two presets."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import preset_catalog
from core.formatting import NARROW, count
from core.models.model_description import list_parts
from core.models.presets import PAPERS, PRESETS
from core.preset_catalog import find_nearest
from core.runs.backbones import FOLDER
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.model_diagram import DIAGRAM, ModelDiagram
from dashboard.figures.preset_tables import (
    ALL,
    USUAL,
    Sizes,
    build_preset_frame,
    compare_presets,
    list_backbones,
    list_deviations,
    list_preset_runs,
    list_questions,
    read_sizes,
)
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show, show_caption, show_heading, show_table
from dashboard.widgets.messages import show_header
from dashboard.widgets.style import get_row_height
from dashboard.widgets.training_fields import pick_preset, show_equation

QUESTION = "How are the models built, and how do they differ?"
MODEL = "ndt-01-n3"
OWN, FIXED = "of the run", "usual"


def show_page() -> None:
    """Draw the Models page: the table of presets, then the chosen preset in detail."""
    records = data.list_runs()
    show_header("Models", QUESTION, [(count(len(PRESETS)), "models"), (count(len(PAPERS) - 1), "papers and baselines")])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = pick_preset(MODEL)
        sizes = _pick_sizes(next((one for one in records if one.run == state.get_run()), None))
    frame = build_preset_frame(state.get_value(state.PAPER, ALL), sizes, records)
    show_heading("Models", "presets", note=f"parameters with {sizes.words}")
    show_presets(frame)
    show_caption("Choose a row to see the model below.")
    tables: dict[str, Table] = {"Presets": frame, **_show_model(name, sizes, records)}
    tables |= _show_list("Departures", list_deviations(name), DEPARTURES, f"Differences of {name} from its paper")
    tables |= _show_list("Worth trying", list_questions(name), TRIALS, f"Experiments suggested for {name}")
    tables["Differences"] = _show_comparison(name)
    tables |= _show_backbones(state.get_value(state.PAPER, ALL))
    show_export_bar("models", tables)


def _pick_sizes(record: RunRecord | None) -> Sizes:
    own = read_sizes(record, data.label_run(record.run) if record else "")
    chosen = st.segmented_control(
        "Sizes",
        [OWN, FIXED] if own else [FIXED],
        default=OWN if own else FIXED,
        key=state.SIZES,
        bind="query-params",
        required=True,
        help="Sizes for counting parameters: vocabulary and classes; for the model of the chosen run also its layers, "
        "heads and widths",
    )
    return own if own and chosen == OWN else USUAL


def _show_model(name: str, sizes: Sizes, records: list[RunRecord]) -> dict[str, Table]:
    preset = PRESETS[name]
    show_heading(name, "model", note=preset.source)
    show_caption(preset.line)
    with st.container(key="model-actions", horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("Train this", type="primary", key="train-this"):
            state.open_page("train")
        found = list_preset_runs(name, records)
        st.html("Its runs:" if found else "It has no finished run here yet.", width="content")
        for run in found:
            if st.button(
                data.label_run(run), key=f"run-{run}", type="tertiary", on_click=state.choose_run, args=(run,)
            ):
                state.open_page("performance")
    classes = preset_catalog.limit_classes(name, sizes.classes)
    model = sizes.get_model(name)
    made = ModelDiagram(list_parts(model, vocabulary=sizes.vocabulary, classes=classes), name)
    with st.container(key="pair-model"):
        left, right = st.columns([1.1, 1], gap="large")
        with left:
            show(DIAGRAM, made, name=f"parts-{name}")
        with right:
            show_heading("Equation", "equation", note="of one head in one layer, in context")
            show_equation(model)
    return dict(DIAGRAM.build_tables(made))


DEPARTURES = ("Differences from the paper", "departures", "and choices the paper leaves open")
TRIALS = ("Suggested experiments", "trials", "settings that no preset changes, and what each would show")
TITLES = {"what": "What", "paper": "Paper", "here": "Here", "why": "Why", "instead": "To follow the paper, set"}
TITLES |= {"question": "Question", "set": "To find out, set"}


def _show_list(file: str, frame: pd.DataFrame, head: tuple[str, str, str], about: str) -> dict[str, Table]:
    if frame.empty:
        return {}
    show_heading(*head[:2], note=head[2])
    show_table(frame, about, {name: title for name, title in TITLES.items() if name in frame})
    return {file: frame}


def _show_backbones(paper: str) -> dict[str, Table]:
    frame = list_backbones(paper)
    if frame.empty:
        return {}
    show_heading("Pretrained encoders", "backbones", note="recipes of the model “pretrained”")
    titles = {"recipe": ("Recipe", 170), "backbone": ("Backbone", 230), "state": ("Weights", 170)}
    titles |= {"sets": ("It sets", 210), "get": ("To get it", 230), "source": ("Paper", 230)}
    about = "Pretrained encoders that the papers fine-tune, and whether their weights are here"
    show_table(frame, about, titles, column_order=list(titles))
    show_caption(
        "`sentiscope train --model pretrained --recipe NAME` fine-tunes one. Nothing is downloaded: FOLDER is the "
        f"value of {FOLDER}, or the hub's cache. Names on the hub were not checked."
    )
    return {"Backbones": frame}


def _show_comparison(name: str) -> Table:
    others = [other for other in PRESETS if other != name]
    state.drop_stale(state.AGAINST, others)
    state.reset_on_change(state.AGAINST, name, find_nearest(name, preset_catalog.list_preset_settings()))
    show_heading("Main differences", "differences", note="settings that differ, those of the model first")
    other = st.selectbox(
        "Compare with",
        others,
        key=state.AGAINST,
        bind="query-params",
        width=280,
        help="By default the most similar model: the one with the fewest different settings",
    )
    frame = compare_presets(name, other)
    titles = {"what": "What", "setting": "Setting"}
    show_table(frame, f"Settings in which {name} and {other} differ", titles, row_height=None)
    return frame


def show_presets(frame: pd.DataFrame) -> None:
    """Show a table with one row per model preset; a click on a row chooses the preset that the page details."""
    names = frame["model"].tolist()
    besides = "Additions to a plain transformer encoder"
    columns = {
        "model": ("Model", 142),
        "parameters": st.column_config.NumberColumn("Parameters", width=84),
        "parts": st.column_config.TextColumn("Parts", width=170, help=besides),
        "runs": st.column_config.NumberColumn("Runs", width=40, help="Runs of any status here"),
        "line": ("In words", 254),
    }

    def choose_preset() -> None:
        """Set the page's model preset to the clicked row (widget callback)."""
        rows = state.get_clicked_rows(state.PRESETS)
        if rows and rows[0] < len(names):
            state.set_value(state.PRESET, names[rows[0]])

    show_table(
        frame.style.format(thousands=NARROW, subset=["parameters"]),  # still numbers, so that they can be sorted
        "All models",
        columns,
        height=10 * get_row_height(),
        column_order=list(columns),
        key=state.get_widget_key(state.PRESETS),
        on_select=choose_preset,
        selection_mode="single-row",
    )


show_page()
