"""Selections with a name: how good the run is in each, used, renamed and removed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.failures.slices import LONGEST, remove_slice, rename_slice
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.saved import SAVED
from dashboard.figures.source import Source
from dashboard.screens.performance_selection import SLICES, beside, take_slice
from dashboard.widgets.figure import caption, heading, show

if TYPE_CHECKING:
    import pandas as pd

WHICH, RENAMED = "slice-which", "slice-renamed"
NONE_YET = (
    "None of these data yet. Select sentences, by a click on a cell above or with the filter of Errors, and press Save "
    "as slice in the bar: every run on these data has it then."
)


def saved_slices(source: Source) -> dict[str, pd.DataFrame]:
    """The section; gives its table. A picked slice is selected on all pages."""
    tables: dict[str, pd.DataFrame] = {}
    found = data.kept_slices(source.record)
    with contextlib.suppress(NotAvailable):
        shape = SAVED.shape(source)
        show(SAVED, shape, on_picked_change=partial(take_slice, source, shape))
        beside(source, selection.chosen_of(source.record, source.split), SLICES)
        tables = SAVED.numbers(shape)
    if not tables:
        heading(str(SAVED.title), SAVED.name, about=str(SAVED.how))
        caption(f"None of {source.split}; other splits have some." if found else NONE_YET)
    _change(source.record, [each.name for each in found])
    return tables


def _change(record: RunRecord, names: list[str]) -> None:
    """A button that opens the fields; what became of the last change is said below it."""
    if names:
        with st.popover("Rename or remove", type="tertiary", key="slices-change"):
            key, new = state.current(WHICH), state.current(RENAMED)
            st.selectbox("Slice", names, key=key)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("New name", key=new, max_chars=LONGEST, width=240)
                st.button("Rename", key="slice-rename", on_click=partial(_rename, record, key, new))
            st.button("Remove it", key="slice-remove", on_click=partial(_remove, record, key))
            caption("For every run on these data. Its sentences stay as they are.")
    if said := state.take(state.SLICE_CHANGED):
        st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')


def _rename(record: RunRecord, key: str, field: str) -> None:
    """A callback."""
    name, new = str(state.draft(key, "")), str(state.draft(field, ""))
    _do(lambda: f"“{name}” is “{rename_slice(data.store(), record, name, new).name}” now.")


def _remove(record: RunRecord, key: str) -> None:
    """A callback."""
    name = str(state.draft(key, ""))

    def remove() -> str:
        remove_slice(data.store(), record, name)
        return f"“{name}” is removed."

    _do(remove)


def _do(change: Callable[[], str]) -> None:
    try:
        state.put(state.SLICE_CHANGED, change())
    except SentiscopeError as error:
        state.put(state.SLICE_CHANGED, f"Not changed: {error}.")
    else:
        state.clear(WHICH, RENAMED)
