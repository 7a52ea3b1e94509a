"""Comparison with a second or a pinned reading: predictions, words and combined maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from core.interpret.edits import Edits
from core.interpret.trace_summary import unknown_note
from core.runs.record import RunRecord
from core.text.clusters import clipped, isolated
from dashboard import state
from dashboard.data import data
from dashboard.figures.attention import MapRow, full_colour
from dashboard.figures.contrast import DIFFERENCE, contrast_readings, contrast_table, describe_difference, read_sentence
from dashboard.figures.heads import COMBINED, Combined
from dashboard.figures.naming import data_name
from dashboard.figures.sentence import combined_rows, comparison, subtracts
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS
from dashboard.screens.sentence_bench import word_strip, words_asked
from dashboard.widgets.bars import answer
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import finding, problem
from dashboard.widgets.style import look
from dashboard.widgets.typed import read_edits

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView


HELP = "Any other run with weights; it reads the text as it was trained, without the changes made above."


def other_runs(record: RunRecord) -> dict[str, RunRecord]:
    """Return every other run that can be asked, by name, newest first."""
    return {each.run: each for each in data.runs_with_weights() if each.run != record.run}


@dataclass
class Beside:
    """The results of a comparison with another reading."""

    views: dict[str, SentenceView] = field(default_factory=dict)
    """By what it is called in the table of answers."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


def second_run(source: Source, others: Mapping[str, RunRecord]) -> Beside:
    """Show the picker and, once a run is chosen, both readings; return the second reading, and what differs."""
    asked = state.in_link(state.BESIDE)
    heading("Two runs side by side", "beside", note="the same text, another model")
    if asked and asked not in others:
        gone = "It was renamed or removed, or has no weights yet."
        where = "It is the run above." if asked == source.record.run else gone
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
    """Return the class that effects in a source are measured for, if another run has it too."""
    chosen = str(source.choices.get(TOWARDS.name, ""))
    return {TOWARDS.name: chosen} if chosen in record.classes else {}


def two_readings(first: Source, second: Source, place: str, called: str) -> Beside:
    """Show answers, words and combined maps side by side, the maps on one scale, and what differs."""
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
    shapes = [[row.weights.shape for row in rows] for rows in (mine, theirs)]
    if mine and read_sentence(first).tokens == read_sentence(second).tokens and shapes[0] == shapes[1]:
        gaps = [replace(row, weights=row.weights - other.weights) for row, other in zip(mine, theirs, strict=True)]
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


KEYS = (state.PINNED_RUN, state.PINNED, state.PINNED_EDIT)
QUOTED = 90


def pinned() -> tuple[str, str, str] | None:
    """Return the run, text and edit that the link pins; None: nothing is pinned."""
    run, text, edit = map(state.carried, KEYS)
    return (run, text, edit) if run else None


def pin_button(source: Source) -> None:
    """Show the button that pins the current reading, or unpins the pinned one."""
    word, icon, now = "Pin", ":material/keep:", (source.record.run, source.text, source.edits.encode())
    about = "Keep this reading beside the next ones: change sentence, run or levers, and see both"
    if pinned() is not None:
        word, icon, now, about = "Unpin", ":material/keep_off:", ("", "", ""), "Let go what was pinned"
    with st.container(key="pin", width="content"):
        st.button(word, icon=icon, key="pin-button", on_click=_pin, args=now, help=about)


def _pin(*values: str) -> None:
    for key, value in zip(KEYS, values, strict=True):
        state.carry(key, value)


def _source(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    run, text, edit = pinned() or ("", "", "")
    record = source.record if run == source.record.run else others.get(run)
    if record is None:
        return None
    edits, _, _ = read_edits(record, data.sentence(run, text), edit)
    return Source(record, data, text=text, edits=edits, choices=towards(source, record))


def pinned_line(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    """Show the pinned text and how its prediction differs; return the pinned reading."""
    pin = _source(source, others)
    if pin is None:
        return None
    quoted = isolated(clipped(pin.text, QUOTED))
    who = ", ".join(filter(None, (pin.record.run if pin.record.run != source.record.run else "", pin.edits.words())))
    about = f" ({who})" if who else ""
    said = "" if _same(source, pin) else f" · {describe_difference(source, pin, 'pinned')}"
    st.html(f'<p class="s-pin">Pinned: <b>“{escape(quoted)}”</b>{escape(about)}{escape(said)}</p>')
    return pin


def _same(source: Source, pin: Source) -> bool:
    return (source.record.run, source.text, source.edits) == (pin.record.run, pin.text, pin.edits)


def beside_the_pin(source: Source, pin: Source | None) -> Beside:
    """Show the section; return the pinned reading for the table of answers, and what differs."""
    asked = pinned()
    if asked is None:
        return Beside()
    heading("Beside what is pinned", "pinned", note="this reading, and the pinned one")
    if pin is None:
        problem(f"There is no run “{asked[0]}” to compare with", "It was renamed or removed. Unpin it.")
        return Beside()
    if _same(source, pin):
        caption("This is what is pinned. Change the sentence, the run or a lever: both stand here then.")
        return Beside()
    return two_readings(source, pin, "pinned", "pinned")
