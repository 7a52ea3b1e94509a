"""The inside of one reading: token strip, head view, maps of all heads, weights of the components."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from dashboard import state
from dashboard.figures.attention import SCALES, MapRow
from dashboard.figures.heads import COEFFICIENTS, HEADS
from dashboard.figures.numbers import count
from dashboard.figures.sentence import WINDOW, received, special_places, special_tokens
from dashboard.figures.source import Source
from dashboard.screens.sentence_heads import head_view
from dashboard.widgets.figure import caption, heading, show_of
from dashboard.widgets.messages import finding
from dashboard.widgets.options import choose
from dashboard.widgets.style import look
from dashboard.widgets.tokens import token_strip

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

LINES = "Colour is sign: {}. Width is weight. The numbered squares show and hide heads."
SIGNS = {"against uniform": "blue is above an even spread, orange below it"}
SIGN = "blue adds, orange takes away"
LINES_HOW = (
    "Weights after softmax and combination, on the chosen scale. Full colour is the 98.5th percentile of what is "
    "shown, so that a single strong weight does not hide the rest. At rest the strongest lines are drawn."
)
STRIP = "Number and colour: how much the words read this one, on average over readers and heads of this layer and map"
FROM_HELP = "The head view shows a window of a long text; the maps show all of it."
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
        _heads(view, shown.map, top, shown.setting, SIGNS.get(shown.scale, SIGN))
        finding("Attention is not an explanation", NOTE)
        with contextlib.suppress(NotAvailable):
            show_of(source, COEFFICIENTS)
    with right:
        show_of(source, HEADS)


def _heads(view: SentenceView, shown: MapRow, top: float, setting: str, signs: str) -> None:
    """The head view, of a window where the text is long."""
    heading("Attention", "heads", note=setting, about=LINES_HOW)
    length, first, said = len(view.tokens), 0, ""
    if length > WINDOW:
        last = length - WINDOW + 1
        first = st.slider("From token", 1, last, key=state.FROM, bind="query-params", help=FROM_HELP) - 1
        said = f" Tokens {first + 1} to {first + WINDOW} of {count(length)}; the maps show all of them."
    part = slice(first, first + WINDOW)
    head_view(shown.weights[:, part, part], view.tokens[part], top, look(), label=f"Attention, {setting}.{said}")
    caption(LINES.format(signs) + said)
