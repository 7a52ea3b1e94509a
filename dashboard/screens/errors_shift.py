"""Whether the split is like training: looked for in a process of its own when somebody asks; its words select."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core.data.table import TRAIN
from core.exceptions import NotAvailable
from core.failures.shift import DatasetShift
from dashboard import state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.data_quality import SHIFT, SHIFT_WORDS, Shifted
from dashboard.figures.source import Source
from dashboard.screens.errors_filter import select
from dashboard.widgets.errand import offer
from dashboard.widgets.figure import caption, heading, show

if TYPE_CHECKING:
    import pandas as pd


def shift_of(source: Source, shown: Analysis) -> dict[str, pd.DataFrame]:
    """The section; gives its tables."""
    if source.split == TRAIN:
        return {}
    try:
        found = SHIFT.shape(source)
    except NotAvailable:
        heading(str(SHIFT.title), SHIFT.name, about=str(SHIFT.how))
        offer(DatasetShift.of(data.store(), source.record, source.split), "look-for-shift")
        return {}
    if found.found["left_out"]:
        heading(str(SHIFT.title), SHIFT.name, about=str(SHIFT.how))
        caption(found.sentence)
        return {}
    with st.container(key="pair-shift"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        show(SHIFT, found, more=found.sentence)
    with right:
        _words(found, shown)
    return SHIFT.numbers(found) | SHIFT_WORDS.numbers(found)


def _words(found: Shifted, shown: Analysis) -> None:
    """A word that is picked selects every sentence with it, right and wrong ones."""
    if not found.found["words"]:
        heading(str(SHIFT_WORDS.title), SHIFT_WORDS.name, note=SHIFT_WORDS.say(SHIFT_WORDS.note, found))
        caption(SHIFT_WORDS.say(SHIFT_WORDS.reading, found))
        return
    held = {str(clause) for clause in shown.clauses}
    picked = next((row["words"] for row in found.found["words"] if held == {"all", f"word={row['words']}"}), "")
    found = replace(found, picked=picked)
    show(SHIFT_WORDS, found, default={"picked": picked}, on_picked_change=lambda: _picked(shown))


def _picked(shown: Analysis) -> None:
    """A callback; picked again, all errors are selected."""
    words = state.picked(SHIFT_WORDS.name)
    select(shown, ["all", f"word={words}"] if words else [])
