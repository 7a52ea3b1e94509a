"""A map that is not there yet: the button that starts its computation, and how far that is."""

from __future__ import annotations

import streamlit as st

from core.evaluation.projection import NAMES
from core.runs import errands
from core.runs.projections import MapFiles
from dashboard.figures.numbers import count
from dashboard.widgets.errand import begin, under_way
from dashboard.widgets.messages import problem


def not_yet(files: MapFiles, sentences: int, damage: str = "") -> None:
    """What stands in the place of a map: an offer, a progress bar, or why it failed.

    Args:
        files: Where the map will be.
        sentences: How many it will show.
        damage: Why the map that is there cannot be read.
    """
    name, failed = NAMES[files.config.method], errands.job(files).status == "failed"
    if under_way(files, "compute-map", f"{name} map of {count(sentences)} sentences"):
        return
    if damage:
        problem(f"This {name} map is damaged", f"{damage}\nCompute it again; nothing else is touched.")
    elif not failed:
        what = f"{name} places {count(sentences)} sentences so that neighbours stay neighbours. {files.offer.takes}"
        st.html(f'<div class="s-empty"><b>There is no {name} map of this split yet</b><span>{what}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        begin(files, "compute-map", "Compute the map again" if damage or failed else "", primary=True)
