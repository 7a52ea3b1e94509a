"""Words of each outcome of a class as clouds; a word that is picked filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import state
from dashboard.figures.analysis import Analysis
from dashboard.figures.selecting import WRONG
from dashboard.figures.source import Source
from dashboard.figures.word_clouds import CLOUDS, OF_CLASS, Outcomes, find_outcomes
from dashboard.screens.errors_filter import select
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.options import pick
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd


def words_of_outcomes(source: Source, shown: Analysis) -> dict[str, pd.DataFrame]:
    """Show the section; gives its table."""
    head = st.container()
    if len(source.record.classes) > 2 or source.record.task == "multi":
        pick(OF_CLASS, source)
    found = find_outcomes(shown, str(source.chosen(OF_CLASS)))
    note, reading = CLOUDS.say(CLOUDS.note, found), CLOUDS.say(CLOUDS.reading, found)
    with head:
        heading(str(CLOUDS.title), CLOUDS.name, note=note, about=str(CLOUDS.how))
    if any(found.found.values()):
        alternative = CLOUDS.alternative(found, note, reading)
        place(CLOUDS.draw(found, look()), CLOUDS.name, alternative, on_picked_change=lambda: _picked(shown, found))
    caption(reading)
    return CLOUDS.numbers(found)


def _picked(shown: Analysis, found: Outcomes) -> None:
    """Select the sentences of the word that was picked; picked again, all errors."""
    outcome, _, words = state.picked(CLOUDS.name).partition(": ")
    select(shown, found.rules(outcome, words) if words else [WRONG])
