"""The field for the sentence that all pages about the inside of a model speak of; of a pair two."""

from __future__ import annotations

import streamlit as st

from core.runs.record import RunRecord
from core.text.pair import joined, parted
from dashboard import state
from dashboard.widgets.messages import finding

LONGEST = 20_000
"""Characters: a text of 2,000 words has about 12,000."""
FIELDS = {"pair-first": "First text", "pair-second": "Second text"}


def begin(record: RunRecord, first: str) -> None:
    """Once for each drawing of a whole page: what the page before had in its field, or else `first`, stands in it.

    As any field that several pages have, those of a pair must be told anew; not while somebody types in them.
    """
    state.restate(state.TEXT, first)
    if record.pairs:
        _tell(state.latest(state.TEXT))


def sentence_field(record: RunRecord) -> str:
    """What is typed; it goes into the link, and along from page to page."""
    if record.pairs:
        return _two_fields()
    text = st.text_input(
        "Sentence",
        key=state.TEXT,
        bind="query-params",
        live=True,
        max_chars=LONGEST,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )
    return text or ""


def said_of_pairs(record: RunRecord, text: str) -> None:
    """Where the second text of a pair is missing: that what stands below is said of one text alone."""
    if record.pairs and text and not (parts := parted(text) or (text, ""))[1].strip():
        finding("This run reads two texts", f"Type the second one; what stands below is said of “{parts[0]}” alone.")


def _two_fields() -> str:
    """Both texts of a pair, as one; the link holds them as one too."""
    text = state.latest(state.TEXT)
    if tuple(state.draft(key, "") for key in FIELDS) != (parted(text) or (text, "")):
        _tell(text)
    for key, label in FIELDS.items():
        st.text_input(
            label,
            key=key,
            live=True,
            max_chars=LONGEST // 2,
            label_visibility="collapsed",
            placeholder=label,
            on_change=_join,
        )
    return text


def _tell(text: str) -> None:
    """Both fields hold what a text says."""
    for key, part in zip(FIELDS, parted(text) or (text, ""), strict=True):
        state.put(key, part)


def _join() -> None:
    """One of the fields has changed."""
    first, second = (str(state.draft(key, "") or "") for key in FIELDS)
    state.carry(state.TEXT, joined(first, second) if second.strip() else first)
