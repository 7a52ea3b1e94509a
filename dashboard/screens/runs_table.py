"""Leaderboard tables of the Runs page, and import and export of runs as zip files."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formatting import count, number, shorten_text
from core.runs.archive import export_run, import_run, import_zip
from core.runs.record import SHOWN, RunRecord
from core.runs.run_names import RunName
from core.runs.store import STARTER
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, compare_baseline, describe_cost, describe_order, shorten_board
from dashboard.figures.results import CORPUS
from dashboard.model_html import build_page, find_obstacle
from dashboard.widgets.export import offer_download
from dashboard.widgets.figure import show_caption, show_drawing, show_heading
from dashboard.widgets.messages import show_finding, show_refusal, show_selection, show_summary
from dashboard.widgets.runs import offer_removal, offer_speed
from dashboard.widgets.style import get_look

TARGETS = (("Performance", "performance"), ("Sentence", "sentence"), ("Training", "train"))
LEAST, MOST = 2, 6
HOW = (
    "Mean over seeds. The interval covers the sampling of test sentences and, with several runs, of seeds. A vertical "
    "line joins models if no two of the group differ clearly: paired tests on the same sentences (McNemar for "
    "accuracy), Holm correction over all pairs. F1 and recall: macro, means over the classes. TF-IDF: the better of "
    "words, and words with characters, on validation. Training is wall time."
)


def show_board(board: Board, *, finding: bool, alone: bool) -> None:
    """Show a leaderboard of models tested on the same texts: its main finding, its rows, and links for a picked row.

    Beside others the built-in corpus is cut to its best models; a button shows the others. `finding`: the page's own.
    """
    tested = data.get_ties(board)
    ids = [entry.id for entry in board.measured]
    groups = [[ids[place] for place in group] for group in tested.groups or ()]
    names = data.name_runs()
    if finding:
        starters = all(each.record.run.startswith(STARTER) for each in board.measured)
        known = None if tested.groups is None or tested.reason else groups
        said = describe_order(board, known, names, "starter models" if starters else "models")
        said = said if alone or not said else f"{name_board(board)}: {re.sub('^No ', 'no ', said)}"
        show_summary(said)
    shown = board
    if board.built_in and not alone and not state.get_value(state.UNFOLDED, False):
        shown = shorten_board(board)
    compare = _show_head(board)
    ticked, picked = _show_rows(shown, groups, names)
    if board.measured:
        with compare:
            _offer_comparison(shown, ticked)
    if shown is not board and len(shown.entries) < len(board.entries):
        _offer_rest(board, shown)
    if tested.reason:
        show_caption(f"The differences could not be tested: {tested.reason}")
    found = {entry.id: entry.record for entry in board.entries}
    found |= {record.run: record for entry in board.entries for record in entry.model.records}
    if record := found.get(picked):
        _offer_pages(record)


def name_board(board: Board) -> str:
    """Return the name of a leaderboard's data set for people."""
    return board.name.replace(CORPUS, "Built-in corpus", 1) if board.built_in else board.name


def _show_head(board: Board) -> DeltaGenerator:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        n = data.count_test_rows(board.measured[0].record) if board.measured else 0
        models = len(board.entries)
        notes = (f"{count(n)} test sentences" if n else "", f"{count(models)} model{'s' * (models != 1)}")
        note, about = ", ".join(filter(None, notes)), " ".join(filter(None, (HOW, compare_baseline(board))))
        show_heading(name_board(board), f"models-{board.name}", note=note, about=about)
        return st.container(horizontal=True, vertical_alignment="center", width="content")


def _show_rows(board: Board, groups: Sequence[Sequence[str]], names: Mapping[str, RunName]) -> tuple[list[str], str]:
    """Show the rows of a leaderboard; return the ids of the ticked models and the id of the row picked by a click."""
    name = f"{state.get_widget_key(state.ROWS)}-{board.name}"
    begun = state.get_initial(state.get_figure_key(name), state.TICKED + board.name, ())
    told: dict[str, Any] = dict.fromkeys(("on_picked_change", "on_ticked_change", "on_unfolded_change"), lambda: None)
    ids = {entry.id for entry in board.entries}
    joined = [[each for each in group if each in ids] for group in groups]
    own = {each.run: names[each.run] for entry in board.entries for each in entry.model.records}
    joined = [group for group in joined if len(group) > 1]
    table = data.draw_models_table(board, joined, begun, get_look(), own)
    found = show_drawing(table, name, f"Models on {board.name}", default={"ticked": list(begun)}, **told)
    ticked = [entry.id for entry in board.measured if entry.id in (found.get("ticked") or ())]
    state.set_value(state.TICKED + board.name, ticked)
    return ticked, found.get("picked") or ""


def _offer_rest(board: Board, shown: Board) -> None:
    """Show how many models are folded away, with the range of their scores, and a button that shows them."""
    rest = [entry for entry in board.entries if entry not in shown.entries]
    values = [entry.value for entry in rest if entry.value is not None]
    ends = f", {number(min(values))} to {number(max(values))}" if values else ""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.html(f'<span class="s-note">{count(len(rest))} more{ends}</span>', width="content")
        show_all = partial(state.set_value, state.UNFOLDED, True)
        st.button(f"Show all {count(len(board.entries))}", "runs-unfold", on_click=show_all, type="tertiary")


def pick_order(metrics: Mapping[str, str]) -> None:
    """Show the menu of metrics by which the leaderboards are sorted."""
    if len(metrics) > 1:
        state.drop_stale(state.METRIC, list(metrics))
        with st.container(horizontal=True, vertical_alignment="center", width="content", gap="small"):
            st.html('<span class="s-note">Sort by</span>', width="content")
            options: dict[str, Any] = {"width": 220, "label_visibility": "collapsed"}
            st.selectbox("Sort by", list(metrics), key=state.METRIC, bind="query-params", **options)


def _offer_comparison(board: Board, ticked: Sequence[str]) -> None:
    """Show the button that compares the ticked models; without any, all models if there are few enough."""
    ids = ticked or [entry.id for entry in board.measured]
    runs = [record.run for entry in board.entries if entry.id in ids for record in entry.model.runs.values()]
    ready = LEAST <= len(ids) <= MOST
    word = f"Compare {len(ids)} selected" if ticked else f"Compare all {len(ids)}"
    help_text = None if ready else f"Select {LEAST} to {MOST} models"
    look: dict[str, Any] = {"type": "tertiary", "disabled": not ready, "help": help_text}
    choose = partial(state.choose_run, runs[0] if runs else state.get_run())
    if st.button(word if ready else "Compare selected", f"compare-{board.name}", on_click=choose, **look):
        state.open_page("compare", **{state.COMPARE: runs})


def _offer_pages(record: RunRecord) -> None:
    run, known = record.run, describe_cost(data.read_efficiency(record)) if record.status == "done" else ""
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        show_selection(data.label_run(run), shorten_text(record.reason, SHOWN) or known or f"id {run}")
        for title, page in TARGETS:
            if st.button(title, key=f"open-{page}", type="tertiary", on_click=state.choose_run, args=(run,)):
                state.open_page(page)
        if record.status == "done" and not known:
            offer_speed([run], "Measure", f"measure-{run}", type="tertiary", help="Time and memory of a prediction")
        if record.status in ("done", "failed", "cancelled"):
            about = "Everything that another machine needs to show it: record, curves, weights, predictions, maps"
            pack = partial(export_run, data.store(), run)
            offer_download("Export · zip", pack, f"{run}.zip", "application/zip", "export-run", about)
        if record.status == "done" and not find_obstacle(record, data.store().get_path(run)):
            write, about = partial(build_page, data.store(), run), "The model as one page that runs without a network"
            offer_download("Export · page", write, f"{run}.html", "text/html", "export-page", about)
        offer_removal(run)


ZIP_HOW = "A zip file from “Export”, or from `sentiscope runs export` on another machine"
FOLDER = "The path of a run directory or zip file on the machine that serves this page"


def show_imported() -> None:
    """Show a message that names the run that was just imported, if there is one."""
    if run := state.pop_value(state.ARRIVED):
        show_finding(f"{data.label_run(run)} is imported", "All pages now show it.")


def offer_import() -> None:
    """Show an upload field for a run's zip file, and for local users a path field, to import the run."""
    from dashboard import access  # loads pandas; the page shows its heading before that

    show_refusal(state.REFUSED, "The run was not imported")
    with st.popover("Import a run", type="tertiary", key="bring-in"):
        key = f"{state.RUN_FILE}-{state.get_value(state.TAKEN, 0)}"
        st.file_uploader("Zip file of a run", type="zip", key=key, on_change=_import_file, args=(key,), help=ZIP_HOW)
        if access.is_local():  # paths are useful only on this machine
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Or a path", key=state.RUN_PATH, placeholder="/home/me/trained/my-run", help=FOLDER)
                st.button("Import", on_click=_import_path, key="import")


def _import_file(key: str) -> None:
    if (file := state.get_value(key, None)) is not None:
        state.set_value(state.TAKEN, state.get_value(state.TAKEN, 0) + 1)  # a new key empties the uploader
        _import_run(lambda: import_zip(data.store(), file, file.name))


def _import_path() -> None:
    if path := str(state.get_value(state.RUN_PATH, "")).strip():
        _import_run(lambda: import_run(data.store(), Path(path)))


def _import_run(read: Callable[[], str]) -> None:
    with state.store_refusal(state.REFUSED):
        run = read()
        state.set_value(state.ARRIVED, run)
        state.clear_clicks(state.ROWS)  # the selected row number now means another run
        state.choose_run(run)
