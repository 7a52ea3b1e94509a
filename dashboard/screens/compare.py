"""Page Compare: whether one of several models is better, and on which sentences."""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from core import error_analysis
from core.exceptions import InputError, NotAvailable, RunDamaged, SentiscopeError
from core.formatting import count, plural
from core.runs.record import RunRecord
from core.runs.run_names import group_runs
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import compare_sentences, model_comparison
from dashboard.figures.compare_curves import CALIBRATION, CLASS, COST, LAMBDAS, ROC
from dashboard.figures.compare_sentences import CELLS, MAPS, MATRIX, AgreementMatrix
from dashboard.figures.drawing import find_cell
from dashboard.figures.figure import Figure, Source
from dashboard.figures.model_comparison import METRIC, MODELS, MOST, PAIR, PAIRS, WHERE
from dashboard.figures.results import SENTENCE, get_data_name
from dashboard.widgets import figure as widgets
from dashboard.widgets import messages
from dashboard.widgets.export import Table, offer_report, show_export_bar
from dashboard.widgets.options import Sections, choose_option, choose_split, collect_tables, pick_option, read_option
from dashboard.widgets.runs import choose_runs, get_chosen_run, offer_speed, rank_comparable
from dashboard.widgets.selection_bar import MOST as MOST_ROWS
from dashboard.widgets.selection_bar import mark_cell, show_in_sight, show_inside_button, show_sentences
from dashboard.widgets.style import get_look, split_page

TITLE, QUESTION = "Compare", "Which model is better, and where?"
PLACED: tuple[Figure[Any], ...] = (MODELS, PAIRS, MATRIX, WHERE, ROC, CALIBRATION, LAMBDAS, MAPS, COST)


def show_page() -> None:
    """Draw the Compare page for the runs in the URL, else for the runs with the same data as the chosen run."""
    done = {record.run: record for record in data.list_runs() if record.status == "done"}
    if len(done) < 2:
        messages.show_header(TITLE, QUESTION)
        text = "A comparison needs two finished runs tested on the same sentences."
        lacking = "There is only one finished run" if done else "There is no finished run yet"
        messages.show_empty(lacking, text, "Train a model", "train")
        return
    head, line = st.empty(), st.container(horizontal=True, vertical_alignment="center", gap="medium")
    with head:
        messages.show_header(TITLE, QUESTION)
    with line:
        records = _choose_runs(done)
    gone, kept = state.get_value(state.GONE, ([], None))
    if gone and kept == [record.run for record in records]:
        messages.show_problem(
            f"No finished run “{'”, “'.join(gone):.120}” is here", "Choose other runs, or ask for a new link."
        )
    if len(records) < 2:
        messages.show_finding("Choose at least two runs", "They are under “Choose runs”.")
        return
    first, *others = (data.list_splits(record.run) for record in records)
    splits = [split for split in first if all(split in each for each in others)]
    if not splits:
        messages.show_problem(
            "These runs share no evaluated split",
            "Choose others, or compare them on your own file: "
            f"`sentiscope compare {' '.join(record.run for record in records)} --data FILE`",
        )
        return
    with line:
        split = choose_split(splits, plain=True)
        source = Source(records[0], data, others=records[1:], split=split, author=state.get_author())
        if not _can_compare(source):
            return
        pick_option(METRIC, source, width=200, plain=True)
    with head:
        n, name = f"n = {count(source.sides.rows)}", get_data_name(source.sides.data)
        messages.show_header(TITLE, QUESTION, [(n, f"the same {split} sentences"), (name, f"{len(records)} runs")])
    try:
        tables = _show_models(source)
    except InputError as error:  # the metric is undefined on these rows
        messages.show_problem("These runs cannot be compared by this metric", str(error))
        return
    tables |= collect_tables(_list_sections(source))
    show_export_bar("compare", tables | widgets.show_others(source, "compare", PLACED))
    offer_report([each.run for each in records], split)


def _list_sections(source: Source) -> Sections:
    sections: dict[str, Callable[[], Mapping[str, Table]]] = {
        "Where they differ": partial(_show_columns, source),
        "ROC and calibration": partial(_show_curves, source),
    }
    if LAMBDAS.is_available(source):
        sections["λ by layer"] = partial(widgets.show_figures, source, LAMBDAS)
    return {**sections, "Cost": partial(_show_costs, source), "One sentence": partial(_show_maps, source)}


def _choose_runs(done: dict[str, RunRecord]) -> list[RunRecord]:
    state.follow_link(state.COMPARE, several=True)
    if known := state.get_value(state.COMPARE, None):
        state.set_value(state.COMPARE, [name for name in known if name in done])
        if gone := [name for name in known if name not in done]:
            state.set_value(state.GONE, (gone, state.get_value(state.COMPARE, None)))
    # By default the chosen run and the best ones on its data, up to four models.
    chosen = done.get(state.get_run()) or next(iter(done.values()))
    models = group_runs([chosen, *rank_comparable(chosen, done.values())])[:4]
    state.set_initial(state.COMPARE, [record.run for model in models for record in model.runs.values()])
    state.follow_link(state.COMPARE, several=True)
    with st.popover("Choose runs", key="compared-runs"):
        about = "Runs that differ only in seed or fold count as one model. You can also select models on Runs."
        names = choose_runs("Runs", [*done], state.COMPARE, "Choose two runs or more", about, several=True)
    return [done[name] for name in names if name in done]


def _can_compare(source: Source) -> bool:
    try:
        models = len(source.sides.sides)
    except (InputError, RunDamaged) as error:
        messages.show_problem("These runs cannot be compared", str(error))
        return False
    if models > MOST:
        messages.show_problem(
            f"{models} models are too many", f"Colours distinguish at most {MOST} models. Choose fewer."
        )
        return False
    return True


def _show_models(source: Source) -> dict[str, Table]:
    """Show the finding, the agreement matrix of the chosen pair, and next to it all models and pairs with intervals."""
    if (asked := state.get_param(PAIR.name)) in model_comparison.list_pairs(source):
        source.choices[PAIR.name] = asked
    read_option(CELLS, source)
    summary = st.container()
    left, right = split_page("compared", [1, 1.7], gap="medium")
    with right:
        models = widgets.show_bare(source, MODELS)
        pairs = widgets.show_bare(source, PAIRS, on_picked_change=_select_pair)
        widgets.show_caption(PAIRS.resolve_text(PAIRS.reading, pairs))
    with left:
        shape = widgets.show_bare(source, MATRIX, on_select=partial(select_cell, source), selection_mode="points")
        with st.container(horizontal=True, vertical_alignment="center"):
            choose_option(CELLS, source, plain=True)
            read = MATRIX.resolve_text(MATRIX.reading, shape), str(MODELS.reading)
            widgets.show_how("compare", *read, str(MODELS.how), str(PAIRS.how))
    with summary:
        messages.show_summary(pairs.summary, compare_sentences.describe_disagreement(shape))
    _show_cell_texts(shape)
    return {**MODELS.build_tables(models), **PAIRS.build_tables(pairs), **MATRIX.build_tables(shape)}


def _select_pair() -> None:
    if picked := state.get_picked(PAIRS.name):
        state.set_param(PAIR.name, picked)


def _show_columns(source: Source) -> dict[str, Table]:
    if len(model_comparison.list_columns(source)) > 1:
        pick_option(model_comparison.BY, source)
    try:
        return {**widgets.show_figures(source, WHERE)}
    except NotAvailable as error:
        widgets.show_caption(messages.as_sentence(error))
        return {}


def _show_curves(source: Source) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    if len(source.record.classes) > 2 or source.record.task == "multi":
        pick_option(CLASS, source)
    figures: tuple[Figure[Any], ...] = (ROC, CALIBRATION)
    for place, figure in zip(split_page("curves", 2), figures, strict=True):
        with place, contextlib.suppress(NotAvailable):
            tables |= widgets.show_figures(source, figure)
    return tables


def _show_maps(source: Source) -> dict[str, Table]:
    widgets.show_heading("One sentence in each model", "sentence", note="attention from rows to columns")
    example = f"Type a sentence, such as: {SENTENCE}"
    hidden: dict[str, Any] = {"label_visibility": "collapsed", "placeholder": example}
    text = st.text_input("Sentence", key=state.TEXT, bind="query-params", max_chars=500, **hidden)
    if not text:
        return {}
    letters = [model_comparison.get_letter(source, side) for side in source.sides.sides]
    columns = split_page("maps", min(2, len(letters)))
    for place, letter in enumerate(letters):
        here = Source(source.record, data, others=source.others, split=source.split, text=text, choices={"who": letter})
        with columns[place % len(columns)]:
            try:
                widgets.show_figure(here, MAPS, name=f"{MAPS.name}-{letter}")
            except NotAvailable as error:
                messages.show_finding("There is no map", str(error))
            except SentiscopeError as error:
                messages.show_problem("This model cannot read the sentence", str(error))
    return {}


def _show_costs(source: Source) -> dict[str, Table]:
    tables = widgets.show_with_tables(COST, COST.read_data(source))  # not cached: new runs and measurements change it
    lacking = [each.run for each in (source.record, *source.others) if data.read_efficiency(each).one is None]
    if lacking:
        offer_speed(lacking, "Measure speed and memory", "measure", icon=":material/timer:")
    return {**tables}


SHOWN = 7


def select_cell(source: Source) -> None:
    """Select the sentences of the clicked matrix cell on all pages; they show a compared run, else the first."""
    shape = data.draw_figure(MATRIX, source, get_look())[0]
    cell = state.get_clicked_bar(state.MATRIX, len(shape.kinds))
    rows = shape.find_rows(*cell) if cell else np.empty(0, np.int64)
    if state.get_run() not in {each.run for each in (source.record, *source.others)}:
        state.choose_run(shape.answers[0].record.run)
    texts = error_analysis.predictions_table.hash_texts(shape.answers[0].texts)
    about, keys = shape.describe_cell(*cell) if cell else "", [texts[row] for row in rows]
    selection.choose_keys(shape.answers[0].record, source.split, keys, about, by=state.MATRIX, by_outcome=True)


def _show_cell_texts(shape: AgreementMatrix) -> None:
    keys = error_analysis.predictions_table.hash_texts(shape.answers[0].texts)
    now = selection.get_selection(record) if (record := get_chosen_run()) else None
    places = {key: row for row, key in enumerate(keys)}
    rows = np.array([places[key] for key in now.keys if key in places] if now else [], np.int64)
    if now is None or record is None or not len(rows):
        return
    mark_cell(state.MATRIX, find_cell(shape.first, shape.second, rows), len(shape.kinds))
    if state.get_value(state.SELECTOR, "") == state.MATRIX:
        show_in_sight(str(now.selection))
    with st.container(key="selection"):
        messages.show_selection(plural(len(rows), "sentence"), now.words)
    shown = rows[:MOST_ROWS]
    spots = {key: place for place, key in reversed([*enumerate(now.keys)])}  # of a text that is there twice the first
    order = [spots[keys[row]] for row in shown]
    marked = order.index(now.at) if now.at in order else None
    first, second = shape.letters
    says = {} if shape.has_known_answers else {first: (f"{first} predicts", 88), second: (f"{second} predicts", 88)}
    columns = {"text": ("Sentence", 176 if says else 320), "label": ("Label", 76), **says}
    of, table = [shape.letters, now.words, len(rows)], compare_sentences.build_cell_table(shape, shown)
    alt = f"Sentences: {now.words}"
    show_sentences(table, alt, columns, of, marked, lambda row: selection.look_at(record, order[row]), most=SHOWN)
    if marked is not None and show_inside_button(record, "Look inside with both runs"):
        one, other = (each.record.run for each in shape.answers)
        state.choose_run(one)
        selection.look_inside(**{state.BESIDE: other})


show_page()
