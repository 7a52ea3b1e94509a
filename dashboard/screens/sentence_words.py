"""The words of a text with their push, between the answer and the pictures of the inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import state
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS, WORDS
from dashboard.widgets.figure import show_bare
from dashboard.widgets.options import choose

if TYPE_CHECKING:
    import pandas as pd


def choose_target(source: Source) -> None:
    """For which class a word speaks, where that is not plain: the answer, until a person wants to know of another."""
    if TOWARDS.counts(source):
        first = str(TOWARDS.first(source))
        state.follow(TOWARDS.name, first, first)
        if not state.projector():  # there the sentence needs the room
            st.html('<span class="s-note">push towards</span>', width="content")
        choose(TOWARDS, source, plain=True)


def word_strip(source: Source, name: str = WORDS.name) -> dict[str, pd.DataFrame]:
    """The words of a text of which the model knows one; gives their table."""
    return WORDS.numbers(show_bare(source, WORDS, name=name))
