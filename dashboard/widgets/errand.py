"""An analysis that a process of its own computes: the button that begins it, how far it is, and how to stop it."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

from core.exceptions import SentiscopeError
from core.runs import errands
from core.runs.analyses import Analysis
from core.runs.errands import Files, Job
from dashboard import state
from dashboard.figures.numbers import duration
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem
from dashboard.widgets.waiting import stoppable


def offer(analysis: Analysis[Any], key: str, *, about: bool = False) -> None:
    """The job of an analysis while it runs, else why it did not end well, the button that begins it, and what it takes.

    Args:
        analysis: What is not there yet.
        key: Of the button.
        about: Whether what it takes is the help of the button instead of a line below it.
    """
    if not under_way(analysis, key):
        begin(analysis, key, about=analysis.offer.takes if about else None)
        if not about:
            caption(analysis.offer.takes)


def under_way(analysis: Analysis[Any], key: str, title: str = "") -> bool:
    """The job of an analysis while it runs; else why it did not end well, or was not begun.

    Args:
        analysis: What is not there yet.
        key: Of the button that begins it.
        title: What is done, where it is said otherwise than in its offer.

    Returns:
        Whether it runs.
    """
    job = errands.job(analysis)
    if job.status == "running":
        st.fragment(_watch, run_every=1.0)(analysis, title or analysis.offer.title, key)
        return True
    if job.status == "failed":
        problem(analysis.offer.failed, job.what)
    if text := state.take(f"{state.NOT_BEGUN}-{key}"):
        problem("It was not begun", str(text))
    return False


def begin(
    analysis: Analysis[Any], key: str, label: str = "", *, about: str | None = None, primary: bool = False
) -> None:
    """The button that begins an analysis."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    label = label or analysis.offer.button
    st.button(label, key=key, on_click=_start, args=(analysis, key), help=about, type=kind)


def _start(analysis: Analysis[Any], key: str) -> None:
    """A callback."""
    errands.forget(analysis)
    try:
        analysis.start()
    except SentiscopeError as error:
        state.put(f"{state.NOT_BEGUN}-{key}", str(error))


def _watch(files: Files, title: str, key: str) -> None:
    """Drawn anew every second; one full run at the end shows the result and switches the clock off."""
    job = errands.job(files)
    if job.status != "running":
        st.rerun()
    detail = f"{_detail(job)} · you may close this tab"
    stoppable(title, detail, job.share or 0.0, f"stop-{key}", errands.cancel, (files,), "Nothing half done is kept")


def _detail(job: Job) -> str:
    if not job.share:
        return f"{job.what}, {duration(job.seconds)} so far"
    return f"{job.what}, about {duration(job.seconds / job.share * (1 - job.share))} left"
