"""Undo and redo of changes on the Sentence page, and the list of all sentences tried in this visit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.formatting import number
from core.interpret.model_edits import Edits
from core.models.presets import PAPERS
from core.papers.reported_results import PAPER_SENTENCES
from core.runs.record import RunRecord
from core.text.graphemes import clip_text, wrap_bidi
from dashboard import state
from dashboard.widgets.figure import show_caption, show_heading
from dashboard.widgets.messages import escape_label

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence_inspection import SentenceView

NOTE = "Only from this visit. Click one to restore sentence, run and changes."
QUOTED = 90  # most characters of a shown sentence

PAUSE = 2.0
"""Seconds; shorter pauses while typing, or while moving the same slider, do not start a new step."""
MOST = 40


@dataclass(frozen=True)
class TriedSentence:
    """A sentence tried on the Sentence page, with run, model edits and prediction; equality ignores the prediction."""

    run: str
    text: str
    edit: str
    answer: str = field(default="", compare=False)
    chance: float = field(default=math.nan, compare=False)
    changed: str = field(default="", compare=False)


@dataclass(frozen=True)
class EditHistory:
    """The undo steps of a visitor on the Sentence page, and every sentence that the visitor has tried."""

    steps: tuple[TriedSentence, ...] = ()
    """The oldest first."""
    at: int = -1
    tried: tuple[TriedSentence, ...] = ()
    """Distinct sentences with a word, the last one first."""
    touched: float = -math.inf

    def add_state(self, now: TriedSentence, seconds: float) -> EditHistory:
        """Return the undo history with the current sentence, run and edits added; `seconds`: time of a steady clock."""
        if self.steps and now == self.steps[self.at]:
            return self
        last, tried = self.at + 1, self.tried
        if self._is_same_change(now, seconds):
            last, tried = self.at, tuple(each for each in tried if each != self.steps[self.at])
        steps = (*self.steps[:last], now)[-MOST:]
        if now.text.strip():
            tried = (now, *(each for each in tried if each != now))[:MOST]
        return EditHistory(steps, len(steps) - 1, tried, seconds)

    def _is_same_change(self, now: TriedSentence, seconds: float) -> bool:
        """Return whether an edit continues the last undo step: the same kind of change shortly after it."""
        if seconds - self.touched >= PAUSE or self.at < 1 or self.at + 1 < len(self.steps):
            return False
        before, last = self.steps[self.at - 1 : self.at + 1]
        return _describe_change(before, last) == _describe_change(last, now)

    def move_by(self, by: int) -> EditHistory:
        """Return the undo history moved by a number of steps, forwards or backwards, within its ends."""
        return replace(self, at=min(max(self.at + by, 0), len(self.steps) - 1), touched=-math.inf)

    @property
    def can_undo(self) -> bool:
        """Return whether the undo history has an earlier step."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Return whether the undo history has a later step, which redo would restore."""
        return self.at + 1 < len(self.steps)

    def clear_steps(self) -> EditHistory:
        """Return the undo history with the current step only; earlier and later steps are dropped."""
        return EditHistory(self.steps[self.at : self.at + 1], min(self.at, 0))


def _describe_change(before: TriedSentence, now: TriedSentence) -> tuple[bool, bool, frozenset[str]]:
    levers = set(before.edit.split(",")) ^ set(now.edit.split(","))
    return before.run != now.run, before.text != now.text, frozenset(each.partition(":")[0] for each in levers if each)


def remember_state(record: RunRecord, text: str, edits: Edits, view: SentenceView) -> None:
    """Add the current run, sentence, model edits and prediction to the visitor's undo history."""
    now = TriedSentence(
        record.run, text, edits.encode_line(), view.label, view.probabilities[view.label], edits.describe_changes()
    )
    state.set_value(state.PAST, _get_history().add_state(now, monotonic()))


def show_undo_buttons() -> None:
    """Show the undo and redo buttons of the Sentence page; Ctrl Alt Z and Ctrl Alt Y press them."""
    past = _get_history()
    with st.container(key="undo", horizontal=True, gap="xxsmall", wrap=False, width="content"):
        for key, icon, about, by, there in (
            ("Z", "undo", "Undo the last change of sentence, parts or run", -1, past.can_undo),
            ("Y", "redo", "Redo it", 1, past.can_redo),
        ):
            press: dict[str, Any] = {"icon": f":material/{icon}:", "shortcut": f"Mod+Alt+{key}", "disabled": not there}
            help_text, act = f"{about} (Ctrl Alt {key})", partial(_move_by, by)
            if st.button(icon.capitalize(), f"tried-{icon}", help_text, act, **press):
                st.rerun()


def show_tried() -> dict[str, pd.DataFrame]:
    """Show the sentences tried in this visit as buttons that restore them; return their table for the export."""
    tried = _get_history().tried
    if not tried:
        return {}
    show_heading("Recent sentences", "tried", note="newest first")
    with st.container(key="tried", gap="xxsmall", height=320 if len(tried) > 6 else "content"):
        for place, each in enumerate(tried):
            title, act = escape_label(_format_state(each)), partial(_restore_state, each)
            if st.button(title, f"tried-{place}", type="tertiary", on_click=act):
                st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Clear", key="tried-clear", on_click=state.set_value, args=(state.PAST, _get_history().clear_steps()))
        show_caption(NOTE)
    import pandas as pd

    names = {"run": "run", "text": "text", "changed": "changed", "answer": "answer", "probability": "chance"}
    rows = [{name: getattr(each, own) for name, own in names.items()} for each in tried]
    return {"Tried sentences": pd.DataFrame(rows)}


def show_paper_sentences() -> dict[str, pd.DataFrame]:
    """Show sentences about what the papers discuss as buttons that put them into the text field."""
    show_heading("Sentences of the papers", "paper-sentences", note="ours where the paper's are long")
    with st.container(key="paper-sentences", gap="xxsmall"):
        for place, each in enumerate(PAPER_SENTENCES):
            label = f"{each.text} ({PAPERS[each.paper]}, {each.place}: {each.shows}{', ours' if each.ours else ''})"
            taken: dict[str, Any] = {"on_click": state.set_value, "args": (state.TEXT, each.text)}
            if st.button(escape_label(label), f"paper-sentence-{place}", type="tertiary", **taken):
                st.rerun()
    return {}


def _get_history() -> EditHistory:
    past: EditHistory = state.get_value(state.PAST, EditHistory())
    return past


def _move_by(by: int) -> None:
    past = _get_history().move_by(by)
    state.set_value(state.PAST, past)
    _restore_state(past.steps[past.at])


def _restore_state(tried: TriedSentence) -> None:
    state.set_value(state.TEXT, tried.text)
    state.set_param(state.EDIT, tried.edit)
    if tried.run != state.get_run():
        state.choose_run(tried.run)


def _format_state(tried: TriedSentence) -> str:
    text = wrap_bidi(clip_text(tried.text, QUOTED))
    about = "; ".join(filter(None, (tried.run, tried.changed)))
    return f"{text} — {tried.answer} {number(tried.chance)} ({about})"
