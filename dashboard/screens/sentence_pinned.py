"""A reading that is pinned: it stays in sight while sentence, run or levers are changed, and both are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import streamlit as st

from core.runs.record import RunRecord
from core.text.clusters import clipped
from core.text.direction import isolated
from dashboard import state
from dashboard.data import data
from dashboard.figures.contrast import describe_difference
from dashboard.figures.source import Source
from dashboard.screens.sentence_second import Beside, towards, two_readings
from dashboard.widgets.edits import made
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.messages import problem

KEYS = (state.PINNED_RUN, state.PINNED, state.PINNED_EDIT)
QUOTED = 90
"""Characters of the pinned sentence that are shown."""


@dataclass(frozen=True)
class Pin:
    """What the link says is pinned."""

    run: str
    text: str
    edit: str


def pinned() -> Pin | None:
    """None: nothing is."""
    run, text, edit = map(state.carried, KEYS)
    return Pin(run, text, edit) if run else None


def pin_button(source: Source) -> None:
    """Pins what is on screen, or lets go what was pinned."""
    there = pinned() is not None
    now = ("", "", "") if there else (source.record.run, source.text, source.edits.encode())
    with st.container(key="pin", width="content"):
        st.button(
            "Unpin" if there else "Pin",
            icon=":material/keep_off:" if there else ":material/keep:",
            key="pin-button",
            on_click=_pin,
            args=now,
            help="Let go what was pinned"
            if there
            else "Keep this reading beside the next ones: change sentence, run or levers, and see both",
        )


def _pin(*values: str) -> None:
    for key, value in zip(KEYS, values, strict=True):
        state.carry(key, value)


def _source(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    """What is pinned, towards the same class; None where nothing is, or its run is gone."""
    pin = pinned()
    record = None if pin is None else source.record if pin.run == source.record.run else others.get(pin.run)
    if pin is None or record is None:
        return None
    edits, _, _ = made(record, data.sentence(pin.run, pin.text), pin.edit)
    return Source(record, data, text=pin.text, edits=edits, choices=towards(source, record))


def pinned_line(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    """What is pinned and how this answer differs from it, below the answer; gives what is pinned."""
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
    """The section; gives the pinned reading for the table of answers, and what differs."""
    asked = pinned()
    if asked is None:
        return Beside()
    heading("Beside what is pinned", "pinned", note="this reading, and the pinned one")
    if pin is None:
        problem(f"There is no run “{asked.run}” to compare with", "It was renamed or removed. Unpin it.")
        return Beside()
    if _same(source, pin):
        caption("This is what is pinned. Change the sentence, the run or a lever: both stand here then.")
        return Beside()
    return two_readings(source, pin, "pinned", "pinned")
