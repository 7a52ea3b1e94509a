"""Sentence: a typed text, what the model says, every head of every layer, and what changes when the inside does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import SentiscopeError
from core.interpret.unknown import unknown_note
from core.runs.record import RunRecord
from dashboard.data import data
from dashboard.figures.results import offered_text
from dashboard.figures.source import Source
from dashboard.screens.sentence_below import below_the_bench, has_maps
from dashboard.screens.sentence_edits import lever_board
from dashboard.screens.sentence_keep import keep_button
from dashboard.screens.sentence_label import looked_at, true_label
from dashboard.screens.sentence_maps import bench
from dashboard.screens.sentence_pinned import pin_button, pinned_line
from dashboard.screens.sentence_second import other_runs
from dashboard.screens.sentence_tried import remember, undo_and_redo
from dashboard.screens.sentence_waiting import bench_asked
from dashboard.screens.sentence_words import choose_target, word_strip
from dashboard.widgets.answer import answer
from dashboard.widgets.edits import asked
from dashboard.widgets.export import Table
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, stopped
from dashboard.widgets.runs import attends, chosen_run, facts
from dashboard.widgets.style import add_style, look
from dashboard.widgets.typed import begin, said_of_pairs, sentence_field

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView

QUESTION = "Which word decides, and through which part?"


def page() -> None:
    """One run, one text."""
    record = chosen_run("Sentence", QUESTION, purpose="A sentence is read and answered here")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Sentence", QUESTION, facts(record))
        empty(*_no_weights(record), "train")
        return
    header("Sentence", QUESTION, facts(record, attends(record)), low=True)
    begin(record, looked_at(record)[0] or offered_text(record))
    add_style("bench.css")
    _below(record, other_runs(record))


@st.fragment
def _below(record: RunRecord, others: Mapping[str, RunRecord]) -> None:
    """All below the head: a new text or a moved lever reruns this and not the app around it."""
    with st.container(key="bench", gap="xsmall"):
        line = st.container(key="typed", horizontal=True, vertical_alignment="center", gap="small")
        with line:
            text = sentence_field(record)
        said_of_pairs(record, text)
        try:
            _reading(record, others, text, line)
        except SentiscopeError as error:  # a rerun of this part alone does not pass through the app's own net
            stopped(error)


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
    if trained.tokens and not bench_asked(source, deep=has_maps(trained)):
        return
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
        keep_button(record, text, view)
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
