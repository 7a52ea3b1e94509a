"""Tables of the page Overview, and import and export of runs as zip files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.numbers import count, shorten
from core.runs.archive import export_run, import_run, import_zip
from core.runs.record import SHOWN, RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, against_yardstick, cost, finding
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.messages import finding as show_finding
from dashboard.widgets.messages import opening, problem, selection_note
from dashboard.widgets.runs import measure_speed, removal_button
from dashboard.widgets.style import look

TARGETS = (("Performance", "performance"), ("Sentence", "sentence"), ("Training", "train"))
LEAST, MOST = 2, 6
HOW = (
    "Mean over seeds. The interval counts the drawing of test sentences and, where there are "
    "several runs, the drawing of seeds. An upright line joins models of which no two can be told apart: paired tests "
    "on the same sentences, for accuracy McNemar's, Holm over all pairs. Training is wall time."
)


def board_table(board: Board, metrics: Mapping[str, str], *, alone: bool) -> None:
    """Show the finding of a board, a heading, and one row per model; a picked row offers its pages."""
    tested = data.ties(board)
    ids = [entry.id for entry in board.measured]
    groups = [[ids[place] for place in group] for group in tested.groups or ()]
    said = finding(board, None if tested.groups is None or tested.reason else groups)
    if said and alone:
        opening(said, against_yardstick(board))
    compare = _head(board, metrics, alone=alone)
    if said and not alone:
        caption(f"{said} {against_yardstick(board)}")
    ticked, picked = _rows(board, groups)
    if board.measured:
        with compare:
            _compare(board, ticked)
    if tested.reason:
        caption(f"Which of them differ could not be tested: {tested.reason}")
    if record := _record(board, picked):
        _offer(record)


def _head(board: Board, metrics: Mapping[str, str], *, alone: bool) -> DeltaGenerator:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        n = data.test_rows(board.measured[0].record) if board.measured else 0
        note = f"n = {count(n)} test sentences, best first" if n else ""
        heading("Models" if alone else board.name, f"models-{board.name}", note=note, about=HOW)
        _order(metrics)
        return st.container(horizontal=True, vertical_alignment="center", width="content")


def _rows(board: Board, groups: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Show the table; return the ticked rows, which outlast a visit to another page, and the picked one."""
    name = f"{state.current(state.ROWS)}-{board.name}"
    begun = state.begun(state.figure_key(name), state.TICKED + board.name, ())
    told: dict[str, Any] = dict.fromkeys(("on_picked_change", "on_ticked_change", "on_unfolded_change"), lambda: None)
    table = data.models_table(board, groups, begun, look())
    found = place(table, name, f"Models on {board.name}", default={"ticked": list(begun)}, **told)
    ticked = [entry.id for entry in board.measured if entry.id in (found.get("ticked") or ())]
    state.put(state.TICKED + board.name, ticked)
    return ticked, found.get("picked") or ""


def _order(metrics: Mapping[str, str]) -> None:
    if len(metrics) > 1:
        state.keep_to(state.METRIC, list(metrics))
        with st.container(horizontal=True, vertical_alignment="center", width="content", gap="small"):
            st.html('<span class="s-note">by</span>', width="content")
            options: dict[str, Any] = {"width": 250, "label_visibility": "collapsed"}
            st.selectbox("Order by", list(metrics), key=state.METRIC, bind="query-params", **options)


def _record(board: Board, row: str) -> RunRecord | None:
    found = {record.run: record for entry in board.entries for record in entry.model.records}
    return found.get(row) or next((entry.record for entry in board.entries if entry.id == row), None)


def _compare(board: Board, ticked: Sequence[str]) -> None:
    runs = [record.run for entry in board.entries if entry.id in ticked for record in entry.model.runs.values()]
    ready = LEAST <= len(ticked) <= MOST
    words = f"{len(ticked)} ticked" if ready else f"Tick {LEAST} to {MOST} models to compare them"
    st.html(f'<span class="s-note">{words}</span>', width="content")
    choose = partial(state.choose_run, runs[0] if runs else state.run())
    if st.button("Compare", f"compare-{board.name}", type="primary", disabled=not ready, on_click=choose):
        state.go("compare", **{state.COMPARE: runs})


def _offer(record: RunRecord) -> None:
    run, known = record.run, cost(data.efficiency(record)) if record.status == "done" else ""
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        selection_note(run, shorten(record.reason, SHOWN) or known or "open it on")
        for title, page in TARGETS:
            if st.button(title, key=f"open-{page}", type="tertiary", on_click=state.choose_run, args=(run,)):
                state.go(page)
        if record.status == "done" and not known:
            if st.button("Measure", key=f"measure-{run}", type="tertiary", help="Time and memory of a prediction"):
                measure_speed([run], "Measuring", "It could not be measured")
        export_button(run, record.status)
        removal_button(run)


ZIP_HOW = "A zip file from “Export”, or from `sentiscope runs export` on another machine"
FOLDER = "The path of a run directory or zip file on the machine that serves this page"


def arrival() -> None:
    """Show the run that was imported with the last click."""
    if run := state.take(state.ARRIVED):
        show_finding(f"{run} is here", "It is now chosen on every page.")


def bring_in() -> None:
    """Offer to import a run."""
    from dashboard import access  # pandas: the page shows its head before that

    with st.expander("Bring a run in", key="bring-in"):
        if text := state.take(state.REFUSED):  # where the person looks
            problem("This run was not taken in", text)
        key = f"{state.RUN_FILE}-{state.draft(state.TAKEN, 0)}"
        st.file_uploader("Zip file of a run", type="zip", key=key, on_change=_from_file, args=(key,), help=ZIP_HOW)
        if access.local():  # paths of this machine concern only who sits at it
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Or a path", key=state.RUN_PATH, placeholder="/home/me/trained/my-run", help=FOLDER)
                st.button("Bring in", on_click=_from_path, key="import")


def _from_file(key: str) -> None:
    if (file := state.draft(key, None)) is not None:
        state.put(state.TAKEN, state.draft(state.TAKEN, 0) + 1)  # another key: an empty uploader
        _take(lambda: import_zip(data.store(), file, file.name))


def _from_path() -> None:
    if path := str(state.draft(state.RUN_PATH, "")).strip():
        _take(lambda: import_run(data.store(), Path(path)))


def _take(read: Callable[[], str]) -> None:
    with state.refusals(state.REFUSED):
        run = read()
        state.put(state.ARRIVED, run)
        state.clear(state.ROWS)  # a chosen row is a place in the table, where another run stands now
        state.choose_run(run)


def export_button(run: str, status: str) -> None:
    """Offer the run as one zip file, packed when it is clicked."""
    if status in ("done", "failed", "cancelled"):
        st.download_button(
            "Export · zip",
            lambda: export_run(data.store(), run),
            f"{run}.zip",
            "application/zip",
            key="export-run",
            type="tertiary",
            on_click="ignore",
            help="Everything that another machine needs to show it: record, curves, weights, predictions, maps",
        )
