"""Sentence: a typed text, what the model says, every head of every layer, and what changes when the inside does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from core.interpret.unknown import unknown_note
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.baselines import reads_without
from dashboard.figures.edits import learned
from dashboard.figures.numbers import count
from dashboard.figures.offer import SENTENCE
from dashboard.figures.parts import token_table
from dashboard.figures.sentence import attention_table, prediction_table, subtracts
from dashboard.figures.source import Source
from dashboard.screens.sentence_edits import changed, what_if
from dashboard.screens.sentence_maps import inside
from dashboard.screens.sentence_parts import PLACED, other_parts
from dashboard.screens.sentence_second import other_runs, second_run
from dashboard.widgets.answer import answer
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, problem
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

QUESTION = "What does the model say, and what does each head read?"
NOTHING_KNOWN = 2
"""Columns of a table of tokens that says nothing but the tokens."""
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
    header("Sentence", QUESTION, facts(record, about))
    state.initial(state.TEXT, SENTENCE)
    _below(record, other_runs(record))


@st.fragment
def _below(record: RunRecord, others: Mapping[str, RunRecord]) -> None:
    """All below the head: a new text or a moved slider reruns this and not the app around it."""
    text = st.text_input(
        "Sentence",
        key=state.TEXT,
        bind="query-params",
        live=True,
        max_chars=LONGEST,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )
    try:
        _reading(record, others, text or "")
    except RunDamaged as error:
        problem("This page cannot continue", f"{error}\nBring the file back, or choose another run in the sidebar.")
    except SentiscopeError as error:  # a rerun of this part alone does not pass through the app's own net
        problem("This page cannot continue", str(error))


def _reading(record: RunRecord, others: Mapping[str, RunRecord], text: str) -> None:
    trained, minus = data.sentence(record.run, text), subtracts(record)
    columns, tables = {"probability": trained.probabilities}, dict[str, Table]()
    if note := unknown_note(trained.unknown_words):
        finding("Few of these words are known", note)
    deep = bool(trained.layers and trained.tokens and not trained.too_long)
    if deep:
        edits, parts, view = changed(record, text, trained)
        source = Source(record, data, text=text, edits=edits)
        inside(source)
        tables |= other_parts(source)
        what_if(record, edits, parts, learned(trained, minus), trained, view)
        beside = second_run(record, others, text, view, edits)
        if edits:
            columns = {"probability": view.probabilities, "as trained": trained.probabilities}
        tables["Attention"] = partial(attention_table, view, minus, edits, trained)
    else:
        answer(record, trained, look())
        _nothing_inside(record, trained)
        if trained.tokens and (trained.too_long or not trained.layers):
            tables |= other_parts(Source(record, data, text=text))
        beside = second_run(record, others, text, trained)
    columns |= {name: other.probabilities for name, other in beside.items()}
    known = token_table(trained)
    tables |= {"Tokens": known} if len(known.columns) > NOTHING_KNOWN else {}
    drawn = deep or any(figure.there(Source(record, data, text=text)) for figure in PLACED)
    export_bar("sentence", {"Prediction": prediction_table(columns), **tables}, figures=drawn)


def _nothing_inside(record: RunRecord, view: SentenceView) -> None:
    if view.too_long:
        finding(
            f"A text of {count(len(view.tokens))} tokens is too long for maps",
            "Each token sees only its neighbours and a few others here, so a map of all pairs would be nearly empty. "
            "Type a shorter text to see maps.",
        )
    elif view.layers:
        finding("There is no word here to look into", "The bar shows what the model says of an empty text.")
    else:
        finding(
            f"{record.preset} has no attention to look into",
            f"{reads_without(record.config.model.family, 'heads and layers')} "
            "Choose another run in the sidebar to see maps.",
        )


def _no_weights(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run has not learned anything yet", "It can be asked after its first epoch.", "Watch it learn"
    return (
        "This run has no weights",
        f"Without them no new sentence can be read; its curves and metrics are still there. {record.reason}",
        "Train a model",
    )


page()
