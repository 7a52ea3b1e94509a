"""Page Performance: metrics with intervals, and figures that follow the threshold."""

from __future__ import annotations

import contextlib
import itertools
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable
from core.numbers import count, number
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import answers
from dashboard.figures.calibration import CALIBRATION, COSTS, PROBABILITIES
from dashboard.figures.confusion import CELLS, CONFIDENCE, CONFUSION
from dashboard.figures.decisions import FEW, Decision
from dashboard.figures.figure import Figure
from dashboard.figures.labels import LABELS
from dashboard.figures.learned import NUMBERS_OF
from dashboard.figures.metrics import CLASSES, METRICS, PHENOMENA, absent_classes
from dashboard.figures.ranking import PR, ROC
from dashboard.figures.results import metric_stats
from dashboard.figures.saved import SAVED
from dashboard.figures.source import Source
from dashboard.screens import performance_selection as parts
from dashboard.screens.performance_elsewhere import elsewhere
from dashboard.widgets.bars import stats
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, show_of, show_others, show_table, show_tables
from dashboard.widgets.messages import differing, empty, finding, header
from dashboard.widgets.options import asked, choose, choose_split
from dashboard.widgets.report import report_button
from dashboard.widgets.runs import chosen_run, ended, facts
from dashboard.widgets.selected import mark_cell, selected_here

PLACED: tuple[Figure[Any], ...] = (
    *(METRICS, CONFUSION, CONFIDENCE, CLASSES, COSTS, LABELS),
    *(ROC, PR, CALIBRATION, PHENOMENA, SAVED),
)
QUESTION = "How good is the model, and what does it get wrong?"
INTERVALS = (
    "± is half of the 95 % interval over these sentences (no interval: every resample gives the same number). "
    "The bar shows where it lies between guessing and perfect."
)


def page() -> None:
    """Show how good one run is on one split."""
    record = chosen_run("Performance", QUESTION, purpose="Its metrics, confusions and mistakes are shown here")
    if record is None:
        return
    splits = data.evaluated_splits(record.run)
    if not splits:
        header("Performance", QUESTION, facts(record))
        empty(*_not_yet(record), "train")
        return
    head = st.empty()
    with head:  # until it is known how many examples there are, and where they cannot be read
        header("Performance", QUESTION, facts(record))
    split = choose_split(splits, about="Choose a model on validation, report it on test")
    source = Source(record, data, split=split, author=state.author())
    report = source.report
    n = len(report.examples)
    with head:
        header("Performance", QUESTION, facts(record, (f"n = {count(n)}", f"{split} sentences")))
    if why := data.lacks_texts(record):
        finding("There are no texts to read", f"{why}.")
    if n < FEW:
        few = "Figures on fewer than 30 examples say little; look at the sentences themselves."
        finding(f"Only {n} sentences", few)
    differing(data.split_differences(record, split))
    if record.task == "multi":
        decision, report, tables = parts.multi_label(source)
    else:
        stats(metric_stats(record, split, report))
        caption(f"{INTERVALS} {absent_classes(source)}".rstrip())
        tables = parts.every_metric(source)
        parts.threshold_bar(source)
        decision = source.once(answers.decision)
    _counted(decision)
    parts.pick_outcome(source, decision)
    tables |= _answers(source, decision)
    tables |= _curves(source)
    tables |= _details(source) | parts.saved_slices(source) | show_others(source, "performance", PLACED)
    with contextlib.suppress(NotAvailable):
        tables |= show_tables(source, NUMBERS_OF)
    tables |= elsewhere(record)
    export_bar("performance", {**tables, "Sentences": report.examples})
    report_button([record.run], split)


def _not_yet(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run is still being trained", "Its metrics are measured when the training ends.", "Watch it learn"
    return "This run has not been evaluated", ended(record), "Train a model"


def _counted(decision: Decision) -> None:
    share, low, high = decision.accuracy
    answered = len(decision.rows)
    if not answered:
        finding("No sentence gets an answer", "Every top probability lies below the threshold; move it to the left.")
        return
    who = f"{count(answered)} of {count(decision.total)} sentences get an answer; " if decision.positive is None else ""
    right = f"{count(int(decision.correct.sum()))} of {count(answered)} right"
    accuracy = f"accuracy {number(share)} ({number(low)} to {number(high)})"
    caption(f"At {number(decision.threshold, 2)}: {who}{right}, {accuracy}.")


def _answers(source: Source, decision: Decision) -> dict[str, pd.DataFrame]:
    now = selection.chosen_of(source.record, source.split)
    elsewhere = state.draft(state.SELECTOR, "") in parts.ELSEWHERE
    beside_cells = now is not None and not elsewhere
    with st.container(key="pair-main"):
        left, right = st.columns(2, gap="large")
    with left:
        asked(CELLS, source)
        take = partial(parts.take_cell, source, decision, state.CELL)
        taken: dict[str, Any] = {"on_select": take, "selection_mode": "points"}
        tables = show_tables(source, CONFUSION, more="Click a cell to read its sentences.", **taken)
        mark_cell(state.CELL, parts.marked_cell(decision, now), len(decision.classes))
        choose(CELLS, source)
        with st.expander("The same counts as a table"):
            key, take = state.current(state.CELLS), partial(parts.take_cell, source, decision, state.CELLS)
            taken = {"on_select": take, "selection_mode": "single-cell"}
            show_table(tables["Confusion"], "Confusion matrix, counts", key=key, **taken)
    if now is not None and beside_cells:
        with right:
            selected_here(source.record, now, (state.CELL, state.CELLS))
        with st.container(key="pair-outcomes"):
            left, right = st.columns(2, gap="large")
    with left if beside_cells else right:
        taken = {"on_select": partial(parts.take_bar, source, decision), "selection_mode": "points"}
        show_of(source, CONFIDENCE, more="Click a bar to read its sentences.", **taken)
        parts.beside(source, now, parts.BAR)
    with right:
        tables |= show_tables(source, CLASSES)
    return tables


def _curves(source: Source) -> dict[str, pd.DataFrame]:
    with st.container(key="pair-curves"):
        columns = st.columns(2, gap="large")
    tables: dict[str, pd.DataFrame] = {}
    try:
        for column, figure in zip(columns, (ROC, PR), strict=True):
            with column:
                tables |= show_tables(source, figure)
    except NotAvailable:
        finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")
    return tables


def _details(source: Source) -> dict[str, pd.DataFrame]:
    figures: tuple[Figure[Any], ...] = (COSTS, CALIBRATION, PHENOMENA)
    with st.container(key="pair-details"):
        columns = st.columns(2, gap="large")
    tables: dict[str, pd.DataFrame] = {}
    now = selection.chosen_of(source.record, source.split)
    free = itertools.cycle(columns)
    column = next(free)
    for figure in figures:
        with contextlib.suppress(NotAvailable), column:
            if figure is CALIBRATION:
                choose(PROBABILITIES, source)
            taken: dict[str, Any] = {"on_select": partial(parts.take_phenomenon, source), "selection_mode": "points"}
            tables |= show_tables(source, figure, **(taken if figure is PHENOMENA else {}))
            if figure is PHENOMENA:
                parts.beside(source, now, parts.KINDS)
            column = next(free)
    return tables


page()
