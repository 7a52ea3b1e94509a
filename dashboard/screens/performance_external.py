"""Evaluation of a run on other data: choice of the data, matching of labels to classes, and the background job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import runs
from core.api.evaluation import Evaluation
from core.data import uploads
from core.exceptions import SentiscopeError
from core.formatting import count
from core.runs.record import RunRecord
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.metrics import ELSEWHERE_CONFUSION, ELSEWHERE_METRICS, ELSEWHERE_VALUES, list_stats
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import edit_labels, show_caption, show_with_tables
from dashboard.widgets.messages import explain_refusal, show_finding, show_notes, show_problem
from dashboard.widgets.progress import show_job, show_start_button

if TYPE_CHECKING:
    from core.runs.evaluation_data import DataRequest, DatasetLabels

START = "elsewhere-start"
USUAL = "test, or all"
LEFT_OUT = "leave out"
NONE = "nothing"


def show_other_data(record: RunRecord) -> Tables:
    """Show the section that evaluates a run on another data set; return the result tables for the export."""
    show_caption(Evaluation.offer.takes)
    chosen = _choose_data()
    if chosen is not None:
        _match_labels(record, chosen)
    return _show_result(state.get_value(state.ELSEWHERE, None), record)


def _choose_data() -> DataRequest | None:
    known, typed = access.list_names(here=True), state.get_value("elsewhere-data", None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        about = "A known name, or the path of a labelled file or folder on this machine"
        look: dict[str, Any] = {"accept_new_options": True, "placeholder": "A name, or a path", "width": 260}
        options = [*known, typed] if typed and typed not in known else known
        name = st.selectbox("Other data", options, index=None, key="elsewhere-data", help=about, **look)
        look = {"accept_new_options": True, "width": 160, "help": "A single file is one split"}
        split = st.selectbox("Its split", [USUAL, "train", "validation", "test"], key="elsewhere-split", **look)
    file = st.file_uploader("Or a labelled file", type=access.KINDS, key="elsewhere-file")
    split = "" if split in (None, USUAL) else split
    with explain_refusal("These data cannot be used"):
        if file is not None:
            kept = uploads.keep_file(access.get_library_folder(), file.name, file.getvalue())
            return runs.evaluation_data.DataRequest(str(kept), split)
        if name:
            settings = dict(access.find_dataset(name).settings)
            source = str(settings.pop("data.name"))
            reading = {name: value for name, value in settings.items() if name.startswith("data.")}
            return runs.evaluation_data.DataRequest(source, split, settings=reading)
    return None


def _match_labels(record: RunRecord, chosen: DataRequest) -> None:
    try:
        offered = data.match_labels(record, chosen.data, chosen.split, tuple(sorted(chosen.settings.items())))
    except SentiscopeError as error:
        show_problem("These data cannot be used", str(error))
        return
    meant = _pick_classes(record, offered)
    rename = {label: "" if name == LEFT_OUT else name for label, name in meant.items() if name is not None}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        by = st.selectbox("Group by", [NONE, *offered.columns], key=f"elsewhere-by-{chosen.data}", width=180)
        others = [other.run for other in data.list_runs() if _can_compare(other, record)]
        names = data.name_runs()
        labels: dict[str, Any] = {"format_func": lambda run: names[run].full if run in names else run}
        against = st.selectbox("Compare with", [NONE, *others], key="elsewhere-against", width=220, **labels)
        limit = st.number_input("Maximum rows", 0, value=0, step=1000, key="elsewhere-limit", width=150, help="0: all")
        by, against = ("" if each in (None, NONE) else each for each in (by, against))
        wanted = replace(chosen, rename=rename, limit=int(limit or 0))
        asked = Evaluation.from_request(data.store(), record.run, wanted, by, against=against)
        lacking = [label for label, name in meant.items() if name is None]
        if show_start_button(asked, START, primary=True, disabled=bool(lacking)):
            state.set_value(state.ELSEWHERE, asked)
    if lacking:
        show_caption(f"First choose a class for {', '.join(map(repr, lacking))}, or leave out the rows.")


def _can_compare(other: RunRecord, record: RunRecord) -> bool:
    same = other.task == record.task and set(other.classes) == set(record.classes)
    return other.status == "done" and other.run != record.run and same


def _pick_classes(record: RunRecord, offered: DatasetLabels) -> dict[str, str | None]:
    """Show a table to match another data set's labels to a run's classes; return label → class (None if undecided)."""
    import pandas as pd

    names = [LEFT_OUT if name == "" else name for name in offered.meant.values()]
    rows = {"label": list(offered.labels), "rows": list(offered.labels.values()), "class": names}
    classes = st.column_config.SelectboxColumn("Class of this run", options=[*record.classes, LEFT_OUT], width=220)
    columns = {"label": st.column_config.TextColumn("Its label", width=220), "class": classes}
    key = f"elsewhere-labels-{record.run}-{offered.split}-{'-'.join(offered.labels)[:80]}"
    edited = edit_labels(pd.DataFrame(rows), columns, state.get_widget_key(key))
    show_caption(f"{count(offered.rows)} labelled rows, split {offered.split}. Click a class to change it.")
    named = zip(edited["label"], edited["class"], strict=True)
    return {str(label): None if pd.isna(name) else str(name) for label, name in named}


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
