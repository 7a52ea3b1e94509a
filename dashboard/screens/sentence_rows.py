"""A sentence that was chosen on another page: what it is, those before and behind it, the way back."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard import state
from dashboard.figures.numbers import count
from dashboard.state import Series

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def chosen_rows(text: str) -> None:
    """The place of a text among the chosen ones, and the buttons that lead on and back; nothing of any other text."""
    series = state.series(text)
    if series is None:
        return
    place, many = series.place, len(series.texts)
    with st.container(
        key="rows", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, width="content"
    ):
        st.html(f'<span class="s-note"><b>{count(place + 1)}</b> of {count(many)}</span>', width="content")
        for sign, name, to in (("‹", "Sentence before", place - 1), ("›", "Next sentence", place + 1)):
            st.button(
                sign, help=name, key=f"rows-{name}", on_click=_turn, args=(series, to), disabled=not 0 <= to < many
            )
        if st.button(f"Back to {series.page.capitalize()}", key="rows-back"):
            state.go(series.page)


def _turn(series: Series, to: int) -> None:
    state.show_row(series, to)


def true_label(record: RunRecord, text: str, view: SentenceView) -> None:
    """What the sentence is, as its data says, and whether the answer is that."""
    series = state.series(text)
    label = series.label if series else ""
    if not label:
        return
    mark = ""
    if record.task == "single" and label in record.classes:
        right = view.label == label
        mark = f'<b class="{"s-right" if right else "s-wrong"}">{"✓ right" if right else "✕ wrong"}</b>'
    st.html(f'<p class="s-truth">true label <b>{escape(label)}</b> {mark}</p>', width="content")
