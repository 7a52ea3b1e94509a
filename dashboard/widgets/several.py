"""Several labels a text on the page of performance: all labels first, then the one that the page is about."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.runs.record import RunRecord
from dashboard import state
from dashboard.figures import labels, readings
from dashboard.figures.decisions import FEW, Decision, Report, decide_label, few, first_label
from dashboard.figures.labels import draw_labels
from dashboard.figures.numbers import number
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.messages import finding
from dashboard.widgets.stats import stats
from dashboard.widgets.style import look, row_height

INTERVALS = (
    "Macro: the plain mean over the labels; micro: over all decisions. ± is half of the 95 % interval (percentile "
    "bootstrap over these sentences). There is no accuracy: a sentence may have several labels, or none."
)
CHOICE_HELP = "tuned: for each label the threshold of the best F1 on validation; moved for one label with the slider"


def several(record: RunRecord, split: str, report: Report) -> tuple[Decision, Report, dict[str, pd.DataFrame]]:
    """Numbers, the table of labels, and the choice of one.

    Returns:
        The decision about the chosen label, the report with examples that fit it, and tables to give away.
    """
    with st.container(key="labels-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        choice = _choice(record)
    stats(labels.metric_stats(record, split, report, choice))
    caption(INTERVALS)
    tuned = labels.thresholds(record)
    table = labels.label_table(report, tuned)
    _labels(table, split, tuned=tuned is not None)
    label, decision = _one(record, report, choice)
    used = labels.limits(record, choice)
    used[report.classes.index(label)] = decision.threshold
    tables = {"Metrics": labels.metric_table(record, split), "Labels": table}
    return decision, labels.with_said(report, decision, used), tables


def _choice(record: RunRecord) -> str:
    options = labels.choices(record)
    state.keep_to(state.LIMITS, options)
    return (
        st.segmented_control(
            "Thresholds",
            options,
            default=options[0],
            key=state.LIMITS,
            bind="query-params",
            required=True,
            help=CHOICE_HELP,
        )
        or options[0]
    )


def _labels(table: pd.DataFrame, split: str, *, tuned: bool) -> None:
    """Every label, as a figure and as a table."""
    figure(
        "Each label",
        draw_labels(labels.scattered(table), look()),
        "labels",
        note=f"{split}, frequent ones first",
        reading=readings.LABELS if tuned else readings.LABELS_HALF,
        about=readings.LABELS_HOW,
    )
    if small := few(labels.rare(table)):
        finding("Some labels rest on few sentences", f"Fewer than {FEW}: {small}. Their figures vary widely.")
    if tuned and split == "validation":
        finding("The thresholds were chosen on these sentences", "Tuned figures flatter here; report those of test.")
    three = {
        title: st.column_config.NumberColumn(format="%.3f")
        for name, title in labels.COLUMNS.items()
        if name not in ("label", "n")
    }
    with st.expander("All labels as a table"):
        st.dataframe(
            labels.spoken_table(table), hide_index=True, row_height=row_height(), column_config=three, alt="Each label"
        )


def _one(record: RunRecord, report: Report, choice: str) -> tuple[str, Decision]:
    """The label that everything below is about, and its threshold."""
    names = list(report.classes)
    state.keep_to(state.RULE, names)
    state.initial(state.RULE, first_label(report))
    heading("One label", "one-label", note="everything below is about it: a sentence has it or not")
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        label = st.selectbox("Label", names, key=state.RULE, bind="query-params", width=220) or names[0]
        exact = float(labels.limits(record, choice)[names.index(label)])
        state.follow(state.LIMIT, f"{record.run}, {label}, {choice}", round(exact, 2))
        moved = st.slider(
            f"Threshold on P({label})",
            0.0,
            1.0,
            step=0.01,
            key=state.LIMIT,
            bind="query-params",
            width=420,
            help=f"“{label}” is said where its probability is above this; every figure and count below follows",
        )
    threshold = exact if moved == round(exact, 2) else float(moved)
    if choice == labels.TUNED:
        caption(f"Chosen on validation: {number(exact)}.")
    return label, decide_label(report, label, threshold)
