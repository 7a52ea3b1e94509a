"""Sections of the Performance page below the curves: labels, slices, threshold, all metrics, and clicks."""

import contextlib
from functools import partial
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from core.error_analysis.selection import Selection
from core.error_analysis.slices import LONGEST, remove_slice, rename_slice
from core.exceptions import NotAvailable
from core.formatting import count, number, plural, shorten_text
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import thresholding
from dashboard.figures.decisions import BARS, PHENOMENON, Decision, SplitPredictions
from dashboard.figures.drawing import escape_text, find_cell
from dashboard.figures.error_rates import CLASS, SAVED, SavedSlices
from dashboard.figures.figure import Source
from dashboard.figures.metrics import CONFIDENCE, PHENOMENA
from dashboard.figures.thresholding import LABELS
from dashboard.selection import SelectedTexts
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show, show_caption, show_figure, show_figure_heading, show_heading, show_table
from dashboard.widgets.messages import show_notice
from dashboard.widgets.options import pick_option
from dashboard.widgets.selection_bar import show_selected

BAR = f"fig-{CONFIDENCE.name}"
KINDS = f"fig-{PHENOMENA.name}"
SLICES = f"fig-{SAVED.name}"
ELSEWHERE = (BAR, KINDS, SLICES)
"""Other clickable figures; their sentences appear below them and not next to the matrix."""


def select_cell(source: Source, decision: Decision, by: str) -> None:
    """Select the sentences of the clicked confusion-matrix cell on all pages; `by` is the clicked figure or table."""
    rows, said, about = np.empty(0, np.int64), tuple[str, ...](), ""
    if cell := state.get_clicked_cell(decision.classes):
        true, predicted = cell
        rows = decision.rows[(decision.labels == true) & (decision.predicted == predicted)]
        names = decision.classes[true], decision.classes[predicted]
        said = tuple(
            _make_rule(source, decision, name, place) for name, place in zip(("true", "predicted"), cell, strict=True)
        )
        about = f"label {names[0]}, predicted {names[1]}{_format_threshold(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, rules=said, by=by, by_outcome=True)


def get_selected_cell(decision: Decision, chosen: SelectedTexts | None) -> tuple[int, int] | None:
    """Return the (true, predicted) confusion-matrix cell whose sentences are selected; None if there is none."""
    if chosen is None or chosen.places.max(initial=-1) >= decision.total:
        return None
    true, predicted = np.full((2, decision.total), -1)
    true[decision.rows], predicted[decision.rows] = decision.labels, decision.predicted
    return find_cell(true, predicted, chosen.places)


def select_bar(source: Source, decision: Decision) -> None:
    """Select the sentences of the clicked histogram bar: right or wrong predictions in one range of probability."""
    rows, about = np.empty(0, np.int64), ""
    if points := state.get_clicked_points(BAR):
        place = min(int(float(points[0]["x"]) * BARS), BARS - 1)
        wrong = bool(points[0]["curve_number"])
        inside = np.minimum((decision.score * BARS).astype(int), BARS - 1) == place
        rows = decision.rows[inside & (decision.correct != wrong)]
        ends = f"{number(place / BARS, 2)} to {number((place + 1) / BARS, 2)}"
        about = f"{'wrong' if wrong else 'right'}, {decision.score_name} {ends}{_format_threshold(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, by=BAR, by_outcome=True)


def select_phenomenon(source: Source) -> None:
    """Select all sentences of the clicked linguistic phenomenon, predicted right or wrong, on all pages."""
    points, names = state.get_clicked_points(KINDS), source.report.examples[PHENOMENON].astype(str).to_numpy()
    name = next((name for name in names if points and escape_text(name) == str(points[0]["y"])), "")
    rows = np.flatnonzero(names == name) if points else np.empty(0, np.int64)
    selection.choose_rows(source.record, source.split, rows, name, rules=(f"{PHENOMENON}={name}",), by=KINDS)


def select_slice(source: Source, shown: SavedSlices) -> None:
    """Select the sentences of the picked saved slice, or those of the picked class in it, on all pages."""
    name, _, label = state.get_picked(SAVED.name).partition(CLASS)
    if any(each["name"] == name for each in shown.slices):
        more = [f"true={label}"] if label else []
        selection.choose_slice(source.record, source.split, name, more=more, by=SLICES)
    elif label:
        selection.select_rules(source.record, Selection((f"true={label}",), source.split), by=SLICES)
    else:
        selection.clear(source.record)


def show_if_clicked(source: Source, now: SelectedTexts | None, clicked: str) -> None:
    """Show the selected sentences below a figure or table, if a click in it made the selection."""
    if now is not None and state.get_value(state.SELECTOR, "") == clicked:
        show_selected(source.record, now, (clicked,))


def offer_outcomes(source: Source, decision: Decision) -> None:
    """Show buttons that select wrong predictions at the threshold, and texts that get no prediction at it."""
    wrong = decision.rows[~decision.correct]
    silent = np.setdiff1d(np.arange(decision.total), decision.rows)
    take = partial(selection.choose_rows, source.record, source.split)
    with st.container(horizontal=True, gap="small"):
        if len(wrong):
            rules = ("wrong",) if source.record.task == "single" else ()
            act = partial(take, wrong, f"wrong{_format_threshold(decision)}", rules=rules, by_outcome=True)
            st.button(f"Show the {plural(len(wrong), 'error')}", type="tertiary", key="select-wrong", on_click=act)
        if len(silent):
            label = f"Show the {count(len(silent))} without an answer"
            act = partial(take, silent, f"no answer{_format_threshold(decision)}")
            st.button(label, type="tertiary", key="select-silent", on_click=act)


def _make_rule(source: Source, decision: Decision, column: str, place: int) -> str:
    """Return the filter rule for a true or predicted class, such as `true=good`; `true!=good` for all others."""
    if decision.classes == source.record.classes:
        return f"{column}={decision.classes[place]}"
    return f"{column}{'=' if place else '!='}{decision.classes[1]}"


def _format_threshold(decision: Decision) -> str:
    return f" at {number(decision.threshold, 2)}"


WHICH, RENAMED = "slice-which", "slice-renamed"
NOT_CHANGED = "Not changed: {}."
NONE_YET = "No slices yet. Click a cell above or filter on Errors, then press “Save as slice”."


def show_slices(source: Source) -> Tables:
    """Show the metrics of the saved slices, clickable to select a slice; return the tables for the export."""
    tables: Tables = {}
    found = data.list_slices(source.record)
    with contextlib.suppress(NotAvailable):
        shape = SAVED.read_data(source)
        show(SAVED, shape, on_picked_change=partial(select_slice, source, shape))
        show_if_clicked(source, selection.get_split_selection(source.record, source.split), SLICES)
        tables = SAVED.build_tables(shape)
    if not tables:
        show_figure_heading(SAVED)
        show_caption(f"No slices of {source.split}; other splits have some." if found else NONE_YET)
    _offer_changes(source.record, [each.name for each in found])
    return tables


def _offer_changes(record: RunRecord, names: list[str]) -> None:
    if names:
        with st.popover("Rename or remove", type="tertiary", key="slices-change"):
            key, new = state.get_widget_key(WHICH), state.get_widget_key(RENAMED)
            st.selectbox("Slice", names, key=key)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("New name", key=new, max_chars=LONGEST, width=240)
                st.button("Rename", key="slice-rename", on_click=partial(_rename_slice, record, key, new))
            st.button("Remove it", key="slice-remove", on_click=partial(_remove_slice, record, key))
            show_caption("This affects every run on these data. The sentences do not change.")
    show_notice(state.SLICE_CHANGED)


def _rename_slice(record: RunRecord, key: str, field: str) -> None:
    name, new = str(state.get_value(key, "")), str(state.get_value(field, ""))
    with state.store_refusal(state.SLICE_CHANGED, NOT_CHANGED):
        _report_change(f"“{name}” is “{rename_slice(data.store(), record, name, new).name}” now.")


def _remove_slice(record: RunRecord, key: str) -> None:
    name = str(state.get_value(key, ""))
    with state.store_refusal(state.SLICE_CHANGED, NOT_CHANGED):
        remove_slice(data.store(), record, name)
        _report_change(f"“{name}” is removed.")


def _report_change(said: str) -> None:
    state.set_value(state.SLICE_CHANGED, said)
    state.clear_clicks(WHICH, RENAMED)


INTERVALS = (
    "Macro: mean over labels. Micro: over all decisions. Accuracy is not defined: a sentence may have several labels."
)


def apply_thresholds(source: Source, decision: Decision) -> SplitPredictions:
    """Return the predictions of a multi-label run at the chosen thresholds, and at the slider's for one label."""
    used = thresholding.pick_thresholds(source.record, str(source.get_choice(thresholding.LIMITS)))
    used[source.report.classes.index(str(source.get_choice(thresholding.RULE)))] = decision.threshold
    return thresholding.apply_thresholds(source.report, decision, used)


def show_labels(source: Source) -> Tables:
    """Show the scores of every label of a multi-label run as a chart and as a table; return the table."""
    every = show_figure(source, LABELS)
    titles = [title for name, title in thresholding.COLUMNS.items() if name not in ("label", "n")]
    three = dict.fromkeys(titles, st.column_config.NumberColumn(format="%.3f"))
    show_table(every.table.rename(columns=thresholding.COLUMNS), "Per label", three)
    return LABELS.build_tables(every)


def show_threshold_popover(source: Source) -> None:
    """Show a button that opens the fields for the decision rule, the threshold and the cost of a miss."""
    several = source.record.task == "multi"
    with st.popover("Threshold", key="rule-bar", help="Predict a class above which probability?"):
        if not several and thresholding.RULE.values(source):
            pick_option(thresholding.RULE, source, about=thresholding.RULE.about)
        named = [str(source.get_choice(option)) for option in (thresholding.RULE, thresholding.LIMITS)]
        exact = pick_threshold(source, ", ".join([source.record.run, *named]) if several else "")
        if several and named[1] == thresholding.TUNED and not source.get_choice(thresholding.COST):
            show_caption(f"Chosen on validation: {number(exact)}.")


SUREST, LONGEST_TEXT = 4, 160  # errors shown, and characters of each


def show_surest_errors(source: Source, decision: Decision) -> None:
    """Show the surest errors of the most frequent confusion, with the probability of the predicted class."""
    counts = decision.counts.copy()
    np.fill_diagonal(counts, 0)
    if not counts.any():
        return
    true, predicted = (int(place) for place in np.unravel_index(counts.argmax(), counts.shape))
    inside = (decision.labels == true) & (decision.predicted == predicted)
    chances = decision.probabilities[inside, predicted]
    order = np.argsort(-chances, kind="stable")[:SUREST]
    names = decision.classes[true], decision.classes[predicted]
    title, note = f"Label {names[0]}, predicted {names[1]}: {count(int(inside.sum()))}", f"surest first, P({names[1]})"
    show_heading(title, "surest", note=note)
    texts = source.report.examples["text"].iloc[decision.rows[inside][order]]
    rows = "".join(
        f'<li><span data-text dir="auto">{escape(shorten_text(str(text), LONGEST_TEXT))}</span>'
        f"<b>{number(chance, 2)}</b></li>"
        for text, chance in zip(texts, chances[order], strict=True)
    )
    st.html(f'<ul class="s-surest">{rows}</ul>')
    if st.button(f"Open all {count(int(inside.sum()))} in Errors", type="tertiary", key="surest-open"):
        rules = tuple(_make_rule(source, decision, *each) for each in (("true", true), ("predicted", predicted)))
        about = f"label {names[0]}, predicted {names[1]}{_format_threshold(decision)}"
        selection.choose_rows(source.record, source.split, decision.rows[inside], about, rules=rules, by_outcome=True)
        state.open_page("errors")


def pick_threshold(source: Source, of: str = "") -> float:
    """Show the slider of the decision threshold and, for one class, the cost of a miss; return the initial threshold.

    Args:
        source: The data source, which gets both values.
        of: Further values that the threshold depends on; if they or the cost change, it is reset.

    Returns:
        The start value, more exact than the slider's step until the user moves the slider.
    """
    option, name = thresholding.get_slider(source), thresholding.get_class(source)
    place = st.container(width=420)
    if name:
        ratios, cost = thresholding.RATIOS, thresholding.COST
        given = cost.label, ratios.low, ratios.high, 0.0, ratios.step
        options: dict[str, Any] = {"format": "%g", "bind": "query-params", "width": 150, "help": cost.about}
        source.choices[cost.name] = st.number_input(*given, key=cost.name, **options)
        if source.choices[cost.name]:
            of = f"{source.record.run}, {name}, {of}, {source.choices[cost.name]:g}"
    exact = float(option.get_default(source))
    first = None if of or state.has_followed(option.name) else round(exact, 2)
    if first is None:
        state.reset_on_change(option.name, of, round(exact, 2))
    label, about = option.label, option.about
    if name:
        label = f"Threshold on P({name})"
        about = f"“{name}” is predicted above this probability. All figures and counts below follow"
    with place:
        moved = st.slider(label, 0.0, 1.0, first, 0.01, key=option.name, bind="query-params", help=about)
    if moved != round(exact, 2):
        source.choices[option.name] = float(moved)
    return exact
