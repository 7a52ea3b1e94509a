"""Leaderboard tables of the Runs page, and import and export of runs as zip files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formatting import count, shorten_text
from core.runs.archive import export_run, import_run, import_zip
from core.runs.record import SHOWN, RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, compare_baseline, describe_cost, describe_order
from dashboard.widgets.figure import show_caption, show_drawing, show_heading
from dashboard.widgets.messages import show_finding as show_finding
from dashboard.widgets.messages import show_problem, show_selection, show_summary
from dashboard.widgets.runs import offer_removal, offer_speed
from dashboard.widgets.style import get_look

TARGETS = (("Performance", "performance"), ("Sentence", "sentence"), ("Training", "train"))
LEAST, MOST = 2, 6
HOW = (
    "Mean over seeds. The interval covers the sampling of test sentences and, with several runs, of seeds. A vertical "
    "line joins models if no two of the group differ clearly: paired tests on the same sentences (McNemar for "
    "accuracy), Holm correction over all pairs. Training is wall time."
)


def show_board(board: Board, metrics: Mapping[str, str], *, alone: bool) -> None:
    """Show a leaderboard of models tested on the same texts: its main finding, its rows, and links for a picked row."""
    tested = data.get_ties(board)
    ids = [entry.id for entry in board.measured]
    groups = [[ids[place] for place in group] for group in tested.groups or ()]
    said = describe_order(board, None if tested.groups is None or tested.reason else groups)
    if said and alone:
        show_summary(said, compare_baseline(board))
    compare = _show_head(board, metrics, alone=alone)
    if said and not alone:
        show_caption(f"{said} {compare_baseline(board)}")
    ticked, picked = _show_rows(board, groups)
    if board.measured:
        with compare:
            _offer_comparison(board, ticked)
    if tested.reason:
        show_caption(f"The differences could not be tested: {tested.reason}")
    if record := _find_record(board, picked):
        _offer_pages(record)


def _show_head(board: Board, metrics: Mapping[str, str], *, alone: bool) -> DeltaGenerator:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        n = data.count_test_rows(board.measured[0].record) if board.measured else 0
        note = f"n = {count(n)} test sentences, best first" if n else ""
        show_heading("Models" if alone else board.name, f"models-{board.name}", note=note, about=HOW)
        _pick_order(metrics)
        return st.container(horizontal=True, vertical_alignment="center", width="content")


def _show_rows(board: Board, groups: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Show the rows of a leaderboard; return the ids of the ticked models and the id of the row picked by a click."""
    name = f"{state.get_widget_key(state.ROWS)}-{board.name}"
    begun = state.get_initial(state.get_figure_key(name), state.TICKED + board.name, ())
    told: dict[str, Any] = dict.fromkeys(("on_picked_change", "on_ticked_change", "on_unfolded_change"), lambda: None)
    table = data.draw_models_table(board, groups, begun, get_look())
    found = show_drawing(table, name, f"Models on {board.name}", default={"ticked": list(begun)}, **told)
    ticked = [entry.id for entry in board.measured if entry.id in (found.get("ticked") or ())]
    state.set_value(state.TICKED + board.name, ticked)
    return ticked, found.get("picked") or ""


def _pick_order(metrics: Mapping[str, str]) -> None:
    if len(metrics) > 1:
        state.drop_stale(state.METRIC, list(metrics))
        with st.container(horizontal=True, vertical_alignment="center", width="content", gap="small"):
            st.html('<span class="s-note">sorted by</span>', width="content")
            options: dict[str, Any] = {"width": 250, "label_visibility": "collapsed"}
            st.selectbox("Order by", list(metrics), key=state.METRIC, bind="query-params", **options)


def _find_record(board: Board, row: str) -> RunRecord | None:
    found = {record.run: record for entry in board.entries for record in entry.model.records}
    return found.get(row) or next((entry.record for entry in board.entries if entry.id == row), None)


def _offer_comparison(board: Board, ticked: Sequence[str]) -> None:
    runs = [record.run for entry in board.entries if entry.id in ticked for record in entry.model.runs.values()]
    ready = LEAST <= len(ticked) <= MOST
    words = f"{len(ticked)} selected" if ready else f"Select {LEAST} to {MOST} models"
    st.html(f'<span class="s-note">{words}</span>', width="content")
    choose = partial(state.choose_run, runs[0] if runs else state.get_run())
    if st.button("Compare", f"compare-{board.name}", type="primary", disabled=not ready, on_click=choose):
        state.open_page("compare", **{state.COMPARE: runs})


def _offer_pages(record: RunRecord) -> None:
    run, known = record.run, describe_cost(data.read_efficiency(record)) if record.status == "done" else ""
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        show_selection(run, shorten_text(record.reason, SHOWN) or known or "open it in")
        for title, page in TARGETS:
            if st.button(title, key=f"open-{page}", type="tertiary", on_click=state.choose_run, args=(run,)):
                state.open_page(page)
        if record.status == "done" and not known:
            offer_speed([run], "Measure", f"measure-{run}", type="tertiary", help="Time and memory of a prediction")
        offer_export(run, record.status)
        offer_removal(run)


ZIP_HOW = "A zip file from “Export”, or from `sentiscope runs export` on another machine"
FOLDER = "The path of a run directory or zip file on the machine that serves this page"


def show_imported() -> None:
    """Show a message that names the run that was just imported, if there is one."""
    if run := state.pop_value(state.ARRIVED):
        show_finding(f"{run} is imported", "All pages now show it.")


def offer_import() -> None:
    """Show an upload field for a run's zip file, and for local users a path field, to import the run."""
    from dashboard import access  # pandas: the page shows its head before that

    with st.expander("Import a run", key="bring-in"):
        if text := state.pop_value(state.REFUSED):  # where the person looks
            show_problem("The run was not imported", text)
        key = f"{state.RUN_FILE}-{state.get_value(state.TAKEN, 0)}"
        st.file_uploader("Zip file of a run", type="zip", key=key, on_change=_import_file, args=(key,), help=ZIP_HOW)
        if access.is_local():  # paths of this machine concern only who sits at it
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Or a path", key=state.RUN_PATH, placeholder="/home/me/trained/my-run", help=FOLDER)
                st.button("Import", on_click=_import_path, key="import")


def _import_file(key: str) -> None:
    if (file := state.get_value(key, None)) is not None:
        state.set_value(state.TAKEN, state.get_value(state.TAKEN, 0) + 1)  # another key: an empty uploader
        _import_run(lambda: import_zip(data.store(), file, file.name))


def _import_path() -> None:
    if path := str(state.get_value(state.RUN_PATH, "")).strip():
        _import_run(lambda: import_run(data.store(), Path(path)))


def _import_run(read: Callable[[], str]) -> None:
    with state.store_refusal(state.REFUSED):
        run = read()
        state.set_value(state.ARRIVED, run)
        state.clear_clicks(state.ROWS)  # a chosen row is a place in the table, which now holds another run
        state.choose_run(run)


def offer_export(run: str, status: str) -> None:
    """Show a button that downloads a run as a zip file once its training has ended; packed on click."""
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
