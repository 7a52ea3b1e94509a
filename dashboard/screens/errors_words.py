"""Words of each outcome of a class, as bars or as clouds; a word that is picked filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import state
from dashboard.figures.analysis import Analysis
from dashboard.figures.clouds import CLOUD, CLOUDS, SHOWN_AS, clouds
from dashboard.figures.figure import Figure
from dashboard.figures.outcomes import OF_CLASS, WORDS_OF, Outcomes, outcomes
from dashboard.figures.selecting import WRONG
from dashboard.figures.source import Source
from dashboard.screens.errors_filter import select
from dashboard.widgets.figure import caption, heading, place
from dashboard.widgets.options import choose
from dashboard.widgets.options import pick as choose_one
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd


def words_of_outcomes(source: Source, shown: Analysis) -> dict[str, pd.DataFrame]:
    """The section; gives its table."""
    several = len(source.record.classes) > 2 or source.record.task == "multi"
    head = st.container()
    with st.container(key="outcome-words-as", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if several:
            choose_one(OF_CLASS, source)
        as_cloud = choose(SHOWN_AS, source, plain=True) == CLOUD
    found = outcomes(shown, str(source.chosen(OF_CLASS)))
    note, tables = WORDS_OF.say(WORDS_OF.note, found), WORDS_OF.numbers(found)
    with head:
        heading(str(WORDS_OF.title), WORDS_OF.name, note=note, about=str((CLOUDS if as_cloud else WORDS_OF).how))
    if not as_cloud or not any(found.found.values()):
        _drawn(WORDS_OF, found, shown, found)
        return tables
    drawn = clouds(source)
    _drawn(CLOUDS, drawn, shown, drawn.outcomes)
    return tables | CLOUDS.numbers(drawn)


def _drawn(figure: Figure[Any], shape: Any, shown: Analysis, found: Outcomes) -> None:
    """Below the heading, whose switch stands between."""
    reading = figure.say(figure.reading, shape)
    if any(found.found.values()):
        told: dict[str, Any] = {"on_picked_change": lambda: _picked(shown, found, figure.name)}
        told |= {} if figure is CLOUDS else {"default": {"picked": found.picked}}
        alternative = figure.alternative(shape, figure.say(figure.note, shape), reading)
        place(figure.draw(shape, look()), figure.name, alternative, **told)
    caption(reading)


def _picked(shown: Analysis, found: Outcomes, figure: str) -> None:
    """A word of an outcome was picked: its sentences are the selection; picked again, all errors are."""
    outcome, _, words = state.picked(figure).partition(": ")
    select(shown, found.rules(outcome, words) if words else [WRONG])
