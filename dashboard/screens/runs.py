"""Page Runs: the models that were trained here, by data set, best first, and what was in progress."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.formatting import count
from core.runs.record import RunRecord
from core.runs.store import STARTER
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, list_board_metrics
from dashboard.figures.results import build_run_frame
from dashboard.screens import PAGES
from dashboard.screens.runs_table import name_board, offer_import, pick_order, show_board, show_imported
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show_caption
from dashboard.widgets.messages import show_empty, show_header
from dashboard.widgets.runs import show_damaged
from dashboard.widgets.unfinished import show_continue

QUESTION = "Which models are here, and how good are they?"
TABLE = "Bars: 95 % intervals. Grey lines join models without a clear difference."
POLL_SECONDS = 2.0


def show_page() -> None:
    """Draw the Runs page: what was in progress, tables of all runs, and ways to get further ones."""
    records = data.list_runs()
    st.fragment(_rerun_on_change, run_every=POLL_SECONDS)(_list_states(records))
    metrics = list_board_metrics(records)
    boards = data.build_boards(records, metrics.get(state.get_bound(state.METRIC), ""))
    show_header(PAGES["runs"].title, QUESTION, _list_facts(records, boards))
    show_imported()
    if not records:
        about = "Train one on the built-in corpus and watch it learn. The form shows how long it takes. Then type a "
        about += "sentence and look inside."
        show_empty("No model has been trained here yet", about, "Train a first model", "train")
        offer_import()
        return
    show_continue(records)
    for board in boards:
        show_board(board, finding=board is boards[0], alone=len(boards) == 1)
    measured = [entry for board in boards for entry in board.measured]
    rings = " Ring: TF-IDF." * any(entry.yardstick is not None for entry in measured)
    show_caption(TABLE + rings + " Dots: single runs." * any(len(entry.values) > 1 for entry in measured))
    for record in (one for one in records if one.status == "damaged"):
        show_damaged(record)
    if not state.is_projector():
        with st.container(key="runs-more", horizontal=True, vertical_alignment="center"):
            if st.button("Train a model", type="primary", key="train-model"):
                state.open_page("train")
            offer_import()
            pick_order(metrics)
    show_export_bar("runs", {"Runs": partial(build_run_frame, records)}, figures=False)
    untested = [board for board in boards if data.get_ties(board).groups is None]
    for board in untested:  # last, since it is slow
        data.test_ties(board)
    if untested:
        state.rerun_page()


def _list_facts(records: Sequence[RunRecord], boards: Sequence[Board]) -> list[tuple[str, str]]:
    if not records:
        return []
    own = any(not record.run.startswith(STARTER) for record in records)
    what = "run" if own else "starter model"
    where = f"{count(len(boards))} data sets" if len(boards) != 1 else name_board(boards[0]).lower()
    return [(count(len(records)), f"{what}{'s' * (len(records) != 1)}"), ("", where)]


def _list_states(records: Sequence[RunRecord]) -> list[tuple[str, str]]:
    return [(record.run, record.status) for record in records]


def _rerun_on_change(shown: list[tuple[str, str]]) -> None:
    """Rerun the Runs page if another tab or a terminal has changed the list of runs."""
    if _list_states(data.list_runs()) != shown:
        st.rerun()


show_page()
