"""The head of a page: its name, the question it answers, and what its figures rest on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st


def header(title: str, question: str, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Title and question on the left; on the right facts, (strong, plain), so that a screenshot says what it shows."""
    right = "<br>".join(f"<b>{escape(strong)}</b> {escape(plain)}" for strong, plain in facts)
    st.html(
        f'<div class="s-head"><div><h1>{escape(title)}</h1><p>{escape(question)}</p></div>'
        f'<div class="s-run">{right}</div></div>'
    )
