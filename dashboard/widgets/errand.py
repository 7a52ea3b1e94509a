"""Something that a process of its own computes: how far it is, and the button that stops it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.exceptions import SentiscopeError
from core.runs import errands
from core.runs.errands import Files, Job
from dashboard import state
from dashboard.figures.numbers import duration
from dashboard.widgets.messages import problem
from dashboard.widgets.waiting import stoppable


def offer(
    files: Files, button: str, key: str, title: str, failed: str, start: Callable[[], None], *, about: str | None = None
) -> bool:
    """The job while it runs, else the button that begins it and why it did not end well.

    Args:
        files: where it will be.
        button: what begins it,
        key: and its key.
        title: what is computed.
        failed: what is said where it failed.
        start: begins it.
        about: the help of the button.

    Returns:
        Whether the button stands there.
    """
    job = errands.job(files)
    if job.status == "running":
        watch(files, title, key)
        return False
    if job.status == "failed":
        problem(failed, job.what)
    if text := state.take(f"{state.NOT_BEGUN}-{key}"):
        problem("It was not begun", str(text))
    st.button(button, key=key, on_click=partial(_start, files, key, start), help=about)
    return True


def _start(files: Files, key: str, start: Callable[[], None]) -> None:
    """A callback."""
    errands.forget(files)
    try:
        start()
    except SentiscopeError as error:
        state.put(f"{state.NOT_BEGUN}-{key}", str(error))


def watch(files: Files, title: str, key: str) -> None:
    """Drawn anew every second; one full run at the end shows the result and switches the clock off.

    Args:
        files: where it will be.
        title: what is computed.
        key: what the keys of its widgets end with.
    """
    st.fragment(_watch, run_every=1.0)(files, title, key)


def _watch(files: Files, title: str, key: str) -> None:
    job = errands.job(files)
    if job.status != "running":
        st.rerun()
    detail = f"{_detail(job)} · you may close this tab"
    stoppable(title, detail, job.share or 0.0, f"stop-{key}", errands.cancel, (files,), "Nothing half done is kept")


def _detail(job: Job) -> str:
    if not job.share:
        return f"{job.what}, {duration(job.seconds)} so far"
    return f"{job.what}, about {duration(job.seconds / job.share * (1 - job.share))} left"
