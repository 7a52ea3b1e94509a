"""Several labels per text on the page of performance: all labels first, then the one that the page is about."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboard.figures import answers, labels
from dashboard.figures.decisions import Decision, Report
from dashboard.figures.labels import LABELS
from dashboard.figures.numbers import number
from dashboard.figures.source import Source
from dashboard.screens.performance_metrics import every_metric
from dashboard.screens.performance_threshold import threshold_slider
from dashboard.widgets.figure import caption, heading, show_of
from dashboard.widgets.messages import finding
from dashboard.widgets.options import choose, pick
from dashboard.widgets.stats import stats
from dashboard.widgets.style import row_height

INTERVALS = (
    "Macro: the plain mean over the labels; micro: over all decisions. ± is half of the 95 % interval over "
    "these sentences. There is no accuracy: a sentence may have several labels, or none."
)


def multi_label(source: Source) -> tuple[Decision, Report, dict[str, pd.DataFrame]]:
    """Numbers, the table of labels, and the choice of one, which the source knows from then on.

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
    """Every label as a table."""
    if every.tuned and split == "validation":
        finding("The thresholds were chosen on these sentences", "Tuned figures flatter here; report those of test.")
    three = {
        title: st.column_config.NumberColumn(format="%.3f")
        for name, title in labels.COLUMNS.items()
        if name not in ("label", "n")
    }
    with st.expander("All labels as a table"):
        table = labels.spoken_table(every.table)
        st.dataframe(table, hide_index=True, row_height=row_height(), column_config=three, alt="Each label")


def _one(source: Source, choice: str) -> None:
    """The label that everything below is about, and its threshold."""
    heading("One label", "one-label", note="everything below is about it: a sentence has it or not")
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        label = pick(answers.RULE, source, label="Label", width=220)
        exact = threshold_slider(source, f"{source.record.run}, {label}, {choice}")
    if choice == labels.TUNED and not source.chosen(answers.COST):
        caption(f"Chosen on validation: {number(exact)}.")
