"""The head of a page: its name, the question it answers, and what its figures rest on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st


def header(title: str, question: str, facts: Sequence[tuple[str, str]] = (), *, low: bool = False) -> None:
    """Title and question on the left; on the right facts, (strong, plain), so that a screenshot says what it shows.

    A low one takes a single line, where the page below it is to be seen as a whole.
    """
    between = " · " if low else "<br>"
    right = between.join(f"<b>{escape(strong)}</b> {escape(plain)}" for strong, plain in facts)
    st.html(
        f'<div class="s-head{" s-low" if low else ""}"><div><h1>{escape(title)}</h1><p>{escape(question)}</p></div>'
        f'<div class="s-run">{right}</div></div>'
    )
