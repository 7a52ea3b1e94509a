"""Display of long computations, in this or another process: progress, start, stop and resume."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from core.formatting import format_duration
from core.interpret.background_thread import BackgroundThread
from core.runs import background_jobs
from core.runs.background_jobs import Analysis, Files
from dashboard import state
from dashboard.reader.models import ModelRequest
from dashboard.widgets.figure import show_caption
from dashboard.widgets.messages import show_finding, show_problem, show_progress, show_refusal

PATIENCE, TICK = 0.5, 0.3  # seconds before progress and a stop button appear, and between two updates
WORDS = {
    "deletion": "Deleting one word at a time",
    "shapley": "Computing Shapley values",
    "gradient": "Computing gradient × input",
    "integrated": "Computing integrated gradients",
    "attention": "Computing attention",
    "collapse": "Computing first-layer attention",
    "parts": "Switching off one part at a time",
    "lambdas": "Changing one λ at a time",
    "patches": "Patching one place at a time",
    "reach": "Adding one piece at a time",
}
AGAIN = "the model reads many variants of the text"


def show_stoppable(
    what: str, detail: str, share: float, key: str, stop: Callable[..., None], args: tuple[Any, ...], kept: str
) -> None:
    """Show a progress bar and a button that stops the computation; `kept` says what happens to the results so far."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container():
            show_progress(what, detail, share)
        st.button("Stop", icon=":material/stop:", key=key, on_click=stop, args=args, help=kept)


def wait_for(asking: ModelRequest, place: str, unfinished: str) -> BackgroundThread[Any]:
    """Wait briefly for a background computation; if unfinished, show progress and a stop button. Return its state.

    Args:
        asking: The request; its errors are raised here.
        place: A name for its buttons, unique on the page.
        unfinished: Describes what is missing after a stop.
    """
    if not _is_stopped(asking, place):
        asking.known.allow_restart()  # another visitor may have stopped it before
    known = asking.wait(PATIENCE)
    if not known.whole:
        st.fragment(_watch_request, run_every=TICK if known.running else None)(asking, place, unfinished)
    return known


def _watch_request(asking: ModelRequest, place: str, unfinished: str) -> None:
    """Show the progress of a background computation, or that it was stopped; rerun the page when it ends."""
    known = asking.known
    if known.whole or not (known.running or _is_stopped(asking, place)):
        st.rerun()
    if known.running:
        what, key, kept = WORDS.get(known.what, AGAIN), f"{place}-stop", "Keeps the results so far"
        show_stoppable(what, AGAIN, known.share or 0.0, key, _set_stopped, (asking, place, True), kept)
        return
    show_finding("Stopped", unfinished)
    if st.button("Continue", key=f"{place}-on", on_click=_set_stopped, args=(asking, place, False)):
        st.rerun()


def _is_stopped(asking: ModelRequest, place: str) -> bool:
    """Return whether this visitor has stopped the background computation, which other visitors may still want."""
    return bool(state.get_value(state.ENOUGH + place, None) == asking.wanted)


def _set_stopped(asking: ModelRequest, place: str, stopped: bool) -> None:
    state.set_value(state.ENOUGH + place, asking.wanted if stopped else None)
    (asking.known.request_stop if stopped else asking.known.allow_restart)()


def offer_analysis(analysis: Analysis[Any], key: str, *, about: bool = False) -> None:
    """Show the background job of an analysis while it runs, else how it ended and its start button.

    The cost is shown below the button, or with `about` in its help.
    """
    if not show_job(analysis, key):
        show_start_button(analysis, key, about=analysis.offer.takes if about else None)
        if not about:
            show_caption(analysis.offer.takes)


def show_job(analysis: Analysis[Any], key: str, title: str = "") -> bool:
    """Show an analysis's job, or why it failed or could not start with the button `key`; return whether it runs."""
    job = background_jobs.read_job(analysis)
    if job.status == "running":
        st.fragment(_watch_job, run_every=1.0)(analysis, title or analysis.offer.title, key)
        return True
    if job.status == "failed":
        show_problem(analysis.offer.failed, job.what)
    show_refusal(f"{state.NOT_BEGUN}-{key}", "It did not start")
    return False


def show_start_button(
    analysis: Analysis[Any],
    key: str,
    label: str = "",
    *,
    about: str | None = None,
    primary: bool = False,
    disabled: bool = False,
) -> bool:
    """Show the button that starts an analysis in the background; return whether it was pressed."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    label = label or analysis.offer.button
    return st.button(label, key, about, start_analyses, ({key: analysis},), type=kind, disabled=disabled)


def start_analyses(analyses: Mapping[str, Analysis[Any]]) -> None:
    """Start background analyses, given as button key → analysis; store a refusal for `show_job` to show."""
    for key, analysis in analyses.items():
        background_jobs.forget(analysis)
        with state.store_refusal(f"{state.NOT_BEGUN}-{key}"):
            analysis.start()


def _watch_job(files: Files, title: str, key: str) -> None:
    job = background_jobs.read_job(files)
    if job.status != "running":
        st.rerun()
    share, left = job.share or 0.0, f"{format_duration(job.seconds)} so far"
    if share:
        left = f"about {format_duration(job.seconds / share * (1 - share))} left"
    detail = f"{job.what}, {left} · you may close this tab"
    show_stoppable(title, detail, share, f"stop-{key}", background_jobs.cancel, (files,), "Discards unfinished results")
