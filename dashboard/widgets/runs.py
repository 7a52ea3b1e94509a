"""Which run is looked at: the picker in the sidebar, and what a page says when there is none to look at."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.widgets.messages import empty, problem

MARKS = {"queued": "waiting", "running": "training", "failed": "failed", "cancelled": "cancelled", "damaged": "damaged"}


def run_picker() -> None:
    """The shared picker, bound to the URL; a link without a run gets the newest finished one."""
    records = data.runs()
    marks = {record.run: MARKS.get(record.status, "") for record in records}
    asked = state.asked_run()
    if asked and asked not in marks:
        state.put(state.MISSING, asked)
        state.put(state.RUN, None)
    elif not asked and state.run() not in marks:
        state.put(state.RUN, _first(records))
    st.selectbox(
        "Run",
        list(marks),
        index=None,
        format_func=lambda name: f"{name} · {marks[name]}" if marks.get(name) else name,
        key=state.RUN,
        bind="query-params",
        placeholder="No run yet" if not marks else "Choose a run",
        help="Every page speaks of this run. A copied address leads back to it.",
        disabled=not marks,
    )
    if state.run():
        state.forget(state.MISSING)


def _first(records: Sequence[RunRecord]) -> str | None:
    """The newest run that is done; else the newest."""
    done = [record.run for record in records if record.status == "done"]
    return next(iter([*done, *(record.run for record in records)]), None)


def chosen_run(*, purpose: str) -> RunRecord | None:
    """The chosen run's record, or None after the page has said why there is nothing to show.

    Args:
        purpose: What the page would show with a run, e.g. "Its metrics and mistakes stand here".
    """
    if missing := st.session_state.get(state.MISSING):
        problem(
            f"There is no run “{missing}” here",
            "It was renamed, removed, or made elsewhere. Choose another in the sidebar.",
        )
        return None
    records = {record.run: record for record in data.runs()}
    if not records:
        empty(
            "No model has been trained here yet",
            f"{purpose} as soon as there is one.",
            "Train a model",
            "screens/train.py",
        )
        return None
    record = records.get(state.run())
    if record is None:
        problem("No run is chosen", "Choose one in the sidebar.")
        return None
    if record.status == "damaged":
        problem(
            f"Run “{record.run}” is damaged",
            f"{record.reason}.\nThe other runs are not touched by this; remove it with "
            f"“sentiscope runs rm {record.run}” or bring the file back.",
        )
        return None
    return record


def facts(record: RunRecord, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """What stands at the right of a page's head."""
    return [
        (record.run, ""),
        (record.preset, f"on {record.config.data.name}, seed {record.config.training.seed}"),
        *more,
    ]
