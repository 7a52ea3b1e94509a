"""The nearest to the sentence that is looked at, or to the typed one: marked on the map, and in words below it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable
from dashboard import data, selection
from dashboard.figures.map_neighbours import AT, MAP_NEIGHBOURS, Near
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.figure import show

QUOTED = 60
"""Characters of a sentence in the words of a selection."""


def neighbours(source: Source, now: Chosen | None, typed: str) -> Near | None:
    """Those of the typed sentence, else of the one that is looked at, or is alone; None where there is none."""
    source.text = typed if data.weights_fingerprint(source.record.run) else ""
    if now is not None and len(now) and (now.at is not None or len(now) == 1):
        source.choices[AT.name] = now.key(now.at or 0)
    try:
        return MAP_NEIGHBOURS.shape(source)
    except NotAvailable:
        return None


def neighbours_below(source: Source, near: Near | None) -> dict[str, pd.DataFrame]:
    """Their table, and the button that selects them; gives its numbers."""
    if near is None:
        return {}
    show(MAP_NEIGHBOURS, near)
    about = f"nearest to “{near.of[:QUOTED]}{'…' if len(near.of) > QUOTED else ''}”"
    rows = near.found["row"].tolist()
    st.button(
        f"Select these {count(len(rows))}",
        key="select-near",
        on_click=selection.choose_rows,
        args=(source.record, source.split, rows, about),
    )
    return MAP_NEIGHBOURS.numbers(near)
