"""Performance: metrics with intervals, what is confused with what, and how well the model ranks."""

from __future__ import annotations

import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.charts.numbers import count
from dashboard.charts.performance import confusion, roc
from dashboard.views.results import COLUMNS, Report, confusion_table, metric_stats, metric_table
from dashboard.widgets.examples import example_table
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, selection_note
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.stats import stats
from dashboard.widgets.style import look, row_height

QUESTION = "How good is the model, and what does it get wrong?"
INTERVALS = (
    "± is half of the 95 % interval over these sentences; the bar shows where it lies between guessing and perfect."
)
CONFUSION = (
    "Rows are what the sentence is, columns what the model said; the diagonal is correct. "
    "Click a cell to read its sentences."
)
CONFUSION_HOW = (
    "Counts, and below them the share of their row, which does not depend on how frequent a class is. "
    "The model says the class with the highest probability."
)
ROC = (
    "How many of a class are found (recall) against how many others are taken for it, over all thresholds; "
    "dotted: guessing."
)
ROC_HOW = (
    "Each class against all others. The area is the chance that a sentence of the class gets a higher probability "
    "for it than a sentence of another class."
)
FEW = 30
MEASURES = [title for name, title in COLUMNS.items() if name != "support"]


def page() -> None:
    """One run on one split."""
    record = chosen_run("Performance", QUESTION, purpose="Its metrics, confusions and mistakes stand here")
    if record is None:
        return
    splits = data.evaluated_splits(record.run)
    if not splits:
        header("Performance", QUESTION, facts(record))
        empty(*_not_yet(record), "screens/train.py")
        return
    state.initial(state.SPLIT, "test" if "test" in splits else splits[-1])
    head = st.container()
    chosen = st.segmented_control(
        "Split",
        splits,
        key=state.SPLIT,
        bind="query-params",
        required=True,
        help="Choose a model on validation, report it on test",
    )
    split = chosen or splits[-1]
    report = data.report(record, split)
    n = len(report.examples)
    with head:
        header("Performance", QUESTION, facts(record, (f"n = {count(n)}", f"{split} sentences")))
    if n < FEW:
        finding(
            f"Only {n} sentences", "Figures on fewer than 30 examples say little; look at the sentences themselves."
        )
    stats(metric_stats(record, split, report))
    caption(INTERVALS)
    _figures(report)
    _selection(report)
    heading("Each class", "classes", note=f"n = {count(n)}")
    three = {name: st.column_config.NumberColumn(format="%.3f") for name in MEASURES}
    st.dataframe(report.per_class, hide_index=True, row_height=row_height(), column_config=three, alt="Each class")
    export_bar(
        "performance",
        {"Metrics": metric_table(record, split), "Classes": report.per_class, "Sentences": report.examples},
    )


def _not_yet(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run is still being trained", "Its metrics are measured when the training ends.", "Watch it learn"
    return "This run has not been evaluated", f"It is {record.status}. {record.reason}", "Train a model"


def _figures(report: Report) -> None:
    with st.container(key="pair-main"):
        left, right = st.columns(2, gap="large")
    with left:
        figure(
            "Confusion matrix",
            confusion(report.confusion, report.classes, look()),
            "confusion",
            note=f"n = {count(len(report.examples))}",
            reading=CONFUSION,
            about=CONFUSION_HOW,
            on_select="rerun",
            selection_mode="points",
        )
        with st.expander("The same counts as a table"):
            st.dataframe(
                confusion_table(report), hide_index=True, row_height=row_height(), alt="Confusion matrix, counts"
            )
    with right:
        if report.roc:
            area = "area under the curve"
            figure("ROC", roc(report.roc, look()), "roc", note=area, reading=ROC, about=ROC_HOW)
        else:
            finding("There is no ROC curve", "It needs sentences of at least two classes in this split.")


def _selection(report: Report) -> None:
    """The sentences of the clicked cell."""
    cell = state.selected_cell()
    if cell is None:
        return
    true, predicted = (report.classes[int(index)] for index in cell)
    rows = report.examples[(report.examples["label"] == true) & (report.examples["predicted"] == predicted)]
    with st.container(key="selection", horizontal=True, vertical_alignment="center", wrap=False):
        selection_note(
            f"{count(len(rows))} of {count(len(report.examples))} sentences", f"true {true}, predicted {predicted}"
        )
        st.button("Clear", type="tertiary", icon=":material/close:", on_click=state.forget, args=(state.CELL,))
    example_table(rows)


page()
