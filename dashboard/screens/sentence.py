"""Sentence: a typed text, what the model says, every head of every layer, and what changes when the inside does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from core.interpret.unknown import unknown_note
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.offer import SENTENCE
from dashboard.figures.source import Source
from dashboard.screens.sentence_below import below_the_bench, has_maps
from dashboard.screens.sentence_edits import asked, lever_board
from dashboard.screens.sentence_maps import bench
from dashboard.screens.sentence_pinned import pin_button, pinned_line
from dashboard.screens.sentence_rows import chosen_rows, true_label
from dashboard.screens.sentence_second import other_runs
from dashboard.screens.sentence_tried import remember, undo_and_redo
from dashboard.screens.sentence_words import choose_target, word_strip
from dashboard.widgets.answer import answer
from dashboard.widgets.export import Table
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, problem
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView

QUESTION = "Which word decides, and through which part?"
STOPPED = "This page cannot continue"
LONGEST = 20_000
"""Characters: a text of 2,000 words has about 12,000."""


def page() -> None:
    """One run, one text."""
    record = chosen_run("Sentence", QUESTION, purpose="A sentence is read and answered here")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Sentence", QUESTION, facts(record))
        empty(*_no_weights(record), "train")
        return
    attention, shape = record.config.model.attention, record.config.model
    attends = "maps" in provides(shape)
    about = (f"{shape.layers} layers", f"of {attention.heads} heads") if attends else ("no attention", "")
    header("Sentence", QUESTION, facts(record, about), low=True)
    state.initial(state.TEXT, SENTENCE)
    _below(record, other_runs(record))


@st.fragment
def _below(record: RunRecord, others: Mapping[str, RunRecord]) -> None:
    """All below the head: a new text or a moved lever reruns this and not the app around it."""
    with st.container(key="bench", gap="xsmall"):
        line = st.container(key="typed", horizontal=True, vertical_alignment="center", gap="small")
        with line:
            text = st.text_input(
                "Sentence",
                key=state.TEXT,
                bind="query-params",
                live=True,
                max_chars=LONGEST,
                label_visibility="collapsed",
                placeholder="Type a sentence",
            )
            chosen_rows(text or "")
        try:
            _reading(record, others, text or "", line)
        except RunDamaged as error:
            problem(STOPPED, f"{error}\nBring the file back, or choose another run in the sidebar.")
        except SentiscopeError as error:  # a rerun of this part alone does not pass through the app's own net
            problem(STOPPED, str(error))


def _reading(record: RunRecord, others: Mapping[str, RunRecord], text: str, line: DeltaGenerator) -> None:
    trained = data.sentence(record.run, text)
    tables = dict[str, Table]()
    if note := unknown_note(trained.unknown_words):
        finding("Few of these words are known", note)
    edits, parts, view = asked(record, text, trained)
    remember(record, text, edits, view)
    answered = _in_sight(record, text, view, trained if edits else None)
    source = Source(record, data, text=text, edits=edits)
    with line:
        if trained.tokens:
            choose_target(source)
        undo_and_redo()
        pin_button(source)
    with answered:
        pin = pinned_line(source, others)
    if has_maps(trained):
        found, levers = bench(source)
        tables |= found
        with levers:
            tables |= lever_board(source, parts)
    elif trained.tokens:
        tables |= word_strip(source)
    below_the_bench(source, trained, others, pin, tables)


def _in_sight(record: RunRecord, text: str, view: SentenceView, before: SentenceView | None) -> DeltaGenerator:
    """The answer, which stays where it is while the rest scrolls; gives the place below it."""
    with st.container(key="answer", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(gap="xxsmall")
        with place:
            answer(record, view, look(), before=before)
        true_label(record, text, view)
    return place


def _no_weights(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run has not learned anything yet", "It can be asked after its first epoch.", "Watch it learn"
    return (
        "This run has no weights",
        f"Without them no new sentence can be read; its curves and metrics are still there. {record.reason}",
        "Train a model",
    )


page()
