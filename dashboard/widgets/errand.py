"""Something that a process of its own computes: how far it is, and the button that stops it."""

from __future__ import annotations

import streamlit as st

from core.runs import errands
from core.runs.errands import Files, Job
from dashboard.figures.numbers import duration
from dashboard.widgets.waiting import stoppable


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
