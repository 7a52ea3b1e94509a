"""Sentence: a typed text, what the model says, every head of every layer, and what changes when the inside does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from core.interpret.unknown import unknown_note
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.baselines import reads_without
from dashboard.figures.numbers import count
from dashboard.figures.offer import SENTENCE
from dashboard.figures.parts import token_table
from dashboard.figures.sentence import attention_table, prediction_table, subtracts
from dashboard.figures.source import Source
from dashboard.screens.sentence_belief import may_i_believe_it
from dashboard.screens.sentence_distance import reach_of_negation
from dashboard.screens.sentence_edits import asked, lambda_bench, lever_board, unknown_words
from dashboard.screens.sentence_flip import what_would_change
from dashboard.screens.sentence_maps import bench, more_maps
from dashboard.screens.sentence_methods import side_by_side
from dashboard.screens.sentence_mix import mixture
from dashboard.screens.sentence_parts import OF_WORDS, PLACED, other_parts
from dashboard.screens.sentence_patching import from_another
from dashboard.screens.sentence_pinned import beside_the_pin, pin_button, pinned_line
from dashboard.screens.sentence_rows import chosen_rows, true_label
from dashboard.screens.sentence_second import other_runs, second_run
from dashboard.screens.sentence_tried import remember, tried_sentences, undo_and_redo
from dashboard.screens.sentence_words import choose_target, word_strip
from dashboard.widgets.answer import answer
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, problem
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView

QUESTION = "Which word decides, and through which part?"
STOPPED = "This page cannot continue"
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
    trained, minus = data.sentence(record.run, text), subtracts(record)
    tables = dict[str, Table]()
    if note := unknown_note(trained.unknown_words):
        finding("Few of these words are known", note)
    edits, parts, view = asked(record, text, trained)
    remember(record, text, edits, view)
    answered = _in_sight(record, text, view, trained if edits else None)
    source = Source(record, data, text=text, edits=edits)
    deep = bool(trained.layers and trained.tokens and not trained.too_long)
    slow: list[tuple[DeltaGenerator, Callable[[], dict[str, pd.DataFrame]]]] = []
    with line:
        if trained.tokens:
            choose_target(source)
        undo_and_redo()
        pin_button(source)
    with answered:
        pin = pinned_line(source, others)
    if deep:
        found, levers = bench(source)
        tables |= found
        slow.append((levers, partial(lever_board, source, parts)))
    elif trained.tokens:
        tables |= word_strip(source)
    with st.container(key="below"):
        mixture(record, edits, trained, view)
        if trained.tokens:
            tables |= what_would_change(source)
            slow += [(st.container(), partial(each, source)) for each in (side_by_side, may_i_believe_it)]
        if deep:
            unknown_words(edits, trained)
            tables |= lambda_bench(source)
            more_maps(source)
            tables |= from_another(source)
            tables["Attention"] = partial(attention_table, view, minus, edits, trained)
        else:
            _nothing_inside(record, trained)
        if trained.tokens:
            tables |= other_parts(source)
        reached = reach_of_negation(record, others, text)
        tables |= reached
        beside, differences = _beside(source, others, pin)
        columns = _answers(view, trained if edits else None, beside)
        tables |= differences
        tables |= _tokens(trained) | tried_sentences()
        drawn = deep or bool(reached) or any(figure.there(source) for figure in PLACED if figure not in OF_WORDS)
        end = st.container()
    for place, draw in slow:  # they ask the model many times: all else is there by then
        with place:
            tables |= draw()
    with end:
        export_bar("sentence", {"Prediction": prediction_table(columns), **tables}, figures=drawn)


def _in_sight(record: RunRecord, text: str, view: SentenceView, before: SentenceView | None) -> DeltaGenerator:
    """The answer, which stays where it is while the rest scrolls; gives the place below it."""
    with st.container(key="answer", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(gap="xxsmall")
        with place:
            answer(record, view, look(), before=before)
        true_label(record, text, view)
    return place


def _beside(
    source: Source, others: Mapping[str, RunRecord], pin: Source | None
) -> tuple[dict[str, SentenceView], dict[str, pd.DataFrame]]:
    """This reading beside the pinned one and beside a second run's: these by name, and the tables of differences."""
    pinned, gaps = beside_the_pin(source, pin)
    second, more = second_run(source, others)
    return pinned | second, gaps | more


def _answers(
    view: SentenceView, trained: SentenceView | None, beside: Mapping[str, SentenceView]
) -> dict[str, dict[str, float]]:
    """Each column of the table of answers: this one, as trained, its parts where it is mixed, other runs."""
    columns = {"probability": view.probabilities} | ({} if trained is None else {"as trained": trained.probabilities})
    if view.mix:
        columns |= {"network alone": view.mix.network, "TF-IDF alone": view.mix.tfidf}
    return columns | {name: other.probabilities for name, other in beside.items()}


def _tokens(trained: SentenceView) -> dict[str, pd.DataFrame]:
    known = token_table(trained)
    return {"Tokens": known} if len(known.columns) > NOTHING_KNOWN else {}


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
