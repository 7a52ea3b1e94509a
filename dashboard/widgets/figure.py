"""A figure: heading with n, chart with an alternative text, one line on how to read it, the method on demand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dashboard import state
from dashboard.figures.theme import config


def heading(title: str, name: str, *, note: str = "", about: str = "") -> None:
    """The heading; `about` (a constant of ours, markdown) opens behind a question mark."""
    with st.container(key=f"head-{name}", horizontal=True, vertical_alignment="center", wrap=False):
        st.html(f'<div class="s-fig"><h2>{escape(title)}</h2><span>{escape(note)}</span></div>')
        if about:
            with st.popover(":material/help:", type="tertiary", help="How this is computed", key=f"about-{name}"):
                st.markdown(about)


def caption(text: str) -> None:
    """One sentence on how to read what stands above."""
    st.html(f'<p class="s-cap">{escape(text).replace(" %", "&nbsp;%")}</p>')  # a number keeps its unit


def figure(
    title: str,
    chart: go.Figure,
    name: str,
    *,
    note: str = "",
    reading: str = "",
    about: str = "",
    tools: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Draw it all.

    Args:
        title: Heading, a noun.
        chart: Ready to draw.
        name: Short and unique on the page; names the exported file.
        note: n, or the setting, beside the heading.
        reading: How to read it, one sentence; also part of the alternative text.
        about: The method in at most three sentences of markdown; a constant.
        tools: Buttons of Plotly's bar beside the download, such as `lasso2d`.
        options: Further arguments of `st.plotly_chart`, such as `on_select`.

    Returns:
        What `st.plotly_chart` returns: the selection where `on_select` is given.
    """
    heading(title, name, note=note, about=about)
    event = st.plotly_chart(
        chart,
        theme=None,
        config=config(name, tools),
        key=state.current(f"fig-{name}"),
        alt=f"{title}, {note}. {reading}",
        **options,
    )
    if reading:
        caption(reading)
    return event
