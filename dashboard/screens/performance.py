"""Performance: metrics with intervals, and what every figure becomes as the threshold moves."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures import decisions, readings
from dashboard.figures.calibration import bin_table, draw_calibration, reliability
from dashboard.figures.confusion import confusion_table, draw_confidence, draw_confusion, outcomes
from dashboard.figures.decisions import FEW, Decision, Report, decide
from dashboard.figures.numbers import count, number
from dashboard.figures.parts import record_numbers
from dashboard.figures.phenomena import draw_phenomena as phenomena_chart
from dashboard.figures.phenomena import phenomena
from dashboard.figures.ranking import draw_pr, draw_roc, pr_curves, roc_curves
from dashboard.figures.results import metric_stats, metric_table, yardstick_phenomena
from dashboard.widgets.examples import example_table, in_sight
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, selection_note
from dashboard.widgets.parts import number_list
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.several import several
from dashboard.widgets.stats import stats
from dashboard.widgets.style import look, row_height
from dashboard.widgets.threshold import threshold_bar

QUESTION = "How good is the model, and what does it get wrong?"
INTERVALS = (
    "± is half of the 95 % interval (percentile bootstrap over these sentences); the bar shows where it lies between "
    "guessing and perfect."
)


def page() -> None:
    """One run on one split."""
    record = chosen_run("Performance", QUESTION, purpose="Its metrics, confusions and mistakes stand here")
    if record is None:
        return
    splits = data.evaluated_splits(record.run)
    if not splits:
        header("Performance", QUESTION, facts(record))
        empty(*_not_yet(record), "train")
        return
    state.keep_to(state.SPLIT, splits)
    state.initial(state.SPLIT, "test" if "test" in splits else splits[-1])
    head = st.empty()
    with head:  # until it is known how many examples there are, and where they cannot be read
        header("Performance", QUESTION, facts(record))
    about = "Choose a model on validation, report it on test"
    split = (
        st.segmented_control("Split", splits, key=state.SPLIT, bind="query-params", required=True, help=about)
        or splits[-1]
    )
    report = data.report(record, split)
    n = len(report.examples)
    with head:
        header("Performance", QUESTION, facts(record, (f"n = {count(n)}", f"{split} sentences")))
    if n < FEW:
        finding(
            f"Only {n} sentences", "Figures on fewer than 30 examples say little; look at the sentences themselves."
        )
    if record.task == "multi":
        decision, report, tables = several(record, split, report)
    else:
        stats(metric_stats(record, split, report))
        caption(INTERVALS)
        decision = decide(report.labels, report.probabilities, report.classes, *threshold_bar(report.classes))
        tables = {"Metrics": metric_table(record, split)}
    _said(decision)
    _answers(report, decision)
    _curves(decision)
    tables |= _details(record, split, report, decision)
    learned = record_numbers(record)
    if len(learned):
        heading("Numbers inside", "numbers", note="of the epoch that was kept")
        number_list(learned)
        tables |= {"Learned numbers": learned}
    export_bar("performance", {**tables, "Sentences": report.examples})


def _not_yet(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run is still being trained", "Its metrics are measured when the training ends.", "Watch it learn"
    return "This run has not been evaluated", f"It is {record.status}. {record.reason}", "Train a model"


def _said(decision: Decision) -> None:
    """The counts at the threshold, in words."""
    share, low, high = decision.accuracy
    answered = len(decision.rows)
    if not answered:
        finding("No sentence gets an answer", "Every top probability lies below the threshold; move it to the left.")
        return
    who = f"{count(answered)} of {count(decision.total)} sentences get an answer; " if decision.positive is None else ""
    right = f"{count(int(decision.correct.sum()))} of {count(answered)} right"
    caption(
        f"At {number(decision.threshold, 2)}: {who}{right}, accuracy {number(share)} ({number(low)} to {number(high)})."
    )


def _thin(sizes: dict[str, int]) -> None:
    """The banner of a figure that rests on too little."""
    if small := decisions.few(sizes):
        finding("This figure rests on few sentences", f"Fewer than {FEW}: {small}.")


def _answers(report: Report, decision: Decision) -> None:
    """What is confused with what; beside it the sentences of the clicked cell, before that how sure each answer was."""
    cell = state.selected_cell(decision.classes)
    with st.container(key="pair-main"):
        left, right = st.columns(2, gap="large")
    with left:
        normalised = state.asked(state.SHARES) == "shares"
        figure(
            "Confusion matrix",
            draw_confusion(decision.counts, decision.classes, look(), normalised=normalised),
            "confusion",
            note=f"n = {count(len(decision.rows))}",
            reading=f"{readings.CONFUSION} Click a cell to read its sentences.",
            about=readings.CONFUSION_HOW,
            on_select=partial(state.clear, state.CELLS),
            selection_mode="points",
        )
        st.segmented_control(
            "Cells",
            ["counts", "shares"],
            default="counts",
            key=state.SHARES,
            bind="query-params",
            required=True,
            help="Shares of the row do not depend on how frequent a class is",
        )
        _thin({name: int(decision.counts[i].sum()) for i, name in enumerate(decision.classes)})
        with st.expander("The same counts as a table"):
            st.dataframe(
                confusion_table(decision),
                hide_index=True,
                row_height=row_height(),
                alt="Confusion matrix, counts",
                key=state.current(state.CELLS),
                on_select=partial(state.clear, state.CELL),
                selection_mode="single-cell",
            )
    if cell is None:
        with right:
            _outcomes(decision)
            _classes(decision)
        return
    with right:
        _selection(report, decision, *cell)
    with st.container(key="pair-outcomes"):
        left, right = st.columns(2, gap="large")
    with left:
        _outcomes(decision)
    with right:
        _classes(decision)


def _outcomes(decision: Decision) -> None:
    figure(
        "Confidence by outcome",
        draw_confidence(*outcomes(decision), decision.threshold, decision.score_name, look()),
        "confidence",
        note=f"n = {count(len(decision.rows))}",
        reading=readings.OUTCOMES_TOP if decision.positive is None else readings.OUTCOMES,
        about=readings.OUTCOMES_HOW,
    )
    _thin({"right answers": int(decision.correct.sum()), "wrong answers": int((~decision.correct).sum())})


def _classes(decision: Decision) -> None:
    heading("Each class", "classes", note=f"at {number(decision.threshold, 2)}")
    three = {name: st.column_config.NumberColumn(format="%.3f", width=84) for name in ("Precision", "Recall", "F1")}
    table = decisions.class_table(decision)
    st.dataframe(table, hide_index=True, row_height=row_height(), column_config=three, alt="Each class")


def _curves(decision: Decision) -> None:
    """Over all thresholds: how well it ranks, and what its probabilities are worth."""
    ranking, precision = roc_curves(decision), pr_curves(decision)
    if ranking:
        with st.container(key="pair-curves"):
            left, right = st.columns(2, gap="large")
        with left:
            figure(
                "ROC",
                draw_roc(ranking, look()),
                "roc",
                note="area under the curve",
                reading=readings.ROC,
                about=readings.ROC_HOW,
            )
            _thin({each.name: min(each.positives, each.others) for each in ranking})
        with right:
            chart = draw_pr(precision, look())
            figure(
                "Precision and recall",
                chart,
                "pr",
                note="average precision",
                reading=readings.PR,
                about=readings.PR_HOW,
            )
            _thin({each.name: each.positives for each in precision})
    else:
        finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")


def _details(record: RunRecord, split: str, report: Report, decision: Decision) -> dict[str, pd.DataFrame]:
    """Calibration and phenomena; returns the tables of the page."""
    with st.container(key="pair-details"):
        left, right = st.columns(2, gap="large")
    bins = reliability(decision)
    with left:
        chart = draw_calibration(bins, decision.threshold, decision.score_name, look())
        note = f"n = {count(len(decision.rows))}"
        figure(
            "Calibration", chart, "calibration", note=note, reading=readings.CALIBRATION, about=readings.CALIBRATION_HOW
        )
        _thin({f"{number(each.low, 1)} to {number(each.high, 1)}": each.n for each in bins})
    tables = {
        "Classes": decisions.class_table(decision),
        "Confusion": confusion_table(decision),
        "Calibration": bin_table(bins),
    }
    if "phenomenon" in report.examples:
        table = phenomena(decision, report.examples["phenomenon"].tolist(), yardstick_phenomena(record, split))
        chart, note = phenomena_chart(table[::-1], look()), f"n = {count(len(decision.rows))}, the worst on top"
        with right:
            figure("Phenomena", chart, "phenomena", note=note, reading=readings.PHENOMENA, about=readings.PHENOMENA_HOW)
            _thin(dict(zip(table["phenomenon"], table["n"], strict=True)))
        tables["Phenomena"] = table
    return tables


def _selection(report: Report, decision: Decision, true: int, said: int) -> None:
    """The sentences of the clicked cell."""
    in_sight(f"{true} {said}")
    rows = decisions.cell_rows(decision, report.examples, true, said)
    with st.container(key="selection", horizontal=True, vertical_alignment="center", wrap=False):
        selection_note(
            f"{count(len(rows))} of {count(len(decision.rows))} sentences",
            f"true {decision.classes[true]}, predicted {decision.classes[said]}",
        )
        st.button(
            "Clear", type="tertiary", icon=":material/close:", on_click=state.clear, args=(state.CELL, state.CELLS)
        )
    name = f"Sentences that are {decision.classes[true]} and were said to be {decision.classes[said]}"
    example_table(rows, name)


page()
