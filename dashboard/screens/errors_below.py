"""Below the reader: where errors gather, and what the selected sentences have in common; what is picked filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.failures.selection import parse
from dashboard import state
from dashboard.figures.analysis import Analysis
from dashboard.figures.distinguishing_features import MARKED, OVERUSED, marked, overused
from dashboard.figures.error_rates import GATHERED, SLICED, Gathered, Sliced, gathered, next_steps, sliced
from dashboard.figures.figure import Figure
from dashboard.figures.selecting import WRONG
from dashboard.figures.source import Source
from dashboard.screens.errors_beside import beside_tags
from dashboard.screens.errors_filter import pick, select
from dashboard.screens.errors_labels import likely_label_errors
from dashboard.screens.errors_shift import shift_of
from dashboard.screens.errors_unsure import unsure_offer
from dashboard.screens.errors_words import words_of_outcomes
from dashboard.widgets.figure import caption, heading, show

if TYPE_CHECKING:
    import pandas as pd


def below(source: Source, shown: Analysis, beside: Sequence[DeltaGenerator]) -> dict[str, pd.DataFrame]:
    """All of it, the tags and words in the two columns that begin with the codes; gives its tables."""
    tables: dict[str, pd.DataFrame] = {}
    found, words, parts = gathered(shown), overused(shown), sliced(shown)
    left, right = beside
    with left:
        tables |= _picks(GATHERED, found, found.picked, lambda: pick(shown, GATHERED.name, found.picked))
        beside_tags(shown)
        unsure_offer(source)
    with right:
        tables |= _picks(OVERUSED, words, words.picked, lambda: pick(shown, OVERUSED.name, words.picked))
    with st.container(key="pair-marked"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        tables |= _picks(SLICED, parts, parts.picked, lambda: _slice(shown))
    with right:
        tables |= _picks(MARKED, marked(shown), "", lambda: pick(shown, MARKED.name, ""))
    _next(shown, found, parts)
    return tables | words_of_outcomes(source, shown) | likely_label_errors(source) | shift_of(source, shown)


def _picks(figure: Figure[Any], shape: Any, picked: str, told: Callable[[], None]) -> dict[str, pd.DataFrame]:
    """A table of which a row can be picked; without a row only what its caption says. Gives its numbers."""
    numbers = figure.numbers(shape)
    if all(table.empty for table in numbers.values()):
        heading(str(figure.title), figure.name, note=figure.say(figure.note, shape), about=str(figure.how))
        caption(figure.say(figure.reading, shape))
    else:
        show(figure, shape, default={"picked": picked}, on_picked_change=told)
    return numbers


def _slice(shown: Analysis) -> None:
    """A slice was picked: its errors are the selection; picked again, all errors are."""
    select(shown, [WRONG, *parse(state.picked(SLICED.name) or "").rules])


def _next(shown: Analysis, found: Gathered, parts: Sliced) -> None:
    """What to do next, each with the sentences that it is about."""
    steps = next_steps(shown, found, parts)
    heading("What to do next", "next-steps", note="as far as these numbers bear it out")
    if not steps:
        caption("Nothing stands out: no tag and no slice survives correction, and no error is very sure. Read on.")
    for place, step in enumerate(steps):
        with st.container(key=f"step-{place}", horizontal=True, vertical_alignment="center"):
            words = f'<p class="s-step"><b>{escape(step.advice)}.</b> <span>{escape(step.evidence)}.</span></p>'
            st.html(words, width="stretch")
            st.button("Show them", key=f"show-step-{place}", on_click=select, args=(shown, step.rules))
