"""Widgets for the options of figures and for the split, bound to URL parameters."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from dashboard import selection, state
from dashboard.figures.figure import FreeText, Option, Source, ValueRange
from dashboard.widgets.export import Table

_MARKED = re.compile(r"[]*`~$<>\[\\:]|(?<!\w)_|_(?!\w)")
"""Markdown markup, which button labels would apply and menu labels would not."""


def choose_option(option: Option, source: Source, *, plain: bool = False) -> str:
    """Show a figure option as buttons if it has several values, store the choice in the source and return it.

    With `plain`, only screen readers get the label, since the text next to the widget describes it.
    """
    values = _list_values(option, source)
    first = str(option.get_default(source))
    if len(values) < 2:
        return first
    if any(map(_MARKED.search, values)):  # such as in a class name
        return pick_option(option, source)
    state.drop_stale(option.name, values)
    look: dict[str, Any] = {"label_visibility": "collapsed"} if plain else {"help": option.about or None}
    look |= {"default": None if state.has_followed(option.name) else first}  # a dependent option already has a value
    look |= {"bind": "query-params", "required": True}
    chosen: str = st.segmented_control(option.label, values, key=option.name, **look) or first
    source.choices[option.name] = chosen
    return chosen


def pick_option(
    option: Option, source: Source, *, label: str = "", width: int = 180, about: str = "", plain: bool = False
) -> str:
    """Show a figure option as a dropdown menu, and store the choice in the figure's source; return the choice."""
    values, first = _list_values(option, source), str(option.get_default(source))
    state.drop_stale(option.name, values)
    if option.usual is not None:  # the default depends on the run, so a link must contain it
        state.set_initial(option.name, first)
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible", "help": about or None}
    look |= {"bind": "query-params", "width": width}
    chosen: str = st.selectbox(label or option.label, values, key=option.name, **look) or first
    source.choices[option.name] = chosen
    return chosen


def choose_split(splits: Sequence[str], *, plain: bool = False) -> str:
    """Show the evaluated splits of a run as a row of buttons, `plain` without a label; return the chosen split."""
    state.set_option(state.SPLIT, splits, selection.get_default_split(splits))
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible"}
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


ALL = "all"  # of the URL parameter: every section is open
Result = TypeVar("Result")
Sections: TypeAlias = Mapping[str, Callable[[], Mapping[str, Table]]]
"""The folded sections of a page: name → the function that draws it and returns its tables."""


def show_sections(sections: Mapping[str, Callable[[], Result]], *, plain: bool = False) -> list[Result]:
    """Show names of a page's sections in a row, draw those that are open in the given order, and return their results.

    The URL parameter `more` holds the open ones. `plain`: the row has no label.
    """
    opened = choose_sections(list(sections), plain=plain)
    return [draw() for name, draw in sections.items() if name in opened]


def collect_tables(sections: Sections, *, plain: bool = False) -> dict[str, Table]:
    """Draw a page's sections like `show_sections`; return the tables of those that are open."""
    found = show_sections(sections, plain=plain)
    return {name: table for tables in found for name, table in tables.items()}


def choose_sections(names: list[str], *, plain: bool = False) -> list[str]:
    """Show only the row of names; return those of the open sections. `plain`: without a label."""
    if state.read_link(state.MORE) == ALL:
        state.set_value(state.MORE, names)
    state.keep_valid(state.MORE, names)
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible"}
    return st.pills("More", names, selection_mode="multi", key=state.MORE, bind="query-params", **look) or []
