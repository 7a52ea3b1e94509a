"""What an answer is made of, where TF-IDF is mixed in: the network alone, TF-IDF alone, both together, and a switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.edits import Edits
from core.runs.record import RunRecord
from dashboard import state
from dashboard.figures.numbers import number
from dashboard.widgets.answer import answer
from dashboard.widgets.figure import heading
from dashboard.widgets.style import look

if TYPE_CHECKING:
    from core.interpret.sentence import MixView, SentenceView

HOW = (
    "p = w · network + (1 − w) · TF-IDF, with the w that had the least loss on the validation split. TF-IDF counts "
    "words, pairs and character n-grams and was fitted on the training split. The temperature of the run, {}, then "
    "makes the answer of the mixture."
)
OFF = "Off: the network answers alone, at the same temperature."
KEY = "edit-mix"
ROOMY = 0.55
"""Of a bar that has a third of the page."""


def mixture(record: RunRecord, edits: Edits, trained: SentenceView, view: SentenceView) -> None:
    """The parts of an answer beside each other; nothing where it has one only."""
    if trained.mix is None or view.mix is None:
        return
    about = HOW.format(number(record.temperature, 2))
    heading("What the answer is made of", "mix", note=record.mixture, about=about)
    _parts(record, trained.mix if edits else None, view.mix, view)
    state.put(KEY, not edits.unmixed)
    st.toggle("TF-IDF mixed in", key=KEY, on_change=_switched, args=(edits,), help=OFF)


def _parts(record: RunRecord, before: MixView | None, now: MixView, view: SentenceView) -> None:
    def said(probabilities: Mapping[str, float]) -> SentenceView:
        return replace(view, probabilities=dict(probabilities))

    trained = [None] * len(now.parts) if before is None else map(said, before.parts.values())
    columns = st.columns(len(now.parts), gap="large")
    for column, (part, chances), was in zip(columns, now.parts.items(), trained, strict=True):
        with column:
            st.html(f'<p class="s-who"><b>{escape(part)}</b></p>')
            answer(record, said(chances), look(), before=was, small=True, roomy=ROOMY)


def _switched(edits: Edits) -> None:
    state.carry(state.EDIT, replace(edits, unmixed=not state.draft(KEY, True)).encode())
