"""The list of selected sentences and the one that is read; moving and coding rerun nothing but this part."""

from __future__ import annotations

import streamlit as st

from core.exceptions import RunDamaged
from core.failures.selection import Selection, parse
from dashboard import data, selection, state
from dashboard.figures.analysis import Analysis
from dashboard.figures.errors import ERRORS, Coding, Detail, Reading
from dashboard.screens.errors_codes import codes_below
from dashboard.screens.errors_coding import handled, hear, named
from dashboard.widgets import selected
from dashboard.widgets.figure import place
from dashboard.widgets.messages import problem
from dashboard.widgets.style import look

READER = "reader"
"""The part that is drawn anew."""


def reader(shown: Analysis) -> None:
    """List and reader, and the codes below them."""
    state.carried(state.AT)  # once: while keys are pressed the link is behind what the session knows
    st.fragment(_read, key=READER)(shown)


def _read(shown: Analysis) -> None:
    if state.draft(state.REDRAW, False):
        state.forget(state.REDRAW)
        st.rerun()
    key, record = state.current(f"fig-{ERRORS.name}"), shown.table.record
    rest = state.draft(key, {}).get("rest") or {}
    known, without = _details(shown, [str(each) for each in rest.get("want", [])])
    everything = data.coded(record)
    coded = everything.seen_by(state.author())
    around = None if rest.get("around") is None else int(rest["around"])
    said = Coding(coded, state.author(), handled())
    reading = Reading(shown, str(state.draft(state.AT, "")), known, without, said, around)
    note = ERRORS.say(ERRORS.note, reading)
    if text := state.take(state.NOT_WRITTEN):
        problem("This was not written down", str(text))
    place(
        ERRORS.draw(reading, look()),
        ERRORS.name,
        ERRORS.alternative(reading, note, ""),
        on_rest_change=lambda: _rest(key),
        on_open_change=lambda: None,
        on_coded_change=lambda: _hear(key, shown),
        on_undo_change=lambda: _hear(key, shown),
        on_named_change=lambda: named(key),
    )
    codes_below(shown, coded, everything)
    if opened := state.draft(key, {}).get("open"):
        _open(shown, str(opened))


def _details(shown: Analysis, wanted: list[str]) -> tuple[dict[str, Detail], str]:
    """Of the rows that are wanted, and why no word has a push."""
    without = "" if data.weights_fingerprint(shown.table.record.run) else "This run has no weights: no word has a push."
    try:
        return (data.details(shown, wanted) if wanted else {}), without
    except RunDamaged as error:
        return {}, f"No word has a push: {error}"


def _rest(key: str) -> None:
    """The reader rests at a row, or comes near the end of what was sent: a callback."""
    if at := (state.draft(key, {}).get("rest") or {}).get("at"):
        state.carry(state.AT, str(at))
    _anew()


def _hear(key: str, shown: Analysis) -> None:
    """Codes and notes: a callback."""
    hear(key, shown)
    _anew()


def _anew() -> None:
    """This part alone, and where there is a bar the part of it that says what is read.

    All callbacks end so: where one of several does not, the whole page is drawn, and a key that is pressed meanwhile is
    lost.
    """
    if bar := selected.following():
        st.rerun([READER, *bar])


def _open(shown: Analysis, key: str) -> None:
    """A row on Sentence, with the others of the list to go on to."""
    frame, table = shown.table.frame, shown.table
    if len(texts := frame["text"][frame["key"] == key]):
        selection.choose(table.record, Selection(parse(shown.select).rules, table.split), key=key)
        state.go(selection.SENTENCE, **{state.TEXT: str(texts.iloc[0])})
