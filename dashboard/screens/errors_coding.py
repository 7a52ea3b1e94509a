"""What the reader reports of codes and notes, written down; callbacks, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from core.exceptions import SentiscopeError
from dashboard import data, state
from dashboard.figures.analysis import Analysis


def handled() -> int:
    """The last report that was written down."""
    return int(state.draft(state.HANDLED, 0))


def named(key: str) -> None:
    """The browser knows who codes here."""
    if not state.author():
        state.put(state.AUTHOR, str((state.draft(key, {}).get("named") or {}).get("name") or "")[:60])
        state.put(state.REDRAW, True)  # what this one may see stands all over the page


def hear(key: str, shown: Analysis) -> None:
    """Write down what the reader reports: codes and notes, and what is taken back, in the order of their numbers.

    A report has all that the page has not confirmed yet, so one that is lost on the way loses nothing.
    """
    told: Mapping[str, Any] = state.draft(key, {})
    said: Mapping[str, Any] = told.get("coded") or {}
    reports = [(int(said.get("count", 0)), partial(_write, shown, said.get("rows") or {}))]
    reports += [(int(told.get("undo") or 0), partial(_undo, shown))]
    before = handled()
    try:
        for number, write in sorted(reports, key=itemgetter(0)):
            if number > before:
                state.put(state.HANDLED, number)
                write()
    except SentiscopeError as error:
        state.put(state.NOT_WRITTEN, str(error))


def _write(shown: Analysis, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """All that can be written; then what is refused, such as a code that somebody has renamed meanwhile, is raised."""
    codes, run, known = data.codes(shown.table.record), shown.table.record.run, set(shown.known.keys)
    refused: list[SentiscopeError] = []
    for key, each in rows.items():
        if key not in known:
            continue
        try:
            codes.note(key, str(each.get("note", "")), author=state.author(), run=run)
            codes.code([key], [str(name) for name in each.get("codes", ())], author=state.author(), run=run)
        except SentiscopeError as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _undo(shown: Analysis) -> None:
    """The last change of the author, and the row that it was of is read."""
    rows = data.codes(shown.table.record).undo(state.author())["rows"]
    if key := next((row["key"] for row in rows if row.get("key") in set(shown.known.keys)), ""):
        state.carry(state.AT, key)
