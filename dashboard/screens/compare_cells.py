"""The sentences of a clicked cell, directly below the matrix."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.figures.compare_matrix import Matrix, sentences
from dashboard.figures.numbers import count
from dashboard.widgets.messages import selection_note
from dashboard.widgets.style import row_height

SHOWN = 7


def cell_sentences(shape: Matrix) -> None:
    """Of the clicked cell; without one, what the first model alone has right."""
    cell = state.selected_bar(state.MATRIX, len(shape.kinds)) or (0, 1)
    rows = sentences(shape, *cell)
    with st.container(key="selection", horizontal=True, vertical_alignment="center", wrap=False):
        selection_note(f"{count(len(rows))} {'sentence' if len(rows) == 1 else 'sentences'}", shape.said(*cell))
    if rows.empty:
        return
    first, second = shape.letters
    event = st.dataframe(
        rows,
        hide_index=True,
        row_height=row_height(),
        height=min(len(rows) + 1, SHOWN) * row_height() + 2,
        column_order=["text", "label", *([] if shape.told_by_label else [first, second])],
        column_config={
            "text": st.column_config.TextColumn("Sentence", width=320 if shape.told_by_label else 200),
            "label": st.column_config.TextColumn("Is", width=76),
            first: st.column_config.TextColumn(f"{first} says", width=76),
            second: st.column_config.TextColumn(f"{second} says", width=76),
        },
        key=f"{state.EXAMPLES}-{'-'.join(shape.letters)}-{len(shape.kinds)}-{cell[0]}-{cell[1]}",
        on_select="rerun",
        selection_mode="single-row",
        alt=f"Sentences: {shape.said(*cell)}",
    )
    chosen = event["selection"]["rows"]
    if chosen and st.button("Look inside with both runs", icon=":material/notes:", key="open-sentence"):
        one, other = (each.record.run for each in shape.answers)
        state.choose_run(one)
        state.look_inside("compare", rows, chosen[0], **{state.BESIDE: other})
