"""All runs as a table that leads to their pages."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures import sparkline as marks
from dashboard.screens.overview_files import export_button
from dashboard.widgets.messages import selection_note
from dashboard.widgets.run_removal import removal_button
from dashboard.widgets.style import look, row_height

COLUMNS = ("run", "status", "data", "model", "accuracy", "interval", "tfidf")
ACCURACY = (
    "± is half of the 95 % bootstrap interval. With several labels per text it is the plain mean of F1 over the "
    "labels, at each model's own thresholds"
)
TARGETS = (("Performance", "performance"), ("Sentence", "sentence"), ("Training", "train"))


def run_table(records: Sequence[RunRecord]) -> None:
    """One row per run; a chosen row offers its pages."""
    frame = data.drawn_runs(records, look().tokens)
    moved = bool((frame["course"] != marks.blank()).any())
    text = st.column_config.TextColumn
    event = st.dataframe(
        frame,
        hide_index=True,
        row_height=row_height(),
        column_order=[*COLUMNS, "course"] if moved else COLUMNS,
        column_config={
            "run": text("Run", width=138 if moved else 170),
            "status": text("Status", width=76),
            "data": text("Data", width=68),
            "model": text("Model", width=88 if moved else 104),
            "accuracy": text("Accuracy, test", width=104 if moved else 132, help=ACCURACY),
            "interval": st.column_config.ImageColumn(
                "0.5 to 1", width=92, help="The interval drawn; the ring is TF-IDF"
            ),
            "tfidf": text("TF-IDF", width=58, alignment="right", help="The yardstick on the same data"),
            "course": st.column_config.ImageColumn(
                "λ", width=74, help="Change since the start, by layer and component"
            ),
        },
        key=state.current(state.ROWS),
        on_select="rerun",
        selection_mode="single-row",
        alt="All runs",
    )
    if rows := event["selection"]["rows"]:
        record = records[rows[0]]
        run = record.run
        with st.container(key="selection", horizontal=True, vertical_alignment="center"):
            selection_note(run, "open it on")
            for title, page in TARGETS:
                if st.button(title, key=f"open-{page}", type="tertiary", on_click=state.choose_run, args=(run,)):
                    state.go(page)
            export_button(run, record.status)
            removal_button(run)
