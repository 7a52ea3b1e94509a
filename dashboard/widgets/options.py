"""Widgets for the options of figures and for the split, bound to URL parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import selection, state
from dashboard.figures.figure import FreeText, Option, Source, ValueRange

_MARKED = re.compile(r"[]*`~$<>\[\\:]|(?<!\w)_|_(?!\w)")
"""Markdown markup, which button labels would apply and menu labels would not."""


def choose_option(option: Option, source: Source, *, single: bool = False, plain: bool = False) -> str:
    """Show a figure option as buttons (also a lone one if `single`), store the choice in the source and return it.

    With `plain`, only screen readers get the label, since the text next to the widget describes it.
    """
    values = _list_values(option, source)
    first = str(option.get_default(source))
    if len(values) < 2 and not single:
        return first
    if any(map(_MARKED.search, values)):  # such as in a class name
        return pick_option(option, source)
    state.drop_stale(option.name, values)
    chosen = st.segmented_control(
        option.label,
        values,
        default=None if state.has_followed(option.name) else first,  # a dependent option already has a value
        key=option.name,
        bind="query-params",
        required=True,
        help=None if plain else option.about or None,
        label_visibility="collapsed" if plain else "visible",
    )
    source.choices[option.name] = chosen or first
    return chosen or first


def pick_option(
    option: Option, source: Source, *, label: str = "", width: int = 180, about: str = "", plain: bool = False
) -> str:
    """Show a figure option as a dropdown menu, and store the choice in the figure's source; return the choice."""
    values, first = _list_values(option, source), str(option.get_default(source))
    state.drop_stale(option.name, values)
    if option.usual is not None:  # the default depends on the run, so a link must contain it
        state.set_initial(option.name, first)
    chosen = st.selectbox(
        label or option.label,
        values,
        key=option.name,
        bind="query-params",
        width=width,
        help=about or None,
        label_visibility="collapsed" if plain else "visible",
    )
    source.choices[option.name] = chosen or first
    return chosen or first


def choose_split(splits: Sequence[str], *, about: str = "", plain: bool = False) -> str:
    """Show the evaluated splits of a run as a row of buttons, `plain` without a label; return the chosen split."""
    state.set_option(state.SPLIT, splits, selection.get_default_split(splits))
    look: dict[str, Any] = {"label_visibility": "collapsed"} if plain else {"help": about or None}
    chosen = st.segmented_control("Split", splits, key=state.SPLIT, bind="query-params", required=True, **look)
    return chosen or splits[-1]


def read_option(option: Option, source: Source) -> str:
    """Return a figure option's value before its widget is drawn, and store it in the figure's source."""
    value = state.get_bound(option.name)
    if value in _list_values(option, source):
        source.choices[option.name] = value
    return str(source.get_choice(option))


def _list_values(option: Option, source: Source) -> list[str]:
    values = option.values(source)
    assert not isinstance(values, ValueRange | FreeText), f"{option.name} has no list of values"
    return list(values)
