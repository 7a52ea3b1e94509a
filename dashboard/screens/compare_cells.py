"""The sentences of a clicked cell, directly below the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from core.failures.selection import keys_of
from core.fingerprint import fingerprint
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.compare_sentences import MATRIX, Matrix, cell_frame
from dashboard.figures.numbers import count
from dashboard.figures.panels import cell_of
from dashboard.figures.source import Source
from dashboard.widgets.messages import selection_note
from dashboard.widgets.runs import chosen_record
from dashboard.widgets.selected import MOST, inside_button, mark_cell
from dashboard.widgets.style import look, row_height

SHOWN = 7
FIRST = (0, 1)
"""The cell that is shown where nothing is selected: what the first model alone has right."""


def take_cell(source: Source) -> None:
    """The clicked cell is selected on all pages."""
    shape = data.drawn(MATRIX, source, look())[0]
    cell = state.selected_bar(state.MATRIX, len(shape.kinds))
    rows = shape.rows(*cell) if cell else np.empty(0, np.int64)
    _select(source, shape, rows, shape.said(*cell) if cell else "", None)


def cell_sentences(source: Source, shape: Matrix) -> None:
    """What is selected; without that, what the first model alone has right."""
    keys = keys_of(shape.answers[0].texts)
    now = selection.chosen(record) if (record := chosen_record()) else None
    places = {key: row for row, key in enumerate(keys)}
    rows = np.array([places[key] for key in now.keys if key in places] if now else [], np.int64)
    said = now.words if now and len(rows) else shape.said(*FIRST)
    if not len(rows):
        now, rows = None, shape.rows(*FIRST)
    cell = cell_of(shape.first, shape.second, rows)
    mark_cell(state.MATRIX, cell if now else None, len(shape.kinds))
    with st.container(key="selection"):
        selection_note(f"{count(len(rows))} {'sentence' if len(rows) == 1 else 'sentences'}", said)
    if not len(rows):
        return
    shown = rows[:MOST]
    names = [keys[row] for row in shown]
    at = now.key(now.at) if now and now.at is not None else ""
    marked = names.index(at) if at in names else None

    def look_at() -> None:
        if chosen := state.draft(key, {}).get("selection", {}).get("rows", []):
            if now is None or record is None:
                _select(source, shape, rows, said, chosen[0])
            elif (place := now.found(names[chosen[0]])) is not None:
                selection.look_at(record, place)

    key = f"{state.current(state.EXAMPLES)}-{fingerprint([shape.letters, said, len(rows)])[:12]}"
    _table(shape, shown, said, key, marked, look_at)
    if marked is not None and record is not None:
        if inside_button(record, "Look inside with both runs"):
            one, other = (each.record.run for each in shape.answers)
            state.choose_run(one)
            selection.look_inside(**{state.BESIDE: other})


def _table(
    shape: Matrix, rows: np.ndarray, said: str, key: str, marked: int | None, look_at: Callable[[], None]
) -> None:
    first, second = shape.letters
    st.dataframe(
        cell_frame(shape, rows),
        hide_index=True,
        row_height=row_height(),
        height=min(len(rows) + 1, SHOWN) * row_height() + 2,
        column_order=["text", "label", *([] if shape.told_by_label else [first, second])],
        column_config={
            "text": st.column_config.TextColumn("Sentence", width=320 if shape.told_by_label else 200),
            "label": st.column_config.TextColumn("Is", width=76),
            first: st.column_config.TextColumn(f"{first} says", width=76),
            second: st.column_config.TextColumn(f"{second} says", width=76),
        },
        key=key,
        on_select=look_at,
        selection_mode="single-row",
        selection_default=None if marked is None else {"selection": {"rows": [marked], "columns": [], "cells": []}},
        alt=f"Sentences: {said}",
    )


def _select(source: Source, shape: Matrix, rows: Sequence[int] | np.ndarray, about: str, at: int | None) -> None:
    """Rows of the two runs, of which the run that all pages speak of becomes one."""
    record = shape.answers[0].record
    if state.run() not in {each.run for each in (source.record, *source.others)}:
        state.choose_run(record.run)
    keys = keys_of(shape.answers[0].texts)
    selection.choose_keys(
        record, source.split, [keys[row] for row in rows], about, at=at, by=state.MATRIX, by_outcome=True
    )
