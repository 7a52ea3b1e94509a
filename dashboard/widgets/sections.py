"""Folded sections below a page's main figure: a row of names, each of which opens and closes its section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st

from dashboard import state

ALL = "all"  # of the URL parameter: every section is open
Result = TypeVar("Result")


def show_sections(sections: Mapping[str, Callable[[], Result]]) -> list[Result]:
    """Show names of a page's sections in a row, draw those that are open in the given order, and return their results.

    The URL parameter `more` holds the open ones.
    """
    names = list(sections)
    if state.read_link(state.MORE) == ALL:
        state.set_value(state.MORE, names)
    state.keep_valid(state.MORE, names)
    opened = st.pills("More", names, selection_mode="multi", key=state.MORE, bind="query-params") or []
    return [draw() for name, draw in sections.items() if name in opened]
