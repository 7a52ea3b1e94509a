"""Page Models: all model presets, the parts of each, and the differences between two presets."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core import preset_catalog, runs
from core.api.models import ClassifierOpening
from core.formatting import NARROW, count, plural
from core.models.model_description import count_parameters, list_parts
from core.models.presets import PRESETS
from core.paths import resolve_path
from core.preset_catalog import find_nearest
from core.runs.backbones import FOLDER
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures import model_plan
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show_caption, show_heading, show_table
from dashboard.widgets.messages import as_sentence, explain_refusal, show_finding, show_header, show_summary
from dashboard.widgets.options import Sections, choose_data, collect_tables, match_labels, pick_preset, show_model
from dashboard.widgets.progress import show_job, show_start_button
from dashboard.widgets.style import get_row_height

QUESTION = "How are the models built, and how do they differ?"
MODEL = "ndt-01-n3"
FILES = "On the machine of this page, with config.json, tokenizer.json and model.safetensors; no code in it is run"
TESTED = "Without labelled data it is not evaluated, and explains sentences only"
OWN, FIXED = "of the run", "usual"


def show_page() -> None:
    """Draw the Models page: the chosen preset as a diagram and equations, with tables of all presets folded."""
    records = data.list_runs()
    head = st.container()
    with st.container(key="model-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        name = pick_preset(MODEL)
        sizes = _pick_sizes(next((one for one in records if one.run == state.get_run()), None))
        if st.button("Train this", type="primary", key="train-this", icon=":material/play_circle:"):
            state.open_page("train", view=state.FORM_VIEW)
    with head:
        show_header("Models", QUESTION, [(name, f"from {PRESETS[name].source}")])
    tables = collect_tables(_list_sections(name, sizes, records), plain=True)
    show_export_bar("models", {**_show_model(name, sizes), **tables})


def _list_sections(name: str, sizes: model_plan.Sizes, records: list[RunRecord]) -> Sections:
    paper = state.get_value(state.PAPER, model_plan.ALL)
    sections: dict[str, Callable[[], Mapping[str, Table]]] = {
        "All models": partial(_show_presets, paper, sizes, records),
        "Main differences": partial(_show_comparison, name),
    }
    if found := model_plan.list_preset_runs(name, records):
        sections["Its runs"] = partial(_show_runs, found)
    if not (departures := model_plan.list_deviations(name)).empty:
        sections["Differences from the paper"] = partial(_show_departures, departures, name)
    sections["Open a classifier"] = _offer_opening
    if not (backbones := model_plan.list_backbones(paper)).empty:
        sections["Pretrained encoders"] = partial(_show_backbones, backbones)
    return sections


def _pick_sizes(record: RunRecord | None) -> model_plan.Sizes:
    own = model_plan.read_sizes(record, data.label_run(record.run) if record else "")
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
    return own if own and chosen == OWN else model_plan.USUAL


def _show_model(name: str, sizes: model_plan.Sizes) -> dict[str, Table]:
    model = sizes.get_model(name)
    classes = preset_catalog.limit_classes(name, sizes.classes)
    made = model_plan.ModelDiagram(list_parts(model, vocabulary=sizes.vocabulary, classes=classes), name)
    parameters = count_parameters(model, vocabulary=sizes.vocabulary, classes=classes)
    nearest = find_nearest(name, preset_catalog.list_preset_settings())
    differs = f"differs from {nearest} in {plural(len(preset_catalog.compare_presets(name, nearest)), 'setting')}."
    has, own = f"has {count(parameters)} parameters", model != PRESETS[name].model
    show_summary(f"In this run {name} {has}. Its preset {differs}" if own else f"{name} {has} and {differs}")
    of_run = " Layers, heads and widths are those of this run." if own else ""
    show_model(f"parts-{name}", model, made, f"{PRESETS[name].line} Parameters for {sizes.words}.{of_run}")
    return dict(model_plan.DIAGRAM.build_tables(made))


def _show_runs(runs: Sequence[str]) -> dict[str, Table]:
    with st.container(key="model-runs", horizontal=True, gap="small"):
        for run in runs:
            if st.button(data.label_run(run), key=f"run-{run}", on_click=state.choose_run, args=(run,)):
                state.open_page("performance")
    return {}


def _show_departures(frame: pd.DataFrame, name: str) -> dict[str, Table]:
    show_heading("Differences from the paper", "differences-from-the-paper", note="and choices the paper leaves open")
    titles = {"what": "What", "paper": "Paper", "here": "Here", "why": "Why", "instead": "To follow the paper, set"}
    show_table(frame, f"Differences of {name} from its paper", titles, row_height=2 * get_row_height())
    return {"Departures": frame}


def _show_backbones(frame: pd.DataFrame) -> dict[str, Table]:
    show_heading("Pretrained encoders", "backbones", note="recipes of the model “pretrained”")
    titles = {"recipe": ("Recipe", 170), "backbone": ("Backbone", 230), "state": ("Weights", 120)}
    titles |= {"get": ("To get it", 400)}
    about = "Pretrained encoders that the papers fine-tune, and whether their weights are here"
    show_table(frame, about, titles, column_order=list(titles), row_height=2 * get_row_height())
    show_caption(
        "`sentiscope train --model pretrained --recipe NAME` fine-tunes one. Nothing is downloaded: FOLDER is the "
        f"value of {FOLDER}, or the hub's cache. Names on the hub were not checked."
    )
    return {"Backbones": frame}


def _offer_opening() -> dict[str, Table]:
    """Show fields that open a fine-tuned classifier as a run, from a folder that this visitor may read."""
    from core.runs.evaluation_data import DataRequest  # loads pandas; the page shows its heading before that
    from dashboard import access

    show_heading("Open a classifier", "open", note="fine-tuned elsewhere: BERT, RoBERTa, XLM-R, DistilBERT or ELECTRA")
    with st.container(horizontal=True, gap="small"):
        typed = st.text_input("Its folder", key=state.CLASSIFIER, width=430, placeholder="/home/me/bert", help=FILES)
        called = st.text_input("Name of the run", key=state.OPENED_NAME, width=200, placeholder="that of the folder")
    name, asked = str(called or "").strip(), state.get_value(state.OPENING, None)
    if folder := str(typed or "").strip():
        with explain_refusal("This classifier cannot be opened"):
            allowed = access.get_allowed_paths()
            path = resolve_path(folder, allowed, folders=True).absolute()
            (found := runs.wrapped_model.PublishedClassifier(path)).check(allowed)
            chosen, record = choose_data("classifier", "Evaluate on"), found.make_record()
            matched = match_labels("classifier", record, chosen) if chosen else None
            wanted, ready = (matched[0], matched[2]) if matched else (DataRequest(), chosen is None)
            new = ClassifierOpening.from_request(data.store(), str(path), wanted, name)
            if show_start_button(new, "open-classifier", about=TESTED, primary=True, disabled=not ready):
                state.set_value(state.OPENING, asked := new)
            elif name and asked is None:
                runs.wrapped_model.check_name(data.store(), name)
    if asked is not None and not show_job(asked, "open-classifier") and (result := asked.read()) is not None:
        show_finding(f"{result['run']} is opened", " ".join(map(as_sentence, result["notes"])))
        ways = {"Try a sentence": "sentence", **({"See what it gets wrong": "errors"} if result["metrics"] else {})}
        with st.container(horizontal=True, gap="small"):
            for label, page in ways.items():
                if st.button(label, key=f"{page}-opened", on_click=state.choose_run, args=(result["run"],)):
                    state.open_page(page)
    return {}


def _show_comparison(name: str) -> dict[str, Table]:
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
    frame = model_plan.compare_presets(name, other)
    titles = {"what": "What", "setting": "Setting"}
    show_table(frame, f"Settings in which {name} and {other} differ", titles, row_height=2 * get_row_height())
    return {"Differences": frame}


def _show_presets(paper: str, sizes: model_plan.Sizes, records: list[RunRecord]) -> dict[str, Table]:
    """Show a table with one row per model preset; a click on a row chooses the preset that the page details."""
    frame = model_plan.build_preset_frame(paper, sizes, records)
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
        height=8 * get_row_height(),
        column_order=list(columns),
        key=state.get_widget_key(state.PRESETS),
        on_select=choose_preset,
        selection_mode="single-row",
    )
    show_caption("Choose a row to see the model below.")
    return {"Presets": frame}


show_page()
