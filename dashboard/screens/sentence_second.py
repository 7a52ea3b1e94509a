"""A second run reads the same text: its answer, its strip and its combined maps beside those of the first."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.unknown import unknown_note
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.attention import MapRow, full_colour
from dashboard.figures.edits import UNCHANGED, Edits
from dashboard.figures.heads import COMBINED, Combined
from dashboard.figures.naming import data_name
from dashboard.figures.sentence import combined_rows, comparison, subtracts
from dashboard.figures.source import Source
from dashboard.screens.sentence_words import word_strip
from dashboard.widgets.answer import answer
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import finding, problem
from dashboard.widgets.style import look

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

HELP = "Any other run with weights; it reads the text as it was trained, without the changes made above."


def other_runs(record: RunRecord) -> dict[str, RunRecord]:
    """Every other run that can be asked, by name, newest first."""
    return {each.run: each for each in data.runs_with_weights() if each.run != record.run}


def second_run(
    record: RunRecord,
    others: Mapping[str, RunRecord],
    text: str,
    view: SentenceView,
    edits: Edits = UNCHANGED,
) -> dict[str, SentenceView]:
    """The picker and, once a run is chosen, both readings; the second one by its run's name for the tables.

    Args:
        record: The first run.
        others: What there is to choose from.
        text: As typed.
        view: The first run's reading.
        edits: What is changed in it.
    """
    asked = state.asked_beside()
    heading("Two runs side by side", "beside", note="the same text, another model")
    if asked and asked not in others:
        where = "It is the run above." if asked == record.run else "It was renamed or removed, or has no weights yet."
        problem(f"There is no run “{asked}” to compare with", where)
    name = st.selectbox(
        "Second run",
        list(others),
        index=None,
        key=state.BESIDE,
        bind="query-params",
        placeholder="Choose a second run" if others else "There is no other run with weights",
        disabled=not others,
        help=HELP,
        width=360,
    )
    if name is None:
        return {}
    other = data.sentence(name, text)
    title, said = comparison(view, other)
    (finding(title, said) if title else caption(said))
    mine, theirs = (_rows(*each) for each in ((view, record, edits), (other, others[name], UNCHANGED)))
    top = full_colour([*mine, *theirs])
    with st.container(key="pair-beside"):
        left, right = st.columns(2, gap="large")
    with left:
        _reading(Source(record, data, text=text, edits=edits), mine, top, "first")
    with right:
        _reading(Source(others[name], data, text=text), theirs, top, "second")
    return {name: other}


def _rows(view: SentenceView, record: RunRecord, edits: Edits) -> list[MapRow]:
    return combined_rows(view, subtracts(record), edits) if view.layers and view.tokens else []


def _reading(source: Source, rows: list[MapRow], top: float, place: str) -> None:
    record, changed = source.record, source.edits.words()
    view = data.sentence(record.run, source.text, source.edits)
    about = f"{record.preset} on {data_name(record.config.data.name)}" + (f"; {changed}" if changed else "")
    st.html(f'<p class="s-who"><b>{escape(record.run)}</b> {escape(about)}</p>')
    if note := unknown_note(view.unknown_words):
        caption(note)
    answer(record, view, look(), small=True)
    if view.tokens:
        word_strip(source, f"words-{place}")
    if not rows:
        caption("No attention to look into: the answer and the words can be compared.")
        return
    combined = Combined(view, rows, top, record.run)
    show(COMBINED, combined, name=f"combined-{place}", more="Both runs share one scale.")
