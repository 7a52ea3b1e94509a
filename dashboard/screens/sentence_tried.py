"""History of this visit: undo and redo, and every tried sentence with a way back to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.interpret.edits import Edits
from core.numbers import number
from core.runs.record import RunRecord
from core.text.clusters import clipped, isolated
from dashboard import state
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.messages import literal

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView

NOTE = "Of this visit only: no link and no file has them. A click brings back the sentence, the run and the levers."
QUOTED = 90  # characters of a sentence that are shown


PAUSE = 2.0
"""Seconds; what stays for less while one types, or moves the same lever, is no step of its own."""
MOST = 40


@dataclass(frozen=True)
class Tried:
    """A tried sentence with its run, its edits, and the prediction, which comparisons ignore."""

    run: str
    text: str
    edit: str
    answer: str = field(default="", compare=False)
    chance: float = field(default=math.nan, compare=False)
    changed: str = field(default="", compare=False)


@dataclass(frozen=True)
class Past:
    """The history of a visitor: the steps that undo goes back through, and every sentence that was read."""

    steps: tuple[Tried, ...] = ()
    """The oldest first."""
    at: int = -1
    tried: tuple[Tried, ...] = ()
    """Sentences with a word, the last one first, each once."""
    touched: float = -math.inf

    def then(self, now: Tried, seconds: float) -> Past:
        """Return this history with the current state, at `seconds` of a clock that only rises."""
        if self.steps and now == self.steps[self.at]:
            return self
        last, tried = self.at + 1, self.tried
        if self._goes_on(now, seconds):
            last, tried = self.at, tuple(each for each in tried if each != self.steps[self.at])
        steps = (*self.steps[:last], now)[-MOST:]
        if now.text.strip():
            tried = (now, *(each for each in tried if each != now))[:MOST]
        return Past(steps, len(steps) - 1, tried, seconds)

    def _goes_on(self, now: Tried, seconds: float) -> bool:
        """Return whether this is the same change as the last step, without a pause."""
        if seconds - self.touched >= PAUSE or self.at < 1 or self.at + 1 < len(self.steps):
            return False
        before, last = self.steps[self.at - 1 : self.at + 1]
        return _change(before, last) == _change(last, now)

    def moved(self, by: int) -> Past:
        """Return this history moved on by so many steps, or back."""
        return replace(self, at=min(max(self.at + by, 0), len(self.steps) - 1), touched=-math.inf)

    @property
    def back(self) -> bool:
        """Return whether there is anything to undo."""
        return self.at > 0

    @property
    def forth(self) -> bool:
        """Return whether there is anything to do again."""
        return self.at + 1 < len(self.steps)

    def cleared(self) -> Past:
        """Return a history of the current state only."""
        return Past(self.steps[self.at : self.at + 1], min(self.at, 0))


def _change(before: Tried, now: Tried) -> tuple[bool, bool, frozenset[str]]:
    levers = set(before.edit.split(",")) ^ set(now.edit.split(","))
    return before.run != now.run, before.text != now.text, frozenset(each.partition(":")[0] for each in levers if each)


def remember(record: RunRecord, text: str, edits: Edits, view: SentenceView) -> None:
    """Add the current state to the history."""
    now = Tried(record.run, text, edits.encode(), view.label, view.probabilities[view.label], edits.words())
    state.put(state.PAST, _past().then(now, monotonic()))


def undo_and_redo() -> None:
    """Show the buttons of undo and redo; Ctrl Alt Z and Ctrl Alt Y press them."""
    past = _past()
    with st.container(key="undo", horizontal=True, gap="xxsmall", wrap=False, width="content"):
        for key, icon, about, by, there in (
            ("Z", "undo", "Undo the last change of sentence, levers or run", -1, past.back),
            ("Y", "redo", "Do it again", 1, past.forth),
        ):
            press: dict[str, Any] = {"icon": f":material/{icon}:", "shortcut": f"Mod+Alt+{key}", "disabled": not there}
            help_text, act = f"{about} (Ctrl Alt {key})", partial(_move, by)
            if st.button(icon.capitalize(), f"tried-{icon}", help_text, act, **press):
                st.rerun()


def tried_sentences() -> dict[str, pd.DataFrame]:
    """Show the sentences tried in this visit; return their table."""
    tried = _past().tried
    if not tried:
        return {}
    heading("Tried sentences", "tried", note="newest first")
    with st.container(key="tried", gap="xxsmall", height=320 if len(tried) > 6 else "content"):
        for place, each in enumerate(tried):
            if st.button(literal(_line(each)), f"tried-{place}", type="tertiary", on_click=partial(_show, each)):
                st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Clear", key="tried-clear", on_click=state.put, args=(state.PAST, _past().cleared()))
        caption(NOTE)
    import pandas as pd

    names = {"run": "run", "text": "text", "changed": "changed", "answer": "answer", "probability": "chance"}
    rows = [{name: getattr(each, own) for name, own in names.items()} for each in tried]
    return {"Tried sentences": pd.DataFrame(rows)}


def _past() -> Past:
    past: Past = state.draft(state.PAST, Past())
    return past


def _move(by: int) -> None:
    past = _past().moved(by)
    state.put(state.PAST, past)
    _show(past.steps[past.at])


def _show(tried: Tried) -> None:
    state.put(state.TEXT, tried.text)
    state.carry(state.EDIT, tried.edit)
    if tried.run != state.run():
        state.choose_run(tried.run)


def _line(tried: Tried) -> str:
    text = isolated(clipped(tried.text, QUOTED))
    about = "; ".join(filter(None, (tried.run, tried.changed)))
    return f"{text} — {tried.answer} {number(tried.chance)} ({about})"
