"""Sentences with their classes and the model's predictions."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboard import state
from dashboard.figures.drawing import asset
from dashboard.widgets.style import row_height

SHOWN = 8
ROOM = 440
"""Pixels that a selection bar and its sentences take on a screen."""

_in_sight = st.components.v2.component("sentiscope_in_sight", html="<div></div>", js=asset("in_sight.js"))


def in_sight(what: str) -> None:
    """Bring what stands below into the window whenever `what`, the selection, has changed."""
    _in_sight(key="in-sight", data={"what": what, "room": ROOM})


def example_table(rows: pd.DataFrame, name: str, page: str) -> None:
    """The surest answers first, so that the worst mistakes stand on top; choosing a row offers to look inside it.

    Args:
        rows: text, label, predicted, probability; the index says which sentences they are.
        name: What they are, for a screen reader.
        page: Where they are shown; its file without ending.
    """
    ordered = rows.sort_values("probability", ascending=False, ignore_index=True)
    event = st.dataframe(
        ordered,
        hide_index=True,
        row_height=row_height(),
        height=min(len(ordered) + 1, SHOWN) * row_height() + 2,
        column_order=["text", "label", "predicted", "probability"],
        column_config={
            "text": st.column_config.TextColumn("Sentence", width="large"),
            "label": st.column_config.TextColumn("Is", width=90),
            "predicted": st.column_config.TextColumn("Predicted", width=90),
            "probability": st.column_config.NumberColumn("P(predicted)", format="%.3f", width=96),
        },
        key=f"{state.EXAMPLES}-{_which(rows)}",  # a chosen row is a place among these sentences and no others
        on_select="rerun",
        selection_mode="single-row",
        alt=name,
    )
    chosen = event["selection"]["rows"]
    if chosen and st.button("Look inside this sentence", icon=":material/notes:", key="open-sentence"):
        state.look_inside(page, ordered, chosen[0])


def _which(rows: pd.DataFrame) -> str:
    """Short and unique for these sentences of a split."""
    return f"{pd.util.hash_pandas_object(rows.index).sum():x}"
