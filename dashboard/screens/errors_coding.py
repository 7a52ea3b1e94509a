"""What the reader reports of codes and notes, written down; callbacks, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from core.data.findings import plural
from core.exceptions import SentiscopeError, StorageError
from core.failures.coded import Coded
from core.failures.codes import Codes
from core.failures.names import has_name
from core.text.direction import quoted
from dashboard import state
from dashboard.data import data
from dashboard.figures.analysis import Analysis

Step = tuple[int, Callable[[], None]]
"""The number of a change, and what writes it down."""


def handled() -> int:
    """The last report that was written down."""
    return int(state.draft(state.HANDLED, 0))


def undone() -> int:
    """Return the number of the report that last moved the reader by taking a change back; 0: none has."""
    return int(state.draft(state.UNDONE, 0))


def named(key: str) -> None:
    """The browser knows who codes here."""
    if not has_name(state.author()):
        state.put(state.AUTHOR, str((state.draft(key, {}).get("named") or {}).get("name") or "")[:60])
        state.clear(state.AUTHOR_FIELD)
        state.put(state.REDRAW, True)  # what this one may see stands all over the page


def adopted(codes: Codes, everything: Coded) -> bool:
    """Let what this visitor said before there was a name be said under it; whether there was any."""
    name, visitor = state.author(), state.visitor()
    said = has_name(name) and any(visitor in each for each in (*everything.given.values(), *everything.notes.values()))
    return said and codes.adopt(visitor, name)


def hear(key: str, shown: Analysis) -> None:
    """Write down what the reader reports: what it gave, took off, noted and took back, in the order of their numbers.

    A report has all that the page has not confirmed yet, so one that is lost on the way loses nothing; what was
    confirmed is not done twice. What cannot be stored stops all that came after it, and the reader reports again.
    """
    told: Mapping[str, Any] = state.draft(key, {})
    # What was told to a session before this one is done, or is told to this one again.
    said, taken = (each if each.get("session") == state.session() else {} for each in _reports(told))
    undo, before = int(taken.get("count") or 0), handled()
    steps: list[Step] = [*_steps(shown, said.get("rows") or {}), (undo, partial(_undo, shown, undo))]
    refused = ""
    if any(number > before for number, _ in steps):
        state.put(state.SAID_OF_CODES, "")
    for number, write in sorted(steps, key=itemgetter(0)):
        if number <= before:
            continue
        try:
            write()
        except StorageError as error:
            state.put(state.NOT_WRITTEN, f"{error}. It is kept in this browser and tried again.")
            state.put(state.AGAIN, int(state.draft(state.AGAIN, 0)) + 1)
            return
        except SentiscopeError as error:  # such as a code that somebody has renamed meanwhile
            refused = refused or str(error)
        state.put(state.HANDLED, number)
    state.put(state.HANDLED, max(before, undo, int(said.get("count") or 0)))
    state.put(state.AGAIN, 0)
    if refused:
        state.put(state.NOT_WRITTEN, refused)


def _reports(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What was coded, and what was taken back."""
    for name in ("coded", "undo"):
        yield told.get(name) or {}


def _steps(shown: Analysis, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Step]:
    """Each code that was given or taken off, and each note."""
    codes, run, known = data.codes(shown.table.record), shown.table.record.run, set(shown.known.keys)
    for key, each in rows.items():
        if key not in known:
            continue
        for name, (given, number) in (each.get("codes") or {}).items():
            yield int(number), partial(codes.give, [key], [name], off=not given, author=state.author(), run=run)
        if note := each.get("note"):
            text, number, goes_on = note
            yield (
                int(number),
                partial(codes.note, key, str(text), author=state.author(), run=run, goes_on=bool(goes_on)),
            )


def _undo(shown: Analysis, number: int) -> None:
    """Take back the last change of the author, and move the reader to its row; `number` is of the report."""
    found = data.codes(shown.table.record).undo(state.author())
    state.put(state.SAID_OF_CODES, f"Taken back: {in_words(shown, found['said'])}")
    known = set(shown.known.keys)
    if key := next((row["key"] for row in found["rows"] if row.get("key") in known), ""):
        state.carry(state.AT, key)
        state.put(state.UNDONE, number)


def in_words(shown: Analysis, said: str) -> str:
    """A change as the history has it, with the beginning of the sentence in the place of its key."""
    what, row, key = said.rpartition("row ")
    if not row or key not in shown.known.keys:
        return said
    text = str(shown.table.frame["text"].iloc[shown.known.keys.index(key)])
    return f"{what}{quoted(text, 40)}"


def give_all(codes: Codes, shown: Analysis, keys: list[str], name: str, *, off: bool) -> None:
    """A callback: one code to all selected sentences or from them, as one change."""
    try:
        codes.give(keys, [name], off=off, author=state.author(), run=shown.table.record.run)
    except SentiscopeError as error:
        state.put(state.NOT_WRITTEN, str(error))
        return
    word = "taken from" if off else "given to"
    state.put(state.SAID_OF_CODES, f"{name} {word} {plural(len(keys), 'sentence')}; u takes that back")
    state.put(state.REDRAW, True)
