"""Text fields that pages about a model's inner workings share, and the model edits in the URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.exceptions import SentiscopeError
from core.interpret.model_edits import Editable, Edits, get_text_editable
from core.runs.record import RunRecord
from core.text.text_pairs import join_pair, split_pair
from dashboard import state
from dashboard.data import data
from dashboard.widgets.messages import show_error, show_finding

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

LONGEST = 20_000
"""Characters: a text of 2,000 words has about 12,000."""
FIELDS = {"pair-first": "First text", "pair-second": "Second text"}


def fill_text(record: RunRecord, first: str) -> None:
    """Fill the shared text field with the previous page's text, else with `first`; call once per drawing of a page."""
    state.restore_text(state.TEXT, first)
    if record.pairs:
        _set_pair(state.get_latest(state.TEXT))


def show_text_field(record: RunRecord) -> str:
    """Show the shared text field, or two fields for a run on text pairs; return the text."""
    if record.pairs:
        return _show_pair_fields()
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
def show_text_part(record: RunRecord, show: Callable[[RunRecord, str, DeltaGenerator], None]) -> None:
    """Show the text field and everything that depends on its text, as a part of the page that reruns alone."""
    with st.container(key="bench", gap="xsmall"):
        line = st.container(key="typed", horizontal=True, vertical_alignment="center", gap="small")
        with line:
            text = show_text_field(record)
        _check_pair(record, text)
        try:
            show(record, text, line)
        except SentiscopeError as error:  # the app's error handler does not cover the rerun of a fragment
            show_error(error)


def _check_pair(record: RunRecord, text: str) -> None:
    """Warn that results are about one text alone if the second text of a pair is missing."""
    if record.pairs and text and not (parts := split_pair(text) or (text, ""))[1].strip():
        show_finding("This run reads two texts", f"Type the second one. The results below are for “{parts[0]}” alone.")


def _show_pair_fields() -> str:
    text = state.get_latest(state.TEXT)
    if tuple(state.get_value(key, "") for key in FIELDS) != (split_pair(text) or (text, "")):
        _set_pair(text)
    for key, label in FIELDS.items():
        st.text_input(
            label,
            key=key,
            live=True,
            max_chars=LONGEST // 2,
            label_visibility="collapsed",
            placeholder=label,
            on_change=_join_pair,
        )
    return text


def _set_pair(text: str) -> None:
    for key, part in zip(FIELDS, split_pair(text) or (text, ""), strict=True):
        state.set_value(key, part)


def _join_pair() -> None:
    first, second = (str(state.get_value(key, "") or "") for key in FIELDS)
    state.set_param(state.TEXT, join_pair(first, second) if second.strip() else first)


def read_link_edits(record: RunRecord, text: str, trained: SentenceView) -> tuple[Edits, Editable, SentenceView]:
    """Return the model edits in the URL, the edits that are possible, and the edited model's view of the text."""
    edits, parts, left_out = parse_edits(record, trained, state.get_param(state.EDIT))
    if left_out and parts.layers:
        many = "One change" if left_out == 1 else f"{left_out} changes"
        show_finding(f"{many} of the link cannot be applied", f"This run has {parts.syntax_help}.")
    return edits, parts, data.inspect_text(record.run, text, edits)


def parse_edits(record: RunRecord, trained: SentenceView, said: str) -> tuple[Edits, Editable, int]:
    """Parse model edits from a URL; return the edits, the possible edits, and how many edits do not fit the model."""
    parts = get_text_editable(record.config.model, trained)
    edits, left_out = parts.read_link(said)
    return edits, parts, left_out
