"""Page Performance: metrics with confidence intervals, and figures that follow the decision threshold."""

from __future__ import annotations

import contextlib
import itertools
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable
from core.formatting import count, number
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import thresholding
from dashboard.figures.calibration import CALIBRATION, COSTS, PROBABILITIES
from dashboard.figures.confusion import CELLS, CONFIDENCE, CONFUSION
from dashboard.figures.decisions import FEW, Decision
from dashboard.figures.figure import Figure
from dashboard.figures.learned_scalars import NUMBERS_OF
from dashboard.figures.metrics import CLASSES, METRICS, PHENOMENA, describe_macro_classes
from dashboard.figures.multilabel import LABELS
from dashboard.figures.results import list_split_stats
from dashboard.figures.roc_pr import PR, ROC
from dashboard.figures.saved_slices import SAVED
from dashboard.figures.source import Source
from dashboard.screens import performance_selection as parts
from dashboard.screens.performance_external import show_other_data
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show_caption, show_figure, show_figures, show_others, show_table
from dashboard.widgets.messages import show_empty, show_finding, show_header, show_shift
from dashboard.widgets.options import choose_option, choose_split, read_option
from dashboard.widgets.report import offer_report
from dashboard.widgets.runs import describe_end, list_facts, require_run
from dashboard.widgets.selection_bar import mark_cell, show_selected

PLACED: tuple[Figure[Any], ...] = (
    *(METRICS, CONFUSION, CONFIDENCE, CLASSES, COSTS, LABELS),
    *(ROC, PR, CALIBRATION, PHENOMENA, SAVED),
)
QUESTION = "How good is it, and what does it get wrong?"
INTERVALS = "± is half of the 95 % interval (none: all resamples agree). Bar: from guessing to perfect."


def show_page() -> None:
    """Draw the Performance page: metrics and figures of one run on one split."""
    record = require_run("Performance", QUESTION, purpose="Metrics, confusions and errors appear here")
    if record is None:
        return
    splits = data.list_splits(record.run)
    if not splits:
        show_header("Performance", QUESTION, list_facts(record))
        show_empty(*_explain_missing(record), "train")
        return
    head = st.empty()
    with head:  # shown until the number of examples is known, or if they cannot be read
        show_header("Performance", QUESTION, list_facts(record))
    split = choose_split(splits, about="Choose a model on validation, report it on test")
    source = Source(record, data, split=split, author=state.get_author())
    report = source.report
    n = len(report.examples)
    with head:
        show_header("Performance", QUESTION, list_facts(record, (f"n = {count(n)}", f"{split} sentences")))
    if why := data.explain_no_texts(record):
        show_finding("There are no texts to read", f"{why}.")
    if n < FEW:
        few = "Numbers from fewer than 30 examples say little. Read the sentences instead."
        show_finding(f"Only {n} sentences", few)
    show_shift(data.compare_split(record, split))
    if record.task == "multi":
        decision, report, tables = parts.show_multi_label(source)
    else:
        show_stats(list_split_stats(record, split, report))
        show_caption(f"{INTERVALS} {describe_macro_classes(source)}".rstrip())
        tables = parts.show_all_metrics(source)
        parts.show_threshold_bar(source)
        decision = source.read_once(thresholding.read_decision)
    _show_accuracy(decision)
    parts.offer_outcomes(source, decision)
    tables |= _show_confusion(source, decision)
    tables |= _show_curves(source)
    tables |= _show_details(source) | parts.show_slices(source) | show_others(source, "performance", PLACED)
    with contextlib.suppress(NotAvailable):
        tables |= show_figures(source, NUMBERS_OF)
    tables |= show_other_data(record)
    show_export_bar("performance", {**tables, "Sentences": report.examples})
    offer_report([record.run], split)


def _explain_missing(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run is still being trained", "Its metrics are measured when the training ends.", "Watch it learn"
    return "This run has not been evaluated", describe_end(record), "Train a model"


def _show_accuracy(decision: Decision) -> None:
    share, low, high = decision.accuracy
    answered = len(decision.rows)
    if not answered:
        show_finding("No sentence gets an answer", "Every top probability is below the threshold. Move it to the left.")
        return
    who = f"{count(answered)} of {count(decision.total)} sentences get an answer; " if decision.positive is None else ""
    right = f"{count(int(decision.correct.sum()))} of {count(answered)} right"
    accuracy = f"accuracy {number(share)} ({number(low)} to {number(high)})"
    show_caption(f"At {number(decision.threshold, 2)}: {who}{right}, {accuracy}.")


def _show_confusion(source: Source, decision: Decision) -> dict[str, pd.DataFrame]:
    now = selection.get_split_selection(source.record, source.split)
    elsewhere = state.get_value(state.SELECTOR, "") in parts.ELSEWHERE
    beside_cells = now is not None and not elsewhere
    with st.container(key="pair-main"):
        left, right = st.columns(2, gap="large")
    with left:
        read_option(CELLS, source)
        take = partial(parts.select_cell, source, decision, state.CELL)
        taken: dict[str, Any] = {"on_select": take, "selection_mode": "points"}
        tables = show_figures(source, CONFUSION, more="Click a cell to read its sentences.", **taken)
        mark_cell(state.CELL, parts.get_selected_cell(decision, now), len(decision.classes))
        choose_option(CELLS, source)
        with st.expander("The same counts as a table"):
            key, take = state.get_widget_key(state.CELLS), partial(parts.select_cell, source, decision, state.CELLS)
            taken = {"on_select": take, "selection_mode": "single-cell"}
            show_table(tables["Confusion"], "Confusion matrix, counts", key=key, **taken)
    if now is not None and beside_cells:
        with right:
            show_selected(source.record, now, (state.CELL, state.CELLS))
        with st.container(key="pair-outcomes"):
            left, right = st.columns(2, gap="large")
    with left if beside_cells else right:
        taken = {"on_select": partial(parts.select_bar, source, decision), "selection_mode": "points"}
        show_figure(source, CONFIDENCE, more="Click a bar to read its sentences.", **taken)
        parts.show_if_clicked(source, now, parts.BAR)
    with right:
        tables |= show_figures(source, CLASSES)
    return tables


def _show_curves(source: Source) -> dict[str, pd.DataFrame]:
    with st.container(key="pair-curves"):
        columns = st.columns(2, gap="large")
    tables: dict[str, pd.DataFrame] = {}
    try:
        for column, figure in zip(columns, (ROC, PR), strict=True):
            with column:
                tables |= show_figures(source, figure)
    except NotAvailable:
        show_finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")
    return tables


def _show_details(source: Source) -> dict[str, pd.DataFrame]:
    figures: tuple[Figure[Any], ...] = (COSTS, CALIBRATION, PHENOMENA)
    with st.container(key="pair-details"):
        columns = st.columns(2, gap="large")
    tables: dict[str, pd.DataFrame] = {}
    now = selection.get_split_selection(source.record, source.split)
    free = itertools.cycle(columns)
    column = next(free)
    for figure in figures:
        with contextlib.suppress(NotAvailable), column:
            if figure is CALIBRATION:
                choose_option(PROBABILITIES, source)
            taken: dict[str, Any] = {"on_select": partial(parts.select_phenomenon, source), "selection_mode": "points"}
            tables |= show_figures(source, figure, **(taken if figure is PHENOMENA else {}))
            if figure is PHENOMENA:
                parts.show_if_clicked(source, now, parts.KINDS)
            column = next(free)
    return tables


show_page()
