"""A second run reads the same text: its answer, its strip and its combined maps beside those of the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from core.interpret.edits import Edits
from core.interpret.unknown import unknown_note
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.attention import MapRow, full_colour
from dashboard.figures.contrast import (
    DIFFERENCE,
    contrast_readings,
    contrast_table,
    describe_difference,
    read_sentence,
)
from dashboard.figures.heads import COMBINED, Combined
from dashboard.figures.naming import data_name
from dashboard.figures.sentence import combined_rows, comparison, subtracts
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS
from dashboard.screens.sentence_waiting import words_asked
from dashboard.screens.sentence_words import word_strip
from dashboard.widgets.answer import answer
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import finding, problem
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView

HELP = "Any other run with weights; it reads the text as it was trained, without the changes made above."


def other_runs(record: RunRecord) -> dict[str, RunRecord]:
    """Every other run that can be asked, by name, newest first."""
    return {each.run: each for each in data.runs_with_weights() if each.run != record.run}


@dataclass
class Beside:
    """A reading that stands beside this one."""

    views: dict[str, SentenceView] = field(default_factory=dict)
    """By what it is called in the table of answers."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


def second_run(source: Source, others: Mapping[str, RunRecord]) -> Beside:
    """The picker and, once a run is chosen, both readings.

    Args:
        source: What the first run reads.
        others: What there is to choose from.

    Returns:
        The second reading by its run's name, and what differs.
    """
    asked = state.asked_beside()
    heading("Two runs side by side", "beside", note="the same text, another model")
    if asked and asked not in others:
        where = (
            "It is the run above."
            if asked == source.record.run
            else "It was renamed or removed, or has no weights yet."
        )
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
        return Beside()
    second = Source(others[name], data, text=source.text, choices=towards(source, others[name]))
    return two_readings(source, second, "second", name)


def towards(source: Source, record: RunRecord) -> dict[str, str]:
    """The class that pushes of a source are counted for, where another run has it too."""
    chosen = str(source.choices.get(TOWARDS.name, ""))
    return {TOWARDS.name: chosen} if chosen in record.classes else {}


def two_readings(first: Source, second: Source, place: str, called: str) -> Beside:
    """Answers, words and combined maps side by side, the maps on one scale, and what differs.

    Args:
        first: This one.
        second: What it is compared with.
        place: A name for the figures of the second one.
        called: What the second is called in the table of answers.
    """
    found = Beside({called: read_sentence(second)})
    if first.text == second.text and first.record.run != second.record.run:
        title, said = comparison(*map(read_sentence, (first, second)))
        (finding(title, said) if title else caption(said))
    caption(describe_difference(first, second))
    if read_sentence(second).tokens and not words_asked(second, place):
        return found
    mine, theirs = (_rows(read_sentence(each), each.record, each.edits) for each in (first, second))
    top = full_colour([*mine, *theirs])
    with st.container(key=f"pair-beside-{place}"):
        left, right = st.columns(2, gap="large")
    with left:
        _reading(first, mine, top, f"{place}-first")
    with right:
        _reading(second, theirs, top, place)
    try:
        shape = contrast_readings(first, second)
    except NotAvailable as error:
        caption(f"The pushes have no difference: {error}.")
        return found
    show(DIFFERENCE, shape, name=f"difference-{place}")
    if read_sentence(first).tokens == read_sentence(second).tokens and [row.weights.shape for row in mine] == [
        row.weights.shape for row in theirs
    ]:
        gaps = [replace(row, weights=row.weights - other.weights) for row, other in zip(mine, theirs, strict=True)]
        if gaps:
            shown = Combined(read_sentence(first), gaps, full_colour(gaps), "the first minus the second")
            show(COMBINED, shown, name=f"combined-{place}-difference", more="A scale of their own.")
    found.tables[f"Difference {place}"] = contrast_table(shape)
    return found


def _rows(view: SentenceView, record: RunRecord, edits: Edits) -> list[MapRow]:
    return combined_rows(view, subtracts(record), edits) if view.layers and view.tokens else []


def _reading(source: Source, rows: list[MapRow], top: float, place: str) -> None:
    record, changed = source.record, source.edits.words()
    view = read_sentence(source)
    about = f"{record.preset} on {data_name(record.config.data.name)}" + (f"; {changed}" if changed else "")
    st.html(f'<p class="s-who"><b>{escape(record.run)}</b> {escape(about)}</p>')
    if place.startswith("pinned"):
        st.html(f'<p class="s-flip">{escape(source.text)}</p>')
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
