"""Evaluation of a run on other data: choice of the data, matching of labels to classes, and the background job."""

from dataclasses import replace
from typing import Any

import streamlit as st

from core.api.evaluation import Evaluation
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.metrics import ELSEWHERE_CONFUSION, ELSEWHERE_METRICS, ELSEWHERE_VALUES, list_stats
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import Tables
from dashboard.widgets.fields import choose_data, match_labels
from dashboard.widgets.figure import show_caption, show_with_tables
from dashboard.widgets.messages import show_finding, show_notes
from dashboard.widgets.progress import show_job, show_start_button

START = "elsewhere-start"
NONE = "nothing"


def show_other_data(record: RunRecord) -> Tables:
    """Show the section that evaluates a run on another data set; return the result tables for the export."""
    show_caption(Evaluation.offer.takes)
    chosen = choose_data("elsewhere", "Other data")
    if chosen is not None and (matched := match_labels("elsewhere", record, chosen)) is not None:
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
    tables = show_with_tables(ELSEWHERE_METRICS, measured)
    for figure, there in ((ELSEWHERE_CONFUSION, measured["task"] == "single"), (ELSEWHERE_VALUES, "by" in measured)):
        tables |= show_with_tables(figure, measured) if there else {}
    return tables
