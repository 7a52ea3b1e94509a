"""Folded sections below a page's main figure: a row of names that open and close them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

from dashboard import state

ALL = "all"  # of the URL parameter: every section is open
Result = TypeVar("Result")


def show_sections(sections: Mapping[str, Callable[[], Result]], *, plain: bool = False) -> list[Result]:
    """Show names of a page's sections in a row, draw those that are open in the given order, and return their results.

    The URL parameter `more` holds the open ones. `plain`: the row has no label.
    """
    opened = choose_sections(list(sections), plain=plain)
    return [draw() for name, draw in sections.items() if name in opened]


def choose_sections(names: list[str], *, plain: bool = False) -> list[str]:
    """Show only the row of names; return those of the open sections. `plain`: without a label."""
    if state.read_link(state.MORE) == ALL:
        state.set_value(state.MORE, names)
    state.keep_valid(state.MORE, names)
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible"}
    return st.pills("More", names, selection_mode="multi", key=state.MORE, bind="query-params", **look) or []
