"""The bench of Sentence: words, heads, maps, levers and λ, computed before they are drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from core.interpret.edits import UNCHANGED, Editable, Edits
from core.models.provides import provides
from core.numbers import count
from core.text.clusters import clipped, isolated
from dashboard import state
from dashboard.data import data
from dashboard.figures.ablation_levers import LEVERS, MEAN, SILENT
from dashboard.figures.heads import COEFFICIENTS, FROM, GRID, HEAD_VIEW, HEADS, LAYER, MAP, SCALE, Lines, layer
from dashboard.figures.lambda_bench import LAMBDA_BENCH
from dashboard.figures.sentence import special_places
from dashboard.figures.source import Source, Span
from dashboard.figures.words import TOWARDS, WORDS, target
from dashboard.reader.models import Wanted
from dashboard.widgets.figure import caption, show_bare, show_of, show_tables
from dashboard.widgets.messages import finding, literal
from dashboard.widgets.options import asked, choose
from dashboard.widgets.waiting import waited

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView


QUOTED = 80
NOTE = (
    "A picture of attention is not an explanation: a head may read a word that does not change the answer. "
    "Pull a lever, and see whether it does."
)


def bench(source: Source) -> tuple[dict[str, pd.DataFrame], DeltaGenerator]:
    """Show the words and the attention between them; return their tables and the place of the levers."""
    words = st.container()
    with st.container(key="pair-bench"):
        left, right = st.columns([1.22, 1], gap="medium")
    asked(SCALE, source)
    with left:
        with st.container(key="bench-head", horizontal=True, vertical_alignment="center", gap="small"):
            st.html('<div class="s-fig"><h2>Attention</h2></div>', width="content")
            if len(source.view.layers) > 1:
                st.html('<span class="s-note">layer</span>', width="content")
            choose(LAYER, source, plain=True)
            choose(MAP, source, plain=True)
        lines = _head_view(source)
    with words:
        tables = word_strip(source)
    if not state.projector():
        caption(f"{HEAD_VIEW.say(HEAD_VIEW.reading, lines)} {special_places(source.view, lines.shown.layer)}")
    return tables, right


def more_maps(source: Source) -> None:
    """Show the maps that are not on the bench: all heads side by side, and the weights of the components."""
    view = source.view
    if view.truncated:
        finding(
            f"The last {count(view.truncated)} tokens were cut off",
            f"This model reads {count(source.record.max_length)} tokens at most. Not read: "
            f"“{isolated(clipped(view.cut, QUOTED))}”.",
        )
    finding("Attention is not an explanation", NOTE)
    if state.projector():
        caption(special_places(view, layer(source)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choose(GRID, source)
        choose(SCALE, source)
    with st.container(key="pair-main"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        show_of(source, HEADS)
    with right, contextlib.suppress(NotAvailable):
        show_of(source, COEFFICIENTS)


def _head_view(source: Source) -> Lines:
    starts = FROM.values(source)
    if isinstance(starts, Span):
        ends = int(starts.low), int(starts.high)
        found = st.slider(FROM.label, *ends, key=FROM.name, bind="query-params", help=FROM.about)
        source.choices[FROM.name] = found
    return show_bare(source, HEAD_VIEW)


def choose_target(source: Source) -> None:
    """Show the choice of the class that effects are measured for, at first the predicted one."""
    if TOWARDS.counts(source):
        first = str(TOWARDS.first(source))
        state.follow(TOWARDS.name, first, first)
        if not state.projector():  # there the sentence needs the room
            st.html('<span class="s-note">push towards</span>', width="content")
        choose(TOWARDS, source, plain=True)


def word_strip(source: Source, name: str = WORDS.name) -> dict[str, pd.DataFrame]:
    """Show the words of a text with at least one word that the model knows; return their table."""
    return WORDS.numbers(show_bare(source, WORDS, name=name))


SHORT = 200  # characters of a text that is read so fast that maps are drawn while words are computed
STOPPED = "The answer stands above. Its words and parts were not all asked; a shorter text is read in a moment."


def bench_asked(source: Source, *, deep: bool) -> bool:
    """Return whether everything on the bench is computed; `deep`: with parts and λ, of a text with maps."""
    if len(source.text) <= SHORT:
        return True
    wanted = _each(source, "pushed")
    if deep:
        wanted += _each(source, "parts")
        if "lambda" in provides(source.record.config.model):
            wanted.append(("lambdas", source.record.run, source.text, target(source), source.edits))
    return bool(waited(data.asking(*wanted), "bench", STOPPED).whole)


def words_asked(source: Source, place: str) -> bool:
    """Return whether the effects of the words of a second reading are computed."""
    return bool(waited(data.asking(*_each(source, "pushed")), f"words-{place}", STOPPED).whole)


def _each(source: Source, name: str) -> list[Wanted]:
    changes = [source.edits, UNCHANGED] if source.edits else [UNCHANGED]
    return [(name, source.record.run, source.text, target(source), edits) for edits in changes]


PIECES = "Words that are not in the vocabulary are read by their pieces. Switch one off to silence it."
PIECES_HELP = "Character n-grams of the word, < and > its ends. A piece that is off adds nothing to the word's vector."
MOST_WORDS = 6
RESET = "reset"


def lever_board(source: Source, parts: Editable) -> dict[str, pd.DataFrame]:
    """Show the effect of each part of the model, with a lever for each; return the table."""
    key = state.figure_key(LEVERS.name)
    if state.carried(state.SILENT) == MEAN:
        source.choices[SILENT.name] = MEAN
    return LEVERS.numbers(show_bare(source, LEVERS, on_changes_change=lambda: _moved(key, parts)))


def lambda_bench(source: Source) -> dict[str, pd.DataFrame]:
    """Show every λ as a curve of its own; return their table. Nothing where the model has no λ."""
    return show_tables(source, LAMBDA_BENCH) if "lambda" in provides(source.record.config.model) else {}


def _moved(key: str, parts: Editable) -> None:
    levers = {part: value for change in state.receive_changes(key) for part, value in change.items()}
    if way := levers.get(state.SILENT):
        state.carry(state.SILENT, MEAN if way == MEAN else "")
    before = UNCHANGED.encode() if RESET in levers else state.carried(state.EDIT)
    moved = {part: value for part, value in levers.items() if part not in (RESET, state.SILENT)}
    state.carry(state.EDIT, parts.moved(before, moved).encode() if moved else before)


def unknown_words(edits: Edits, trained: SentenceView) -> None:
    """Show the pieces by which the model reads each word that it does not know; one not marked is silenced."""
    if trained.pieces is None or not any(trained.unknown):
        return
    there = [place for place, missing in enumerate(trained.unknown) if missing]
    caption(PIECES)
    for at in there[:MOST_WORDS]:
        names, key = trained.pieces[at], f"edit-n{at}"
        off = {names[piece] for token, piece in edits.pieces_off if token == at}
        distinct = list(dict.fromkeys(names))  # one that is there twice (aaaa) is one switch
        state.put(key, [name for name in distinct if name not in off])
        st.pills(
            literal(trained.tokens[at]),
            distinct,
            format_func=literal,
            selection_mode="multi",
            key=key,
            on_change=_silenced,
            args=(edits, at, names, key),
            help=PIECES_HELP,
        )
    if len(there) > MOST_WORDS:
        caption(f"And {len(there) - MOST_WORDS} more words that are not in the vocabulary.")


def _silenced(edits: Edits, place: int, names: Sequence[str], key: str) -> None:
    on = state.draft(key, [])
    off = [piece for piece, name in enumerate(names) if name not in on]
    state.carry(state.EDIT, edits.with_pieces(place, off).encode())
