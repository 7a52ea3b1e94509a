"""Page Performance: metrics with confidence intervals, and figures that follow the decision threshold."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from core.data.dataset import VALIDATION
from core.evaluation.metrics import HALF
from core.exceptions import NotAvailable
from core.formatting import count, number
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import metrics, thresholding
from dashboard.figures.decisions import FEW, Decision
from dashboard.figures.error_rates import SAVED
from dashboard.figures.figure import Figure, Source
from dashboard.figures.threshold_curves import CALIBRATION, COSTS, PR, PROBABILITIES, ROC
from dashboard.figures.thresholding import LABELS
from dashboard.figures.token_values import NUMBERS_OF
from dashboard.screens import performance_selection as parts
from dashboard.screens.performance_external import show_other_data
from dashboard.widgets.bars import show_stat_line
from dashboard.widgets.export import Tables, offer_report, show_export_bar
from dashboard.widgets.figure import show_bare, show_caption, show_figures, show_how, show_others, show_table
from dashboard.widgets.messages import show_finding, show_header, show_shift, show_summary
from dashboard.widgets.options import Sections, choose_option, choose_split, collect_tables, read_option
from dashboard.widgets.runs import list_facts, require_run, require_splits
from dashboard.widgets.selection_bar import mark_cell, show_selected
from dashboard.widgets.style import split_page

QUESTION = "How good is it, and what does it get wrong?"
PLACED: tuple[Figure[Any], ...] = (
    *(metrics.METRICS, metrics.CONFUSION, metrics.CONFIDENCE, metrics.CLASSES, COSTS, LABELS),
    *(ROC, PR, CALIBRATION, metrics.PHENOMENA, metrics.LENGTHS, SAVED),
)


def show_page() -> None:
    """Draw the Performance page: metrics and figures of one run on one split."""
    record = require_run("Performance", QUESTION, purpose="Metrics, confusions and errors appear here")
    splits = require_splits(record, "Performance", QUESTION, show_other_data)
    head, line = st.empty(), st.container(key="stats-line", horizontal=True, vertical_alignment="center", gap="medium")
    with head:  # the number of examples is not known yet, and may not be readable
        show_header("Performance", QUESTION, list_facts(record))
    with line:
        place = st.container(width="stretch")
        split = choose_split(splits, plain=True)
        source = Source(record, data, split=split, author=state.get_author())
        if record.task == "multi":
            parts.pick_label(source)
    report = source.report
    with head:
        show_header("Performance", QUESTION, list_facts(record, (split, f"n = {count(len(report.examples))}")))
    with place:
        show_stat_line(parts.list_main_stats(source))
    decision, matrix = _show_confusion(source)
    if record.task == "multi":
        report = parts.apply_thresholds(source, decision)
    if why := data.explain_no_texts(source.record):
        show_finding("There are no texts to read", f"{why}.")
    if len(report.examples) < FEW:
        few = "Numbers from fewer than 30 examples say little. Read the sentences instead."
        show_finding(f"Only {len(report.examples)} sentences", few)
    if not len(decision.rows):
        show_finding("No sentence gets an answer", "Every top probability is below the threshold. Move it to the left.")
    if source.record.results.get("tuned") and source.split == VALIDATION:
        tuned = "Tuned numbers are too good here. Report those of test."
        show_finding("The thresholds were chosen on these sentences", tuned)
    show_shift(data.compare_split(source.record, source.split))
    tables = {**matrix, **collect_tables(_list_sections(source, decision))}
    tables |= show_others(source, "performance", PLACED)
    show_export_bar("performance", {**tables, "Sentences": report.examples})
    offer_report([record.run], split)


def _list_sections(source: Source, decision: Decision) -> Sections:
    sections: dict[str, Callable[[], Tables]] = {
        "Counts as a table": partial(_show_counts, source, decision),
        "Confidence": partial(_show_confidence, source, decision),
        **({"Per label": partial(parts.show_labels, source)} if source.record.task == "multi" else {}),
        "Per class": partial(_show_figures, source, metrics.CLASSES),
        "ROC and PR curves": partial(_show_curves, source),
        "Calibration": partial(_show_calibration, source),
    }
    if metrics.PHENOMENA.is_available(source):
        sections["By kind of sentence"] = partial(_show_phenomena, source)
    sections["By length"] = partial(_show_figures, source, metrics.LENGTHS)
    sections["Saved slices"] = partial(parts.show_slices, source)
    sections["All metrics"] = partial(_show_metrics, source)
    if NUMBERS_OF.is_available(source):
        sections["Learned weights"] = partial(_show_figures, source, NUMBERS_OF)
    sections["Other data"] = partial(show_other_data, source.record)
    return sections


def _show_confusion(source: Source) -> tuple[Decision, Tables]:
    """Show the page's finding, the confusion matrix with its threshold, and next to it the sentences of a cell."""
    now = selection.get_split_selection(source.record, source.split)
    read_option(metrics.CELLS, source)
    summary = st.container()
    left, right = split_page("main", [1.15, 1])
    with left:
        place = st.container()
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            parts.show_threshold_popover(source)  # before the matrix, which follows the threshold
            decision = source.read_once(thresholding.read_decision)
            parts.offer_outcomes(source, decision)
            show_how(metrics.CONFUSION.name, str(metrics.CONFUSION.reading), str(metrics.CONFUSION.how))
    shape = metrics.CONFUSION.read_data(source)
    with summary:
        if len(decision.rows):
            show_summary(metrics.describe_errors(shape), _describe_accuracy(decision))
    with place:
        select = partial(parts.select_cell, source, decision, state.CELL)
        show_bare(source, metrics.CONFUSION, on_select=select, selection_mode="points")
        mark_cell(state.CELL, parts.get_selected_cell(decision, now), len(decision.classes))
    with right:
        if now is not None and state.get_value(state.SELECTOR, "") not in parts.ELSEWHERE:
            show_selected(source.record, now, (state.CELL, state.CELLS))
        else:
            parts.show_surest_errors(source, decision)
    return decision, metrics.CONFUSION.build_tables(shape)


def _describe_accuracy(decision: Decision) -> str:
    """Return a sentence on the accuracy at a threshold that somebody moved; empty at the usual one."""
    answered, (share, low, high) = len(decision.rows), decision.accuracy
    if answered == decision.total and decision.threshold in (0.0, HALF):
        return ""
    who = f", {count(answered)} of {count(decision.total)} sentences get an answer" if decision.positive is None else ""
    return f"At {number(decision.threshold, 2)}: accuracy {number(share)} ({number(low)} to {number(high)}){who}."


def _show_figures(source: Source, *figures: Figure[Any]) -> Tables:
    tables: Tables = {}
    for figure in figures:
        with contextlib.suppress(NotAvailable):
            tables |= show_figures(source, figure)
    return tables


def _show_counts(source: Source, decision: Decision) -> Tables:
    """Show the confusion matrix as a table, whose cells can be selected with the keyboard."""
    choose_option(metrics.CELLS, source)
    table = metrics.build_confusion_table(decision.classes, decision.counts)
    key, take = state.get_widget_key(state.CELLS), partial(parts.select_cell, source, decision, state.CELLS)
    show_table(table, "Confusion matrix, counts", key=key, on_select=take, selection_mode="single-cell")
    return {}


def _show_metrics(source: Source) -> Tables:
    tables = _show_figures(source, metrics.METRICS)
    if source.record.task == "multi":
        show_caption(parts.INTERVALS)
    return tables


def _show_confidence(source: Source, decision: Decision) -> Tables:
    taken = {"on_select": partial(parts.select_bar, source, decision), "selection_mode": "points"}
    tables = show_figures(source, metrics.CONFIDENCE, more="Click a bar to read its sentences.", **taken)
    parts.show_if_clicked(source, selection.get_split_selection(source.record, source.split), parts.BAR)
    return tables


def _show_curves(source: Source) -> Tables:
    columns = split_page("curves", 2)
    tables: Tables = {}
    try:
        for column, figure in zip(columns, (ROC, PR), strict=True):
            with column:
                tables |= show_figures(source, figure)
    except NotAvailable:
        show_finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")
    return tables


def _show_calibration(source: Source) -> Tables:
    with contextlib.suppress(NotAvailable):
        choose_option(PROBABILITIES, source)
    return _show_figures(source, CALIBRATION, COSTS)


def _show_phenomena(source: Source) -> Tables:
    taken: dict[str, Any] = {"on_select": partial(parts.select_phenomenon, source), "selection_mode": "points"}
    tables = show_figures(source, metrics.PHENOMENA, **taken)
    parts.show_if_clicked(source, selection.get_split_selection(source.record, source.split), parts.KINDS)
    return tables


show_page()
