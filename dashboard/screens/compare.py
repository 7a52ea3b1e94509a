"""Page Compare: whether one of several models is better, and on which sentences."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from core import failures
from core.exceptions import InputError, NotAvailable, RunDamaged, SentiscopeError
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs.record import RunRecord
from core.runs.seeds import folded
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.compare_curves import CALIBRATION, CLASS, COST, LAMBDAS, ROC
from dashboard.figures.compare_sentences import CELLS, MAPS, MATRIX, Matrix, cell_frame
from dashboard.figures.comparing import BY, METRIC, MODELS, MOST, PAIR, PAIRS, WHERE, can_be_chosen, letter_of
from dashboard.figures.figure import Figure
from dashboard.figures.naming import data_name
from dashboard.figures.panels import cell_of
from dashboard.figures.results import SENTENCE, headline
from dashboard.figures.source import Source
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import caption, heading, show, show_of, show_others, show_table, show_tables
from dashboard.widgets.messages import as_sentence, empty, finding, header, opening, problem, selection_note
from dashboard.widgets.options import asked, choose, choose_split, pick
from dashboard.widgets.report import report_button
from dashboard.widgets.runs import chosen_record, measure_speed
from dashboard.widgets.selected import MOST as MOST_ROWS
from dashboard.widgets.selected import inside_button, mark_cell
from dashboard.widgets.style import look, row_height

TITLE, QUESTION = "Compare", "Is one of these models better, and on which sentences?"
PLACED: tuple[Figure[Any], ...] = (MODELS, PAIRS, MATRIX, WHERE, ROC, CALIBRATION, LAMBDAS, MAPS, COST)


def page() -> None:
    """Compare the runs of the link, or those that share the data of the chosen one."""
    done = {record.run: record for record in data.runs() if record.status == "done"}
    if len(done) < 2:
        header(TITLE, QUESTION)
        text = "Two finished runs are compared on the sentences that both were tested on."
        lacking = "There is only one finished run" if done else "There is no finished run yet"
        empty(lacking, text, "Train a model", "train")
        return
    head = st.empty()
    with head:
        header(TITLE, QUESTION)
    records = _chosen(done)
    if len(records) < 2:
        finding("One run alone cannot be compared", "Add another one above.")
        return
    splits = _splits(records)
    if not splits:
        problem(
            "No split was evaluated by all of these runs",
            "Take one out, or compare them on a file of your own: "
            f"`sentiscope compare {' '.join(record.run for record in records)} --data FILE`",
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        split = choose_split(splits)
        source = Source(records[0], data, others=records[1:], split=split, author=state.author())
        if not _comparable(source):
            return
        pick(METRIC, source, width=240)
    n = source.sides.rows
    with head:
        name = data_name(source.sides.data)
        header(TITLE, QUESTION, [(f"n = {count(n)}", f"the same {split} sentences"), (name, f"{len(records)} runs")])
    _compared(source)


def _compared(source: Source) -> None:
    try:
        tables = _first(source)
    except InputError as error:  # the metric is not defined on these rows
        problem("These runs cannot be compared by this", str(error))
        return
    tables |= _pair(source)
    tables |= _curves(source)
    _maps(source)
    tables |= _costs(source) | show_others(source, "compare", PLACED)
    export_bar("compare", tables)
    report_button([each.run for each in (source.record, *source.others)], source.split)


def _chosen(done: dict[str, RunRecord]) -> list[RunRecord]:
    if known := state.draft(state.COMPARE, None):
        state.put(state.COMPARE, [name for name in known if name in done])
    state.initial(state.COMPARE, _usual(done))
    names = st.multiselect(
        "Runs",
        list(done),
        key=state.COMPARE,
        bind="query-params",
        placeholder="Choose two runs or more",
        help="Runs that differ in nothing but seed and fold are one model. Overview's ticks lead here.",
    )
    return [done[name] for name in names if name in done]


def _usual(done: dict[str, RunRecord]) -> list[str]:
    """Return the chosen run and the best others on its rows, four models at most."""
    chosen = done.get(state.run()) or next(iter(done.values()))
    same = [each for each in done.values() if each.data_fingerprint == chosen.data_fingerprint and each is not chosen]
    best = sorted(same, key=lambda each: -(found.value if (found := headline(each)) else 0.0))
    models = folded([chosen, *best])
    return [record.run for model in models[:4] for record in model.runs.values()]


def _splits(records: Sequence[RunRecord]) -> list[str]:
    first, *others = (data.evaluated_splits(record.run) for record in records)
    return [split for split in first if all(split in each for each in others)]


def _comparable(source: Source) -> bool:
    try:
        models = len(source.sides.sides)
    except (InputError, RunDamaged) as error:
        problem("These runs cannot be compared", str(error))
        return False
    if models > MOST:
        problem(f"{models} models are too many", f"At most {MOST} can be told apart by colour; take some out above.")
        return False
    return True


def _first(source: Source) -> dict[str, Table]:
    place = st.empty()
    asked(PAIR, source)
    with st.container(key="pair-compared"):
        left, right = st.columns([1, 1.3], gap="large")
    with left:
        models = show_of(source, MODELS)
    with right:
        pairs = show_of(source, PAIRS, on_picked_change=_take_pair)
    with place:
        opening(pairs.told, pairs.closest)
    return {**MODELS.numbers(models), **PAIRS.numbers(pairs)}


def _take_pair() -> None:
    if picked := state.picked(PAIRS.name):
        state.put(PAIR.name, picked)


def _pair(source: Source) -> dict[str, Table]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choose(PAIR, source)
        if can_be_chosen(source):
            pick(BY, source)
        asked(CELLS, source)
    with st.container(key="pair-cells"):
        left, right = st.columns([1, 1.3], gap="large")
    tables: dict[str, Table] = {}
    with left:
        taken = {"on_select": partial(take_cell, source), "selection_mode": "points"}
        shape = show_of(source, MATRIX, more="Click a cell to read it.", **taken)
        choose(CELLS, source)
        tables |= MATRIX.numbers(shape)
        cell_sentences(source, shape)
    with right:
        try:
            tables |= show_tables(source, WHERE)
        except NotAvailable as error:
            caption(as_sentence(error))
    return tables


def _curves(source: Source) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    if len(source.record.classes) > 2 or source.record.task == "multi":
        pick(CLASS, source)
    with st.container(key="pair-curves"):
        columns = st.columns(2, gap="large")
    figures: tuple[Figure[Any], ...] = (ROC, CALIBRATION, LAMBDAS)
    places: tuple[Any, ...] = (*columns, contextlib.nullcontext())
    for place, figure in zip(places, figures, strict=True):
        with place, contextlib.suppress(NotAvailable):
            tables |= show_tables(source, figure)
    return tables


def _maps(source: Source) -> None:
    heading("One sentence in each", "sentence", note="rows read, columns are read")
    example = f"Type a sentence, such as: {SENTENCE}"
    hidden: dict[str, Any] = {"label_visibility": "collapsed", "placeholder": example}
    text = st.text_input("Sentence", key=state.TEXT, bind="query-params", max_chars=500, **hidden)
    if not text:
        return
    letters = [letter_of(source, side) for side in source.sides.sides]
    with st.container(key="pair-maps"):
        columns = st.columns(min(2, len(letters)), gap="large")
    for place, letter in enumerate(letters):
        here = Source(source.record, data, others=source.others, split=source.split, text=text, choices={"who": letter})
        with columns[place % len(columns)]:
            try:
                show_of(here, MAPS, name=f"{MAPS.name}-{letter}")
            except NotAvailable as error:
                finding("There is no map", str(error))
            except SentiscopeError as error:
                problem("This model cannot be asked", str(error))


def _costs(source: Source) -> dict[str, Table]:
    shape = COST.shape(source)  # not kept: another run, or a measurement, changes it
    show(COST, shape)
    lacking = [each.run for each in (source.record, *source.others) if data.efficiency(each).one is None]
    if lacking and st.button("Measure speed and memory", icon=":material/timer:", key="measure"):
        measure_speed(lacking, "Measuring on one thread", "Nothing was measured")
    return dict(COST.numbers(shape))


SHOWN = 7
FIRST = (0, 1)
"""The cell that is shown where nothing is selected: what the first model alone has right."""


def take_cell(source: Source) -> None:
    """Select the clicked cell on all pages."""
    shape = data.drawn(MATRIX, source, look())[0]
    cell = state.selected_bar(state.MATRIX, len(shape.kinds))
    rows = shape.rows(*cell) if cell else np.empty(0, np.int64)
    _select(source, shape, rows, shape.said(*cell) if cell else "", None)


def cell_sentences(source: Source, shape: Matrix) -> None:
    """Show the selected sentences; without a selection, those that only the first model has right."""
    keys = failures.table.keys(shape.answers[0].texts)
    now = selection.chosen(record) if (record := chosen_record()) else None
    places = {key: row for row, key in enumerate(keys)}
    rows = np.array([places[key] for key in now.keys if key in places] if now else [], np.int64)
    said = now.words if now and len(rows) else shape.said(*FIRST)
    if not len(rows):
        now, rows = None, shape.rows(*FIRST)
    cell = cell_of(shape.first, shape.second, rows)
    mark_cell(state.MATRIX, cell if now else None, len(shape.kinds))
    with st.container(key="selection"):
        selection_note(f"{count(len(rows))} {'sentence' if len(rows) == 1 else 'sentences'}", said)
    if not len(rows):
        return
    shown = rows[:MOST_ROWS]
    names = [keys[row] for row in shown]
    at = now.key(now.at) if now and now.at is not None else ""
    marked = names.index(at) if at in names else None

    def look_at() -> None:
        """Look at the clicked sentence."""
        if chosen := state.rows_of(key):
            if now is None or record is None:
                _select(source, shape, rows, said, chosen[0])
            elif (place := now.found(names[chosen[0]])) is not None:
                selection.look_at(record, place)

    key = f"{state.current(state.EXAMPLES)}-{fingerprint([shape.letters, said, len(rows)])[:12]}"
    first, second = shape.letters
    says = {} if shape.told_by_label else {first: (f"{first} says", 76), second: (f"{second} says", 76)}
    columns = {"text": ("Sentence", 200 if says else 320), "label": ("Is", 76), **says}
    show_table(
        cell_frame(shape, shown),
        f"Sentences: {said}",
        columns,
        height=min(len(shown) + 1, SHOWN) * row_height() + 2,
        column_order=list(columns),
        key=key,
        on_select=look_at,
        selection_mode="single-row",
        selection_default=None if marked is None else {"selection": {"rows": [marked], "columns": [], "cells": []}},
    )
    if marked is not None and record is not None:
        if inside_button(record, "Look inside with both runs"):
            one, other = (each.record.run for each in shape.answers)
            state.choose_run(one)
            selection.look_inside(**{state.BESIDE: other})


def _select(source: Source, shape: Matrix, rows: Sequence[int] | np.ndarray, about: str, at: int | None) -> None:
    """Select these rows; if neither run is the chosen one, switch to the first."""
    record = shape.answers[0].record
    if state.run() not in {each.run for each in (source.record, *source.others)}:
        state.choose_run(record.run)
    texts = failures.table.keys(shape.answers[0].texts)
    keys = [texts[row] for row in rows]
    selection.choose_keys(record, source.split, keys, about, at=at, by=state.MATRIX, by_outcome=True)


page()
