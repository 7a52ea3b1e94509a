"""Page Performance: metrics with confidence intervals, and figures that follow the decision threshold."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core.api.evaluation import Evaluation
from core.data.dataset import VALIDATION
from core.evaluation.metrics import HALF
from core.exceptions import NotAvailable
from core.formatting import count, number
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import metrics, thresholding
from dashboard.figures.decisions import FEW, Decision
from dashboard.figures.error_rates import SAVED
from dashboard.figures.figure import Figure, Source
from dashboard.figures.metrics import ELSEWHERE_CONFUSION, ELSEWHERE_METRICS, ELSEWHERE_VALUES, list_stats
from dashboard.figures.results import list_split_stats
from dashboard.figures.threshold_curves import CALIBRATION, COSTS, PR, PROBABILITIES, ROC
from dashboard.figures.thresholding import LABELS
from dashboard.figures.token_values import NUMBERS_OF
from dashboard.screens import performance_selection as parts
from dashboard.widgets import figure as widgets
from dashboard.widgets import options
from dashboard.widgets.bars import show_stat_line, show_stats
from dashboard.widgets.export import Tables, offer_report, show_export_bar
from dashboard.widgets.messages import show_finding, show_header, show_notes, show_shift, show_summary
from dashboard.widgets.progress import show_job, show_start_button
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
        split = options.choose_split(splits, plain=True)
        source = Source(record, data, split=split, author=state.get_author())
        if record.task == "multi":
            options.choose_option(thresholding.LIMITS, source, plain=True)
            options.pick_option(thresholding.RULE, source, label="Label", width=200, plain=True)
    report = source.report
    with head:
        show_header("Performance", QUESTION, list_facts(record, (split, f"n = {count(len(report.examples))}")))
    with place:
        if record.task == "multi":
            limits = str(source.get_choice(thresholding.LIMITS))
            show_stat_line(thresholding.list_metric_stats(record, split, report, limits))
        else:
            show_stat_line(list_split_stats(record, split, report))
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
    tables = {**matrix, **options.collect_tables(_list_sections(source, decision))}
    tables |= widgets.show_others(source, "performance", PLACED)
    show_export_bar("performance", {**tables, "Sentences": report.examples})
    offer_report([record.run], split)


def _list_sections(source: Source, decision: Decision) -> options.Sections:
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
    options.read_option(metrics.CELLS, source)
    summary = st.container()
    left, right = split_page("main", [1.15, 1])
    with left:
        place = st.container()
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            parts.show_threshold_popover(source)  # before the matrix, which follows the threshold
            decision = source.read_once(thresholding.read_decision)
            parts.offer_outcomes(source, decision)
            widgets.show_how(metrics.CONFUSION.name, str(metrics.CONFUSION.reading), str(metrics.CONFUSION.how))
    shape = metrics.CONFUSION.read_data(source)
    with summary:
        if len(decision.rows):
            show_summary(metrics.describe_errors(shape), _describe_accuracy(decision))
    with place:
        select = partial(parts.select_cell, source, decision, state.CELL)
        widgets.show_bare(source, metrics.CONFUSION, on_select=select, selection_mode="points")
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
            tables |= widgets.show_figures(source, figure)
    return tables


def _show_counts(source: Source, decision: Decision) -> Tables:
    """Show the confusion matrix as a table, whose cells can be selected with the keyboard."""
    options.choose_option(metrics.CELLS, source)
    table = metrics.build_confusion_table(decision.classes, decision.counts)
    key, take = state.get_widget_key(state.CELLS), partial(parts.select_cell, source, decision, state.CELLS)
    widgets.show_table(table, "Confusion matrix, counts", key=key, on_select=take, selection_mode="single-cell")
    return {}


def _show_metrics(source: Source) -> Tables:
    tables = _show_figures(source, metrics.METRICS)
    if source.record.task == "multi":
        widgets.show_caption(parts.INTERVALS)
    return tables


def _show_confidence(source: Source, decision: Decision) -> Tables:
    taken = {"on_select": partial(parts.select_bar, source, decision), "selection_mode": "points"}
    tables = widgets.show_figures(source, metrics.CONFIDENCE, more="Click a bar to read its sentences.", **taken)
    parts.show_if_clicked(source, selection.get_split_selection(source.record, source.split), parts.BAR)
    return tables


def _show_curves(source: Source) -> Tables:
    tables: Tables = {}
    try:
        for column, figure in zip(split_page("curves", 2), (ROC, PR), strict=True):
            with column:
                tables |= widgets.show_figures(source, figure)
    except NotAvailable:
        show_finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")
    return tables


def _show_calibration(source: Source) -> Tables:
    with contextlib.suppress(NotAvailable):
        options.choose_option(PROBABILITIES, source)
    return _show_figures(source, CALIBRATION, COSTS)


def _show_phenomena(source: Source) -> Tables:
    taken: dict[str, Any] = {"on_select": partial(parts.select_phenomenon, source), "selection_mode": "points"}
    tables = widgets.show_figures(source, metrics.PHENOMENA, **taken)
    parts.show_if_clicked(source, selection.get_split_selection(source.record, source.split), parts.KINDS)
    return tables


START = "elsewhere-start"
NONE = "nothing"


def show_other_data(record: RunRecord) -> Tables:
    """Show the section that evaluates a run on another data set; return the result tables for the export."""
    widgets.show_caption(Evaluation.offer.takes)
    chosen = options.choose_data("elsewhere", "Other data")
    if chosen is not None and (matched := options.match_labels("elsewhere", record, chosen)) is not None:
        wanted, offered, whole = matched
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            by = st.selectbox("Group by", [NONE, *offered.columns], key=f"elsewhere-by-{wanted.data}", width=180)
            others = [other.run for other in data.list_runs() if _can_compare(other, record)]
            names = data.name_runs()
            labels: dict[str, Any] = {"format_func": lambda run: names[run].full if run in names else run}
            against = st.selectbox("Compare with", [NONE, *others], key="elsewhere-against", width=220, **labels)
            n = st.number_input("Maximum rows", 0, value=0, step=1000, key="elsewhere-limit", width=150, help="0: all")
            by, against = ("" if each in (None, NONE) else each for each in (by, against))
            wanted = replace(wanted, limit=int(n or 0))
            asked = Evaluation.from_request(data.store(), record.run, wanted, by, against=against)
            if show_start_button(asked, START, primary=True, disabled=not whole):
                state.set_value(state.ELSEWHERE, asked)
    return _show_result(state.get_value(state.ELSEWHERE, None), record)


def _can_compare(other: RunRecord, record: RunRecord) -> bool:
    same = other.task == record.task and set(other.classes) == set(record.classes)
    return other.status == "done" and other.run != record.run and same


def _show_result(asked: Evaluation | None, record: RunRecord) -> Tables:
    if asked is None or asked.run != record.run or show_job(asked, START) or (measured := asked.read()) is None:
        return {}
    show_stats(list_stats(measured))
    for sentence in measured["warnings"]:
        show_finding("Before you quote this", sentence)
    if pair := measured.get("against"):
        show_finding(
            f"Compared with {pair['second']}", f"{pair['verdict']}: {pair['metric']} {pair['difference']:+.3f}."
        )
    left = [f"{name}: not defined, since {reason}" for name, reason in measured["left_out"].items()]
    show_notes([*measured["notes"], *left])
    tables = widgets.show_with_tables(ELSEWHERE_METRICS, measured)
    for figure, there in ((ELSEWHERE_CONFUSION, measured["task"] == "single"), (ELSEWHERE_VALUES, "by" in measured)):
        tables |= widgets.show_with_tables(figure, measured) if there else {}
    return tables


show_page()
