"""The list of selected sentences, the one that is read, and their codes; moving and coding rerun nothing but these."""

from __future__ import annotations

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError, StorageError
from core.failures.selection import Selection, parse
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.errors import ERRORS, Coding, Detail, Reading, nearly
from dashboard.screens.errors_codes import adopted, codes_below, handled, hear, named, undone
from dashboard.screens.errors_statistics import select
from dashboard.widgets import selected
from dashboard.widgets.figure import caption, place
from dashboard.widgets.messages import problem
from dashboard.widgets.style import look, row_height

READER, CODES = "reader", "codes-part"
"""The parts that are drawn anew."""


def reader(shown: Analysis) -> None:
    """Show the list of selected sentences and the one that is read."""
    state.carried(state.AT)  # once: while keys are pressed the link is behind what the session knows
    st.fragment(_read, key=READER)(shown)


def elsewhere(shown: Analysis) -> None:
    """Show selected sentences that are no predictions of the split, such as training texts."""
    group, record = shown.selected.group, shown.table.record
    if not group or not group.texts:
        return
    key = f"elsewhere-{group.digest}"

    def look_at() -> None:
        """Look at the clicked sentence."""
        if rows := state.draft(key, {}).get("selection", {}).get("rows", []):
            selection.look_at(record, rows[0])

    labels = {"Is": group.labels} if any(group.labels) else {}
    st.dataframe(
        {"Sentence": group.texts, **labels},
        key=key,
        hide_index=True,
        row_height=row_height(),
        on_select=look_at,
        selection_mode="single-row",
        alt=f"Selected: {group.about}",
    )


def codes_part(shown: Analysis) -> None:
    """Show the codes of the selected sentences."""
    st.fragment(_coded, key=CODES)(shown)


def _coded(shown: Analysis) -> None:
    _whole_page()
    if text := state.take(state.CODES_REFUSED):
        problem("This was not written down", str(text))
    record = shown.table.record
    try:
        codes_below(shown, data.coded(record, state.author()), data.coded(record))
    except StorageError:
        caption("Codes cannot be read; the reader says why.")


def _whole_page() -> None:
    """Run the whole page again if a change in either part affects the rest."""
    if state.draft(state.REDRAW, False):
        state.forget(state.REDRAW)
        state.put(state.CHANGED, int(state.draft(state.CHANGED, 0)) + 1)
        st.rerun()


def _read(shown: Analysis) -> None:
    _whole_page()
    key, record = state.current(f"fig-{ERRORS.name}"), shown.table.record
    rest = state.draft(key, {}).get("rest") or {}
    known, without = _details(shown, [str(each) for each in rest.get("want", [])])
    around = None if rest.get("around") is None else int(rest["around"])
    said = _said(record)
    at, again = str(state.draft(state.AT, "")), int(state.draft(state.AGAIN, 0))
    reading = Reading(shown, at, known, without, said, again, undone=undone(), around=around)
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
        on_again_change=lambda: _hear(key, shown),
        on_named_change=lambda: named(key),
        on_order_change=lambda: _order(key),
        on_nearly_change=lambda: _nearly(shown),
    )
    if opened := state.draft(key, {}).get("open"):
        _open(shown, str(opened))


def _said(record: RunRecord) -> Coding | None:
    """Return the annotations that the author may see; None after showing why they cannot be read."""
    try:
        if adopted(data.codes(record), data.coded(record)):
            state.put(state.REDRAW, True)
            _whole_page()  # what this author may see is another
        coded = data.coded(record, state.author())
    except SentiscopeError as error:
        problem("Codes cannot be read", f"{error}. The sentences are shown without them.")
        return None
    changed, done = int(state.draft(state.CHANGED, 0)), str(state.draft(state.SAID_OF_CODES, ""))
    unnamed = state.draft(state.AUTHOR, None) == ""
    return Coding(
        coded, state.author(), handled(), changed, state.secret(), state.session(), unnamed=unnamed, done=done
    )


def _details(shown: Analysis, wanted: list[str]) -> tuple[dict[str, Detail], str]:
    """Return details of the requested rows, and why no word has an effect."""
    without = "" if data.weights_fingerprint(shown.table.record.run) else "This run has no weights: no word has a push."
    try:
        return (data.details(shown, wanted) if wanted else {}), without
    except RunDamaged as error:
        return {}, f"No word has a push: {error}"


def _rest(key: str) -> None:
    """Carry the row at which the reader rests, or send more rows near the end of those it has: a callback.

    A report that left before the reader heard of a change taken back does not lead away from the row of that change.
    """
    rest = state.draft(key, {}).get("rest") or {}
    if (at := rest.get("at")) and int(rest.get("undone") or 0) >= undone():
        state.carry(state.AT, str(at))
    _anew()


def _order(key: str) -> None:
    """Change the order of the list, which starts again at its beginning; a callback."""
    state.carry(state.ORDER, str((state.draft(key, {}).get("order") or {}).get("name") or ""))
    state.carry(state.AT, "")
    state.put(state.REDRAW, True)


def _nearly(shown: Analysis) -> None:
    """Select the sentences that are nearly wrong, where none is wrong; a callback."""
    state.carry(state.ORDER, "margin")
    select(shown, [*nearly(shown)])
    state.put(state.REDRAW, True)


def _hear(key: str, shown: Analysis) -> None:
    """Store codes and notes; a callback."""
    hear(key, shown)
    _anew()


def _anew() -> None:
    """Run these parts alone, and the part of the bar that shows the current sentence, if there is a bar.

    All callbacks end so: where one of several does not, the whole page is drawn, and a key that is pressed meanwhile is
    lost.
    """
    st.rerun([READER, CODES, *selected.following()])


def _open(shown: Analysis, key: str) -> None:
    """Open a row on Sentence, with the other rows of the list selected."""
    frame, table = shown.table.frame, shown.table
    if len(texts := frame["text"][frame["key"] == key]):
        selection.choose(table.record, Selection(parse(shown.select).rules, table.split), key=key)
        state.go(selection.SENTENCE, **{state.TEXT: str(texts.iloc[0])})
