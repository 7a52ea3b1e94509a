"""Runs that come in and go out: a zip file from elsewhere, a run directory of this machine, a download."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.exceptions import SentiscopeError
from core.runs.archive import export_run, import_run, import_zip
from dashboard import state
from dashboard.data import data
from dashboard.widgets.messages import finding, problem

HOW = "A zip file from “Export”, or from `sentiscope runs export` on another machine"
FOLDER = "The path of a run directory or zip file on the machine that serves this page"


def arrival() -> None:
    """What came in with the last click, or why it was refused; shown once."""
    if run := state.take(state.ARRIVED):
        finding(f"{run} is here", "It is now chosen on every page.")


def bring_in() -> None:
    """Take a run in."""
    from dashboard import access  # pandas: the page shows its head before that

    with st.expander("Bring a run in", key="bring-in"):
        if text := state.take(state.REFUSED):  # where the person looks
            problem("This run was not taken in", text)
        key = f"{state.RUN_FILE}-{state.draft(state.TAKEN, 0)}"
        st.file_uploader("Zip file of a run", type="zip", key=key, on_change=_from_file, args=(key,), help=HOW)
        if access.local():  # paths of this machine concern only who sits at it
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Or a path", key=state.RUN_PATH, placeholder="/home/me/trained/my-run", help=FOLDER)
                st.button("Bring in", on_click=_from_path, key="import")


def _from_file(key: str) -> None:
    file = state.draft(key, None)
    if file is not None:
        state.put(state.TAKEN, state.draft(state.TAKEN, 0) + 1)  # another key: an empty uploader
        _take(lambda: import_zip(data.store(), file, file.name))


def _from_path() -> None:
    path = str(state.draft(state.RUN_PATH, "")).strip()
    if path:
        _take(lambda: import_run(data.store(), Path(path)))


def _take(read: Callable[[], str]) -> None:
    try:
        run = read()
    except SentiscopeError as error:
        state.put(state.REFUSED, str(error))
        return
    state.put(state.ARRIVED, run)
    state.clear(state.ROWS)  # a chosen row is a place in the table, where another run stands now
    state.choose_run(run)


def export_button(run: str, status: str) -> None:
    """The run as one zip file, packed when it is clicked."""
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
