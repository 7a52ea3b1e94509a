"""The groups of the map: named by their words, and picked to select their sentences on all pages."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.exceptions import NotAvailable
from dashboard import selection, state
from dashboard.figures.map_groups import MAP_GROUPS, Groups
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.selected import selected_here


def groups_below(source: Source, now: Chosen | None) -> dict[str, pd.DataFrame]:
    """The table, with what is selected beside it where it was picked here; gives its numbers."""
    try:
        shown = MAP_GROUPS.shape(source)
    except NotAvailable as reason:
        heading(str(MAP_GROUPS.title), MAP_GROUPS.name)
        caption(f"There are none: {reason}.")
        return {}
    key = f"fig-{MAP_GROUPS.name}"
    here = now is not None and state.draft(state.SELECTOR, "") == key
    picked = state.picked(MAP_GROUPS.name) if here else ""
    shown = replace(shown, picked=picked)
    show(MAP_GROUPS, shown, default={"picked": picked}, on_picked_change=lambda: _pick(source, shown, key))
    if here and now is not None:
        selected_here(source.record, now, (key,))
    return MAP_GROUPS.numbers(shown)


def _pick(source: Source, shown: Groups, key: str) -> None:
    """A group was picked, or no longer: a callback."""
    name = state.picked(MAP_GROUPS.name)
    places = shown.places(name)
    selection.choose_rows(source.record, source.split, places, shown.about(name), by=key)
