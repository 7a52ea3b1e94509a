"""The text or pair of texts that pages about a model's inside share, and the link's changes of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.exceptions import SentiscopeError
from core.interpret.edits import Editable, Edits, allowed
from core.runs.record import RunRecord
from core.text.pair import joined, parted
from dashboard import state
from dashboard.data import data
from dashboard.widgets.messages import finding, stopped

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

LONGEST = 20_000
"""Characters: a text of 2,000 words has about 12,000."""
FIELDS = {"pair-first": "First text", "pair-second": "Second text"}


def begin(record: RunRecord, first: str) -> None:
    """Fill the text field with the text of the page before, or else `first`; once for each drawing of a page."""
    state.restate(state.TEXT, first)
    if record.pairs:
        _tell(state.latest(state.TEXT))


def sentence_field(record: RunRecord) -> str:
    """Show the text field and return its text, which the link keeps from page to page."""
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


@st.fragment
def read_typed(record: RunRecord, show: Callable[[RunRecord, str, DeltaGenerator], None]) -> None:
    """Show the text field and all below it; a new text or a lever reruns this part alone."""
    with st.container(key="bench", gap="xsmall"):
        line = st.container(key="typed", horizontal=True, vertical_alignment="center", gap="small")
        with line:
            text = sentence_field(record)
        _check_pair(record, text)
        try:
            show(record, text, line)
        except SentiscopeError as error:  # a rerun of this part alone does not pass through the app's own net
            stopped(error)


def _check_pair(record: RunRecord, text: str) -> None:
    """Warn that all below is about one text alone if the second text of a pair is missing."""
    if record.pairs and text and not (parts := parted(text) or (text, ""))[1].strip():
        finding("This run reads two texts", f"Type the second one; what stands below is said of “{parts[0]}” alone.")


def _two_fields() -> str:
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
    for key, part in zip(FIELDS, parted(text) or (text, ""), strict=True):
        state.put(key, part)


def _join() -> None:
    first, second = (str(state.draft(key, "") or "") for key in FIELDS)
    state.carry(state.TEXT, joined(first, second) if second.strip() else first)


def asked_edits(record: RunRecord, text: str, trained: SentenceView) -> tuple[Edits, Editable, SentenceView]:
    """Return the link's changes of this model, all possible changes, and the changed reading."""
    edits, parts, left_out = read_edits(record, trained, state.carried(state.EDIT))
    if left_out and parts.layers:
        many = "One change" if left_out == 1 else f"{left_out} changes"
        finding(f"{many} of the link cannot be made here", f"This run has {parts.has}.")
    return edits, parts, data.sentence(record.run, text, edits)


def read_edits(record: RunRecord, trained: SentenceView, said: str) -> tuple[Edits, Editable, int]:
    """Parse a link's changes of this model; return them, all possible changes, and how many cannot be made."""
    parts = allowed(record.config.model, trained)
    edits, left_out = parts.read(said)
    return edits, parts, left_out
