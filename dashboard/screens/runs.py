"""Page Runs: a table of all runs, and one suggested next step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.formatting import count, number, whole_percent
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, list_board_metrics
from dashboard.figures.results import build_run_frame, choose_default_run, read_headline
from dashboard.screens.runs_table import offer_import, show_board, show_imported
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show_caption
from dashboard.widgets.messages import show_empty, show_header, show_next_step
from dashboard.widgets.runs import show_damaged

QUESTION = "Which models are here, and how good are they?"
TABLE = "Bars: 95 % intervals (± is half). Line: no clear difference. Unfold a model to see its runs."
YARDSTICK = " Baseline: TF-IDF with logistic regression on the same data."

POLL_SECONDS = 2.0
LIVE = (
    ("running", "{} is learning", "Watch its training curves."),
    ("queued", "{} waits for a free place", "It starts when a place is free."),
)


def show_page() -> None:
    """Draw the Runs page: the suggested next step, and tables of all runs."""
    records = data.list_runs()
    st.fragment(_rerun_on_change, run_every=POLL_SECONDS)(_list_states(records))
    names = list_board_metrics(records)
    metric = names.get(state.get_bound(state.METRIC), "")
    shown = data.build_boards(records, metric)
    show_header("Runs", QUESTION, _list_facts(records, shown))
    show_imported()
    if not records:
        show_empty(
            "No model has been trained here yet",
            "Train one on the built-in corpus and watch it learn. The form shows how long it takes. Then type a "
            "sentence and look inside.",
            "Train a first model",
            "train",
        )
        offer_import()
        return
    live = any(record.status in ("queued", "running") for record in records)
    if live:
        show_next_step(*_suggest_step(records))
    for board in shown:
        show_board(board, names if board is shown[0] else {}, alone=len(shown) == 1)
    show_caption(TABLE + (YARDSTICK if any(board.yardstick is not None for board in shown) else ""))
    if not live:
        show_next_step(*_suggest_step(records))
    for record in (one for one in records if one.status == "damaged"):
        show_damaged(record)
    offer_import()
    show_export_bar("runs", {"Runs": partial(build_run_frame, records)}, figures=False)
    _test_ties(shown)


def _list_facts(records: Sequence[RunRecord], shown: Sequence[Board]) -> list[tuple[str, str]]:
    if not records:
        return []
    done = [record for record in records if record.status == "done"]
    counts = [(count(len(records)), f"{'runs' if len(records) > 1 else 'run'}, {count(len(done))} finished")]
    if len(shown) != 1 or not shown[0].measured:
        return counts
    (board,) = shown
    rows = {entry.record.progress.get("rows", {}).get("train", 0) for entry in board.measured}
    alike = rows.pop() if len(rows) == 1 else 0
    return [(board.name, f"{count(alike)} training sentences" if alike else ""), *counts]


def _test_ties(shown: Sequence[Board]) -> None:
    """Test which leaderboard models are statistically tied, then rerun the page; called last since it is slow."""
    untested = [board for board in shown if data.get_ties(board).groups is None]
    for board in untested:
        data.test_ties(board)
    if untested:
        state.rerun_page()


def _list_states(records: Sequence[RunRecord]) -> list[tuple[str, str]]:
    return [(record.run, record.status) for record in records]


def _rerun_on_change(shown: list[tuple[str, str]]) -> None:
    """Rerun the Runs page if another tab or a terminal has changed the list of runs."""
    if _list_states(data.list_runs()) != shown:
        st.rerun()


def _suggest_step(records: list[RunRecord]) -> tuple[str, str, str, str, str]:
    for status, title, text in LIVE:
        if live := next((record.run for record in records if record.status == status), ""):
            return title.format(live), text, "Watch it", "train", live
    best = choose_default_run(records)
    if best is None:
        return (
            "No training run has finished yet",
            "Start another, or resume a stopped one: choose it in the sidebar and open Train.",
            "Train a model",
            "train",
            "",
        )
    text, found = "Type a sentence.", read_headline(best)
    if found:
        right = f"gets {whole_percent(found.value)} of test sentences right"
        said = right if best.task == "single" else f"reaches a macro F1 of {number(found.value)} on test sentences"
        text = f"It {said}. Type one that it gets wrong."
    return f"Try to fool {best.preset}", text, "Type a sentence", "sentence", best.run


show_page()
