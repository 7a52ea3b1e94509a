"""A map that is not there yet: the button that starts its computation, and how far that is."""

from __future__ import annotations

import streamlit as st

from core.evaluation.projection import NAMES
from core.exceptions import SentiscopeError
from core.runs import errands, projections
from core.runs.projections import MapFiles
from dashboard import state
from dashboard.data import data
from dashboard.figures.numbers import count
from dashboard.widgets.errand import watch
from dashboard.widgets.messages import problem

TAKES = "It is computed in a separate process and kept; you may leave the page or close the tab."


def not_yet(run: str, files: MapFiles, sentences: int, damage: str = "") -> None:
    """What stands in the place of a map: an offer, a progress bar, or why it failed.

    Args:
        run: Its name.
        files: Where the map will be.
        sentences: How many it will show.
        damage: Why the map that is there cannot be read.
    """
    job, name = errands.job(files), NAMES[files.config.method]
    if job.status == "running":
        watch(files, f"{name} map of {count(sentences)} sentences", "map")
        return
    if text := state.take(state.MAP_PROBLEM):
        problem(f"The {name} map was not begun", text)
    if damage:
        problem(f"This {name} map is damaged", f"{damage}\nCompute it again; nothing else is touched.")
    elif job.status == "failed":
        problem(f"The {name} map could not be computed", job.what)
    else:
        what = f"{name} places {count(sentences)} sentences so that neighbours stay neighbours. {TAKES}"
        st.html(f'<div class="s-empty"><b>There is no {name} map of this split yet</b><span>{what}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        again = "Compute the map again" if damage or job.status == "failed" else f"Compute the {name} map"
        st.button(again, type="primary", key="compute-map", on_click=_start, args=(run, files))


def _start(run: str, files: MapFiles) -> None:
    errands.forget(files)
    try:
        projections.start(data.store(), run, files)
    except SentiscopeError as error:
        state.put(state.MAP_PROBLEM, str(error))
