"""The class's counter-examples below the suite: what runs say of them today, where each was found, taking one out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import SentiscopeError
from core.failures.counter_examples import Answer, CounterExample, remove_example
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.counterfactuals import COUNTER_EXAMPLES, ClassList, inner_link
from dashboard.widgets.figure import anchor, caption, heading_of, place
from dashboard.widgets.messages import problem
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd

MOST = 500
"""Of the list that are shown and asked about; the file has all."""
LOOK_AGAIN = 5.0
"""Seconds after which the page looks whether somebody kept another one."""


def way_to_examples() -> None:
    """Show a link to the list further down, where there is one."""
    if n := len(data.examples()):
        said = "1 counter-example" if n == 1 else f"{count(n)} counter-examples"
        st.html(
            f'<p class="s-cap"><a href="#{anchor(COUNTER_EXAMPLES.name)}" target="_self">{said} of the class</a></p>'
        )


def class_list(record: RunRecord, beside: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Show the list; return its table for the export."""
    kept = data.examples()
    st.fragment(_notice, run_every=LOOK_AGAIN)(_state(kept))
    if text := state.take(state.EXAMPLE_PROBLEM):
        problem("It was not taken out", str(text))
    if not kept:
        heading_of(COUNTER_EXAMPLES)
        caption("None are kept yet. Type a sentence that the model gets wrong, and press Keep beside its answer.")
        if st.button("Try to break it", icon=":material/notes:", key="try-to-break"):
            state.go(selection.SENTENCE)
        return {}
    rows = kept[:MOST]
    shown = ClassList(rows, _said([record.run, *beside], rows), record.run, len(kept))
    # A name of its own for each state of the list: a chosen row is a place, where another sentence may stand now.
    name = f"{COUNTER_EXAMPLES.name}-{_state(rows)}"
    key, reading = f"fig-{name}", str(COUNTER_EXAMPLES.reading)
    heading_of(COUNTER_EXAMPLES, shown)
    event = place(
        COUNTER_EXAMPLES.draw(shown, look()),
        name,
        COUNTER_EXAMPLES.alternative(shown, COUNTER_EXAMPLES.say(COUNTER_EXAMPLES.note, shown), reading),
        on_select=lambda: _take(record, rows, state.rows_of(key), key),
        selection_mode="single-row",
    )
    caption(reading)
    if places := [at for at in event["selection"]["rows"] if at < len(rows)]:
        _opened(record, rows[places[0]])
    return COUNTER_EXAMPLES.numbers(shown)


def _said(runs: Sequence[str], rows: Sequence[CounterExample]) -> dict[str, list[Answer]]:
    found = {}
    for run in runs:
        try:
            found[run] = data.answers(run, rows)
        except SentiscopeError as error:
            problem(f"{run} cannot be asked", str(error))
    return found


def _take(record: RunRecord, rows: Sequence[CounterExample], places: Sequence[int], key: str) -> None:
    labels = [each.ought if set(each.labels) <= set(record.classes) else "" for each in rows]
    about, at = "counter-examples of the class", places[0] if places else None
    selection.choose_sentences(record, [each.text for each in rows] if places else [], labels, about, at=at, by=key)


def _opened(record: RunRecord, one: CounterExample) -> None:
    with st.container(key="counter-example"):
        said = " · ".join(filter(None, (f"ought to be {one.ought}", one.note, one.author, one.time[:10])))
        st.html(f'<div class="s-sel"><b>{escape(one.text)}</b> <span>{escape(said)}</span></div>', width="stretch")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if st.button("Look inside with this run", icon=":material/notes:", key="example-inside"):
                state.go(selection.SENTENCE, **{state.TEXT: one.text})
            if link := inner_link(one.link):
                st.html(f'<a href="{escape(link)}" target="_self">As it was found</a>', width="content")
            with st.popover("Remove", type="tertiary", key="example-remove"):
                st.html('<p class="s-cap">It leaves the list of everybody; trainings that took it along keep it.</p>')
                st.button("Take it out", key="example-gone", on_click=_remove, args=(one.id,))


def _remove(name: str) -> None:
    with state.refusals(state.EXAMPLE_PROBLEM):
        remove_example(data.store().folder, name, str(state.draft(state.AUTHOR, "")))


def _state(rows: Sequence[CounterExample]) -> str:
    return fingerprint([(each.id, each.time) for each in rows])[:12]


def _notice(before: str) -> None:
    if _state(data.examples()) != before:
        st.rerun()
