"""What a selected sentence is, as its data says, and whether the answer is that."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard import selection

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def looked_at(record: RunRecord) -> tuple[str, str]:
    """Text and true label of the selected sentence that is looked at; both empty where there is none."""
    now = selection.chosen(record)
    return ("", "") if now is None or now.at is None else (now.text(now.at), now.label(now.at))


def true_label(record: RunRecord, text: str, view: SentenceView) -> None:
    """The true label of a text, if it is the one that is looked at and its data says so."""
    chosen, label = looked_at(record)
    if not label or text != chosen:
        return
    mark = ""
    if record.task == "single" and label in record.classes:
        right = view.label == label
        mark = f'<b class="{"s-right" if right else "s-wrong"}">{"✓ right" if right else "✕ wrong"}</b>'
    st.html(f'<p class="s-truth">true label <b>{escape(label)}</b> {mark}</p>', width="content")
