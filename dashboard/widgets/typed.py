"""The field for the sentence that all pages about the inside of a model speak of."""

from __future__ import annotations

import streamlit as st

from dashboard import state

LONGEST = 20_000
"""Characters: a text of 2,000 words has about 12,000."""


def sentence_field() -> str:
    """What is typed; it goes into the link, and along from page to page."""
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
