"""The nearest to the sentence that is looked at, to the typed one or to a selection, and to this those of training."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable, RunDamaged
from core.text.direction import quoted
from dashboard import selection
from dashboard.data import data
from dashboard.figures.map_neighbours import AT, LEAST, MAP_COMMON, MAP_NEIGHBOURS, Near, near_several
from dashboard.figures.numbers import count
from dashboard.figures.selecting import SELECT
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.figure import caption, heading, show

PATIENCE = 0.2
"""Seconds that a page waits for the training sentences before it goes on without them."""
QUOTED = 60
"""Characters of a sentence in the words of a selection."""


def neighbours(source: Source, now: Chosen | None, typed: str) -> Near | None:
    """Those of the typed sentence, else of the one looked at or alone, else of all selected; None: there are none."""
    source.text = typed if data.weights_fingerprint(source.record.run) else ""
    one = now is not None and len(now) and (now.at is not None or len(now) == 1)
    if now is not None and one:
        source.choices[AT.name] = now.key(now.at or 0)
    try:
        if now is not None and not one and not source.text.strip():
            return near_several(source, now.places, now.words)
        return MAP_NEIGHBOURS.shape(source)
    except NotAvailable:
        return None


def neighbours_below(source: Source, near: Near | None) -> dict[str, pd.DataFrame]:
    """Their table, and the button that selects them; gives its numbers."""
    if near is None:
        return {}
    show(MAP_NEIGHBOURS, near)
    of = quoted(near.of, QUOTED) if near.n == 1 else f"{count(near.n)}: {near.of}"
    about = f"nearest to {of}"
    rows = near.found["row"].tolist()
    st.button(
        f"Select these {count(len(rows))}",
        key="select-near",
        on_click=selection.choose_rows,
        args=(source.record, source.split, rows, about),
    )
    return MAP_NEIGHBOURS.numbers(near)


def training_below(source: Source, now: Chosen | None) -> dict[str, pd.DataFrame]:
    """The training sentences that are nearest to a selection of several; gives its numbers."""
    if now is None or len(now) < LEAST:
        return {}
    source.choices[SELECT.name] = str(now.selection)
    try:
        if not data.find_tags(source.record, source.split, PATIENCE):
            heading(str(MAP_COMMON.title), MAP_COMMON.name, about=str(MAP_COMMON.how))
            st.fragment(_look_again, run_every=1.0)(source)
            return {}
        near = MAP_COMMON.shape(source)
    except (NotAvailable, RunDamaged) as error:
        heading(str(MAP_COMMON.title), MAP_COMMON.name, about=str(MAP_COMMON.how))
        caption(f"There are none: {error}.")
        return {}
    show(MAP_COMMON, near)
    found = near.common.found
    texts, labels = found["text"].tolist(), found["label"].tolist()
    st.button(
        f"Select these {count(len(texts))}",
        key="select-training",
        on_click=selection.choose_sentences,
        args=(source.record, texts, labels, f"nearest in training to {count(len(now))}: {now.words}"),
    )
    return MAP_COMMON.numbers(near)


def _look_again(source: Source) -> None:
    if data.find_tags(source.record, source.split, 0):
        st.rerun()
    caption("The training sentences are being read.")
