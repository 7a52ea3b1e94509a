"""Sections of Performance below the curves: labels, slices, threshold, all metrics, and what a click selects."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.failures.selection import Selection
from core.failures.slices import LONGEST, remove_slice, rename_slice
from core.numbers import count, number
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import answers, labels
from dashboard.figures.confusion import CONFIDENCE
from dashboard.figures.decisions import BARS, PHENOMENON, Decision, Report
from dashboard.figures.labels import LABELS
from dashboard.figures.metrics import METRICS, PHENOMENA
from dashboard.figures.naming import escape_text
from dashboard.figures.panels import cell_of
from dashboard.figures.saved import CLASS, SAVED, Saved
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.bars import stats
from dashboard.widgets.figure import caption, heading, heading_of, show, show_of, show_table
from dashboard.widgets.messages import finding
from dashboard.widgets.options import choose, pick
from dashboard.widgets.selected import selected_here
from dashboard.widgets.style import look

BAR = f"fig-{CONFIDENCE.name}"
KINDS = f"fig-{PHENOMENA.name}"
SLICES = f"fig-{SAVED.name}"
ELSEWHERE = (BAR, KINDS, SLICES)
"""What can be clicked besides the cells; its sentences stand there and not beside the matrix."""


def take_cell(source: Source, decision: Decision, by: str) -> None:
    """Select the clicked cell of the matrix, in its figure or in its table (`by`)."""
    rows, said, about = np.empty(0, np.int64), tuple[str, ...](), ""
    if cell := state.selected_cell(decision.classes):
        true, predicted = cell
        rows = decision.rows[(decision.labels == true) & (decision.predicted == predicted)]
        names = decision.classes[true], decision.classes[predicted]
        said = tuple(_rule(source, decision, name, place) for name, place in zip(("truth", "said"), cell, strict=True))
        about = f"true {names[0]}, predicted {names[1]}{_at(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, rules=said, by=by, by_outcome=True)


def marked_cell(decision: Decision, chosen: Chosen | None) -> tuple[int, int] | None:
    """Return the cell of the matrix that is selected, however it came to be: after a reload too."""
    if chosen is None or chosen.places.max(initial=-1) >= decision.total:
        return None
    true, predicted = np.full((2, decision.total), -1)
    true[decision.rows], predicted[decision.rows] = decision.labels, decision.predicted
    return cell_of(true, predicted, chosen.places)


def take_bar(source: Source, decision: Decision) -> None:
    """Select the clicked bar of the right or wrong answers at one probability."""
    rows, about = np.empty(0, np.int64), ""
    if points := state.points_of(BAR):
        place = min(int(float(points[0]["x"]) * BARS), BARS - 1)
        wrong = bool(points[0]["curve_number"])
        inside = np.minimum((decision.score * BARS).astype(int), BARS - 1) == place
        rows = decision.rows[inside & (decision.correct != wrong)]
        ends = f"{number(place / BARS, 2)} to {number((place + 1) / BARS, 2)}"
        about = f"{'wrong' if wrong else 'right'}, {decision.score_name} {ends}{_at(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, by=BAR, by_outcome=True)


def take_phenomenon(source: Source) -> None:
    """Select the sentences of the clicked phenomenon, right and wrong ones."""
    points, names = state.points_of(KINDS), source.report.examples[PHENOMENON].astype(str).to_numpy()
    name = next((name for name in names if points and escape_text(name) == str(points[0]["y"])), "")
    rows = np.flatnonzero(names == name) if points else np.empty(0, np.int64)
    selection.choose_rows(source.record, source.split, rows, name, rules=(f"{PHENOMENON}={name}",), by=KINDS)


def take_slice(source: Source, shown: Saved) -> None:
    """Select the sentences of the picked slice, or of one class of it."""
    name, _, label = state.picked(SAVED.name).partition(CLASS)
    if any(each["name"] == name for each in shown.slices):
        more = [f"truth={label}"] if label else []
        selection.choose_slice(source.record, source.split, name, more=more, by=SLICES)
    elif label:
        selection.choose(source.record, Selection((f"truth={label}",), source.split), by=SLICES)
    else:
        selection.clear(source.record)


def beside(source: Source, now: Chosen | None, clicked: str) -> None:
    """Show the selected sentences if this figure or table was clicked."""
    if now is not None and state.draft(state.SELECTOR, "") == clicked:
        selected_here(source.record, now, (clicked,))


def pick_outcome(source: Source, decision: Decision) -> None:
    """Offer to select all that is wrong at the threshold, and what gets no answer there."""
    wrong = decision.rows[~decision.correct]
    silent = np.setdiff1d(np.arange(decision.total), decision.rows)
    take = partial(selection.choose_rows, source.record, source.split)
    with st.container(horizontal=True, gap="small"):
        if len(wrong):
            rules = ("wrong",) if source.record.task == "single" else ()
            act = partial(take, wrong, f"wrong{_at(decision)}", rules=rules, by_outcome=True)
            st.button(f"Select the {count(len(wrong))} wrong", type="tertiary", key="select-wrong", on_click=act)
        if len(silent):
            label = f"Select the {count(len(silent))} without an answer"
            act = partial(take, silent, f"no answer{_at(decision)}")
            st.button(label, type="tertiary", key="select-silent", on_click=act)


def _rule(source: Source, decision: Decision, column: str, place: int) -> str:
    """Return the rule for a class at the run's own threshold: a class, or one class against the rest."""
    if decision.classes == source.record.classes:
        return f"{column}={decision.classes[place]}"
    return f"{column}{'=' if place else '!='}{decision.classes[1]}"


def _at(decision: Decision) -> str:
    return f" at {number(decision.threshold, 2)}"


WHICH, RENAMED = "slice-which", "slice-renamed"
NONE_YET = (
    "None of these data yet. Select sentences, by a click on a cell above or with the filter of Errors, and press Save "
    "as slice in the bar: every run on these data has it then."
)


def saved_slices(source: Source) -> dict[str, pd.DataFrame]:
    """Show the saved slices; return their table. A picked slice is selected on all pages."""
    tables: dict[str, pd.DataFrame] = {}
    found = data.kept_slices(source.record)
    with contextlib.suppress(NotAvailable):
        shape = SAVED.shape(source)
        show(SAVED, shape, on_picked_change=partial(take_slice, source, shape))
        beside(source, selection.chosen_of(source.record, source.split), SLICES)
        tables = SAVED.numbers(shape)
    if not tables:
        heading_of(SAVED)
        caption(f"None of {source.split}; other splits have some." if found else NONE_YET)
    _change(source.record, [each.name for each in found])
    return tables


def _change(record: RunRecord, names: list[str]) -> None:
    if names:
        with st.popover("Rename or remove", type="tertiary", key="slices-change"):
            key, new = state.current(WHICH), state.current(RENAMED)
            st.selectbox("Slice", names, key=key)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("New name", key=new, max_chars=LONGEST, width=240)
                st.button("Rename", key="slice-rename", on_click=partial(_rename, record, key, new))
            st.button("Remove it", key="slice-remove", on_click=partial(_remove, record, key))
            caption("For every run on these data. Its sentences stay as they are.")
    if said := state.take(state.SLICE_CHANGED):
        st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')


def _rename(record: RunRecord, key: str, field: str) -> None:
    name, new = str(state.draft(key, "")), str(state.draft(field, ""))
    _do(lambda: f"“{name}” is “{rename_slice(data.store(), record, name, new).name}” now.")


def _remove(record: RunRecord, key: str) -> None:
    name = str(state.draft(key, ""))

    def remove() -> str:
        """Remove the slice and report it."""
        remove_slice(data.store(), record, name)
        return f"“{name}” is removed."

    _do(remove)


def _do(change: Callable[[], str]) -> None:
    try:
        state.put(state.SLICE_CHANGED, change())
    except SentiscopeError as error:
        state.put(state.SLICE_CHANGED, f"Not changed: {error}.")
    else:
        state.clear(WHICH, RENAMED)


INTERVALS = (
    "Macro: the plain mean over the labels; micro: over all decisions. ± is half of the 95 % interval over "
    "these sentences. There is no accuracy: a sentence may have several labels, or none."
)


def multi_label(source: Source) -> tuple[Decision, Report, dict[str, pd.DataFrame]]:
    """Show numbers, the table of labels, and the choice of one.

    Returns:
        The decision about the chosen label, the report with examples that fit it, and tables to give away.
    """
    record, split, report = source.record, source.split, source.report
    with st.container(key="labels-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        choice = choose(answers.LIMITS, source, single=True)
    stats(labels.metric_stats(record, split, report, choice))
    caption(INTERVALS)
    tables = every_metric(source)
    every = show_of(source, LABELS)
    _labels(every, split)
    _one(source, choice)
    decision = source.once(answers.decision)
    used = labels.limits(record, choice)
    used[report.classes.index(str(source.chosen(answers.RULE)))] = decision.threshold
    return decision, labels.with_predictions(report, decision, used), {**tables, "Labels": every.table}


def _labels(every: labels.Labels, split: str) -> None:
    if every.tuned and split == "validation":
        finding("The thresholds were chosen on these sentences", "Tuned figures flatter here; report those of test.")
    titles = [title for name, title in labels.COLUMNS.items() if name not in ("label", "n")]
    three = dict.fromkeys(titles, st.column_config.NumberColumn(format="%.3f"))
    with st.expander("All labels as a table"):
        show_table(every.table.rename(columns=labels.COLUMNS), "Each label", three)


def _one(source: Source, choice: str) -> None:
    heading("One label", "one-label", note="everything below is about it: a sentence has it or not")
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        label = pick(answers.RULE, source, label="Label", width=220)
        exact = threshold_slider(source, f"{source.record.run}, {label}, {choice}")
    if choice == labels.TUNED and not source.chosen(answers.COST):
        caption(f"Chosen on validation: {number(exact)}.")


def every_metric(source: Source) -> dict[str, pd.DataFrame]:
    """Show all metrics, folded; return their table, none where none was recorded."""
    try:
        shown, drawing = data.drawn(METRICS, source, look())
    except NotAvailable:
        return {}
    folded = st.expander("All metrics as a table", key="every-metric", on_change="rerun")  # drawn when it is opened
    if folded.open:
        with folded:
            show(METRICS, shown, drawing=drawing)
    return METRICS.numbers(shown)


def threshold_bar(source: Source) -> None:
    """Show rule, threshold and the cost of a miss, all in the link; the source knows them from then on."""
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if answers.RULE.values(source):
            pick(answers.RULE, source, about=answers.RULE.about)
        threshold_slider(source)


def threshold_slider(source: Source, of: str = "") -> float:
    """Show the threshold, and behind it what a miss costs, where it is about one class.

    Args:
        source: Knows both from then on.
        of: What the threshold depends on besides; where that or the cost has changed it begins anew.

    Returns:
        Where it begins: known more exactly than the slider's step, and kept so until the slider is moved.
    """
    option, name = answers.slider(source), answers.one_class(source)
    place = st.container(width=420)
    if name:
        ratios, cost = answers.RATIOS, answers.COST
        given = cost.label, ratios.low, ratios.high, 0.0, ratios.step
        options: dict[str, Any] = {"format": "%g", "bind": "query-params", "width": 150, "help": cost.about}
        source.choices[cost.name] = st.number_input(*given, key=cost.name, **options)
        if source.choices[cost.name]:
            of = f"{source.record.run}, {name}, {of}, {source.choices[cost.name]:g}"
    exact = float(option.first(source))
    first = None if of or state.follows(option.name) else round(exact, 2)
    if first is None:
        state.follow(option.name, of, round(exact, 2))
    label, about = option.label, option.about
    if name:
        label = f"Threshold on P({name})"
        about = f"“{name}” is predicted where its probability is above this; every figure and count below follows"
    with place:
        moved = st.slider(label, 0.0, 1.0, first, 0.01, key=option.name, bind="query-params", help=about)
    if moved != round(exact, 2):
        source.choices[option.name] = float(moved)
    return exact
