"""Page Overview: all runs, and one clear next step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.numbers import count, number
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.leaderboard import Board, metric_names
from dashboard.figures.results import headline, offered, run_frame
from dashboard.screens.overview_table import arrival, board_table, bring_in
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import empty, header, next_step
from dashboard.widgets.runs import damaged

QUESTION = "What has been trained here, and how well does each model do?"
TABLE = (
    "± is half of the 95 % interval. Upright lines join models that cannot be told apart. A model with several runs "
    "can be unfolded."
)
YARDSTICK = " TF-IDF with logistic regression on the same data is the yardstick."

POLL_SECONDS = 2.0
LIVE = (
    ("running", "{} is learning", "Its curves move as it goes."),
    ("queued", "{} waits for a free place", "It starts by itself; its curves move as soon as it learns."),
)


def page() -> None:
    """Show the next step and the runs."""
    records = data.runs()
    st.fragment(_notice, run_every=POLL_SECONDS)(_states(records))
    names = metric_names(records)
    metric = names.get(state.asked(state.METRIC), "")
    shown = data.boards(records, metric)
    header("Overview", QUESTION, _facts(records, shown))
    arrival()
    if not records:
        empty(
            "No model has been trained here yet",
            "Train one on the built-in corpus: you can watch it learn, and the form says how "
            "long it takes here. Then type a sentence and look inside.",
            "Train a first model",
            "train",
        )
        bring_in()
        return
    live = any(record.status in ("queued", "running") for record in records)
    if live:
        next_step(*_advice(records))
    for board in shown:
        board_table(board, names if board is shown[0] else {}, alone=len(shown) == 1)
    caption(TABLE + (YARDSTICK if any(board.yardstick is not None for board in shown) else ""))
    if not live:
        next_step(*_advice(records))
    for record in (one for one in records if one.status == "damaged"):
        damaged(record)
    bring_in()
    export_bar("overview", {"Runs": partial(run_frame, records)}, figures=False)
    _test(shown)


def _facts(records: Sequence[RunRecord], shown: Sequence[Board]) -> list[tuple[str, str]]:
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


def _test(shown: Sequence[Board]) -> None:
    """Test for ties after everything else is drawn: it takes seconds where there are many models."""
    untested = [board for board in shown if data.ties(board).groups is None]
    for board in untested:
        data.test_ties(board)
    if untested:
        state.again()


def _states(records: Sequence[RunRecord]) -> list[tuple[str, str]]:
    return [(record.run, record.status) for record in records]


def _notice(shown: list[tuple[str, str]]) -> None:
    """Run the page again when another tab or a terminal has changed the runs."""
    if _states(data.runs()) != shown:
        st.rerun()


def _advice(records: list[RunRecord]) -> tuple[str, str, str, str, str]:
    for status, title, text in LIVE:
        if live := next((record.run for record in records if record.status == status), ""):
            return title.format(live), text, "Watch it", "train", live
    best = offered(records)
    if best is None:
        return (
            "No training run has finished yet",
            "Start another, or resume one that was stopped: choose it in the sidebar and open Train.",
            "Train a model",
            "train",
            "",
        )
    text, found = "Type a sentence.", headline(best)
    if found:
        right = f"gets {number(found.value)} of the test sentences right"
        said = right if best.task == "single" else f"reaches a macro F1 of {number(found.value)} on the test sentences"
        text = f"It {said}. Type one that it gets wrong."
    return f"Try to fool {best.preset}", text, "Type a sentence", "sentence", best.run


page()
