"""The one thing to do next, on Overview."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import state


def next_step(title: str, text: str, button: str, page: str, run: str) -> None:
    """One heading, one sentence, one button; it leads to `page` with `run` chosen."""
    with st.container(key="next", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.html(f'<div class="s-next"><b>{escape(title)}</b><span>{escape(text)}</span></div>', width="content")
        chosen = (run,) if run else (state.run(),)
        if st.button(button, type="primary", key="next-action", on_click=state.choose_run, args=chosen):
            state.go(page)
