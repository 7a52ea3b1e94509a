"""The inside of one reading: token strip, head view, maps of all heads, weights of the components."""

from __future__ import annotations

import contextlib

import streamlit as st

from core.exceptions import NotAvailable
from dashboard.figures.attention import SCALES
from dashboard.figures.heads import COEFFICIENTS, FROM, HEAD_VIEW, HEADS, SIGNS
from dashboard.figures.numbers import count
from dashboard.figures.sentence import received, special_places, special_tokens
from dashboard.figures.source import Source, Span
from dashboard.widgets.figure import caption, show_of
from dashboard.widgets.messages import finding
from dashboard.widgets.options import choose
from dashboard.widgets.style import look
from dashboard.widgets.tokens import token_strip

STRIP = "Number and colour: how much the words read this one, on average over readers and heads of this layer and map"
NOTE = (
    "A picture of attention is not an explanation: a head may read a word that does not change the answer. "
    "Change the inside below, and see whether it does."
)


def inside(source: Source) -> None:
    """Maps of a text with at least one token in a model with attention; the source knows what was chosen."""
    view = source.view
    if view.truncated:
        finding(
            f"The last {count(view.truncated)} tokens were cut off",
            f"This model reads {count(source.record.max_length)} tokens at most; what is struck through was not read.",
        )
    strip = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        for option in HEADS.options:
            choose(option, source)
    shown = HEADS.shape(source)
    top = shown.top
    with strip:
        weights, least = received(shown.map), "below an even share" if shown.scale in SIGNS else "taken away"
        special = special_tokens(view)
        token_strip(view.tokens, view.unknown, weights, top, look(), special=special, cut=view.cut, least=least)
        caption(f"{STRIP} ({SCALES[shown.scale]}). {special_places(view, shown.layer)}")
    with st.container(key="pair-main"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        _head_view(source)
        finding("Attention is not an explanation", NOTE)
        with contextlib.suppress(NotAvailable):
            show_of(source, COEFFICIENTS)
    with right:
        show_of(source, HEADS)


def _head_view(source: Source) -> None:
    """The head view, below where its window begins if the text is long."""
    starts = FROM.values(source)
    if isinstance(starts, Span):
        first, last = int(starts.low), int(starts.high)
        source.choices[FROM.name] = st.slider(
            FROM.label, first, last, key=FROM.name, bind="query-params", help=FROM.about
        )
    show_of(source, HEAD_VIEW)
