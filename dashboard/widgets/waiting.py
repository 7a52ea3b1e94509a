"""Long computations, here or in another process: progress, start, stop and resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from core.interpret.watched import Watched
from core.numbers import duration
from core.runs import errands
from core.runs.analyses import Analysis
from core.runs.errands import Files
from dashboard import state
from dashboard.reader.models import Asking
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import finding, problem, progress

PATIENCE, TICK = 0.5, 0.3
"""Seconds after which it is said what is asked, with a way to stop it; and between two looks at how far it is."""
WORDS = {
    "deletion": "Asking by deletion",
    "shapley": "Asking by Shapley",
    "gradient": "Asking by gradient × input",
    "integrated": "Asking by integrated gradients",
    "attention": "Asking by attention",
    "collapse": "Asking by layer-0 collapse",
    "parts": "Silencing one part after the other",
    "lambdas": "Moving one λ after the other",
    "patches": "Putting in one place after the other",
    "reach": "Putting in one piece after the other",
}
AGAIN = "the model reads the text again and again"


def stoppable(
    what: str, detail: str, share: float, key: str, stop: Callable[..., None], args: tuple[Any, ...], kept: str
) -> None:
    """Show progress and the button that stops it; `kept` says what happens to the results so far."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container():
            progress(what, detail, share)
        st.button("Stop", icon=":material/stop:", key=key, on_click=stop, args=args, help=kept)


def waited(asking: Asking, place: str, unfinished: str) -> Watched[Any]:
    """Wait for a computation for a moment and return its state; while it is incomplete, show progress and a stop.

    Args:
        asking: What is asked; whatever error it raises is raised here.
        place: A name for its buttons, once on the page.
        unfinished: What is missing where it was stopped.
    """
    if not _enough(asking, place):
        asking.known.go_on()  # somebody else may have stopped it
    known = asking.wait(PATIENCE)
    if not known.whole:
        st.fragment(_watch, run_every=TICK if known.running else None)(asking, place, unfinished)
    return known


def _watch(asking: Asking, place: str, unfinished: str) -> None:
    """Show the progress of a computation; run the page again at its end."""
    known = asking.known
    if known.whole or not (known.running or _enough(asking, place)):
        st.rerun()
    if known.running:
        what = WORDS.get(known.what, AGAIN)
        stop = f"{place}-stop"
        stoppable(what, AGAIN, known.share or 0.0, stop, _stop, (asking, place), "What was found so far stays")
        return
    finding("Stopped", unfinished)
    if st.button("Go on", key=f"{place}-on", on_click=_go_on, args=(asking, place)):
        st.rerun()


def _enough(asking: Asking, place: str) -> bool:
    """Return whether this visitor has stopped the computation; others may ask the same."""
    return bool(state.draft(state.ENOUGH + place, None) == asking.wanted)


def _stop(asking: Asking, place: str) -> None:
    state.put(state.ENOUGH + place, asking.wanted)
    asking.known.stop()


def _go_on(asking: Asking, place: str) -> None:
    state.put(state.ENOUGH + place, None)
    asking.known.go_on()


def offer(analysis: Analysis[Any], key: str, *, about: bool = False) -> None:
    """Show the job of an analysis while it runs, else how it ended and the button that begins it.

    What it takes is a line below the button; with `about` its help.
    """
    if not under_way(analysis, key):
        begin(analysis, key, about=analysis.offer.takes if about else None)
        if not about:
            caption(analysis.offer.takes)


def under_way(analysis: Analysis[Any], key: str, title: str = "") -> bool:
    """Show the job of an analysis, or why it failed or was not begun by the button `key`; return whether it runs."""
    job = errands.job(analysis)
    if job.status == "running":
        st.fragment(_watch_job, run_every=1.0)(analysis, title or analysis.offer.title, key)
        return True
    if job.status == "failed":
        problem(analysis.offer.failed, job.what)
    if text := state.take(f"{state.NOT_BEGUN}-{key}"):
        problem("It was not begun", str(text))
    return False


def begin(
    analysis: Analysis[Any],
    key: str,
    label: str = "",
    *,
    about: str | None = None,
    primary: bool = False,
    disabled: bool = False,
) -> bool:
    """Show the button that begins an analysis; return whether it was pressed."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    label = label or analysis.offer.button
    return st.button(label, key, about, start, ({key: analysis},), type=kind, disabled=disabled)


def start(analyses: Mapping[str, Analysis[Any]]) -> None:
    """Begin analyses; a refusal is shown where the job with its key is (`under_way`)."""
    for key, analysis in analyses.items():
        errands.forget(analysis)
        with state.refusals(f"{state.NOT_BEGUN}-{key}"):
            analysis.start()


def _watch_job(files: Files, title: str, key: str) -> None:
    """Show the progress of a job; run the page again at its end."""
    job = errands.job(files)
    if job.status != "running":
        st.rerun()
    share, left = job.share or 0.0, f"{duration(job.seconds)} so far"
    if share:
        left = f"about {duration(job.seconds / share * (1 - share))} left"
    detail = f"{job.what}, {left} · you may close this tab"
    stoppable(title, detail, share, f"stop-{key}", errands.cancel, (files,), "Nothing half done is kept")
