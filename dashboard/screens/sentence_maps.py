"""The inside of one reading: words, who reads whom, maps of all heads, weights of the components."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from core.text.clusters import clipped
from core.text.direction import isolated
from dashboard import state
from dashboard.figures.heads import COEFFICIENTS, FROM, GRID, HEAD_VIEW, HEADS, LAYER, MAP, SCALE, Lines, layer
from dashboard.figures.numbers import count
from dashboard.figures.sentence import special_places
from dashboard.figures.source import Source, Span
from dashboard.screens.sentence_words import word_strip
from dashboard.widgets.figure import caption, show_bare, show_of
from dashboard.widgets.messages import finding
from dashboard.widgets.options import asked, choose

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

QUOTED = 80
"""Characters of a cut-off end that are shown."""
NOTE = (
    "A picture of attention is not an explanation: a head may read a word that does not change the answer. "
    "Pull a lever, and see whether it does."
)


def bench(source: Source) -> tuple[dict[str, pd.DataFrame], DeltaGenerator]:
    """The words and who reads whom, with room for the levers beside; of a text with maps.

    Returns:
        Tables of figures, and the place of the levers.
    """
    words = st.container()
    with st.container(key="pair-bench"):
        left, right = st.columns([1.22, 1], gap="medium")
    asked(SCALE, source)
    with left:
        with st.container(key="bench-head", horizontal=True, vertical_alignment="center", gap="small"):
            st.html('<div class="s-fig"><h2>Attention</h2></div>', width="content")
            if len(source.view.layers) > 1:
                st.html('<span class="s-note">layer</span>', width="content")
            choose(LAYER, source, plain=True)
            choose(MAP, source, plain=True)
        lines = _head_view(source)
    with words:
        tables = word_strip(source)
    if not state.projector():
        caption(f"{HEAD_VIEW.say(HEAD_VIEW.reading, lines)} {special_places(source.view, lines.shown.layer)}")
    return tables, right


def more_maps(source: Source) -> None:
    """What is not on the bench: all heads side by side, and the weights of the components."""
    view = source.view
    if view.truncated:
        finding(
            f"The last {count(view.truncated)} tokens were cut off",
            f"This model reads {count(source.record.max_length)} tokens at most. Not read: “{_short(view.cut)}”.",
        )
    finding("Attention is not an explanation", NOTE)
    if state.projector():
        caption(special_places(view, layer(source)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choose(GRID, source)
        choose(SCALE, source)
    with st.container(key="pair-main"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        show_of(source, HEADS)
    with right, contextlib.suppress(NotAvailable):
        show_of(source, COEFFICIENTS)


def _short(text: str) -> str:
    return isolated(clipped(text, QUOTED))


def _head_view(source: Source) -> Lines:
    """The head view, below where its window begins if the text is long."""
    starts = FROM.values(source)
    if isinstance(starts, Span):
        first, last = int(starts.low), int(starts.high)
        source.choices[FROM.name] = st.slider(
            FROM.label, first, last, key=FROM.name, bind="query-params", help=FROM.about
        )
    return show_bare(source, HEAD_VIEW)
