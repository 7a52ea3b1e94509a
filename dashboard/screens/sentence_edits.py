"""What is changed inside: the link says it, levers and switches write it there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.interpret.editable import Editable
from core.interpret.edits import UNCHANGED, Edits
from core.models.provides import provides
from dashboard import state
from dashboard.figures.ablation import MEAN, SILENT
from dashboard.figures.ablation_levers import LEVERS
from dashboard.figures.lambda_bench import LAMBDA_BENCH
from dashboard.figures.source import Source
from dashboard.widgets.figure import caption, show_bare, show_of
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView

PIECES = "Words that are not in the vocabulary are read by their pieces. Switch one off to silence it."
PIECES_HELP = "Character n-grams of the word, < and > its ends. A piece that is off adds nothing to the word's vector."
MOST_WORDS = 6
"""Unknown words whose pieces are shown."""
RESET = "reset"


def lever_board(source: Source, parts: Editable) -> dict[str, pd.DataFrame]:
    """The parts of the model with their pushes, each a lever; gives their table."""
    key = state.figure_key(LEVERS.name)
    if state.carried(state.SILENT) == MEAN:
        source.choices[SILENT.name] = MEAN
    return LEVERS.numbers(show_bare(source, LEVERS, on_changes_change=lambda: _moved(key, parts)))


def lambda_bench(source: Source) -> dict[str, pd.DataFrame]:
    """Every λ as a curve of its own; gives their table. Nothing where the model has no λ."""
    if "lambda" not in provides(source.record.config.model):
        return {}
    return LAMBDA_BENCH.numbers(show_of(source, LAMBDA_BENCH))


def _moved(key: str, parts: Editable) -> None:
    """Write levers that were moved into the link, perhaps after all were put back; a callback."""
    levers = {part: value for change in state.receive_changes(key) for part, value in change.items()}
    if way := levers.get(state.SILENT):
        state.carry(state.SILENT, MEAN if way == MEAN else "")
    before = UNCHANGED.encode() if RESET in levers else state.carried(state.EDIT)
    moved = {part: value for part, value in levers.items() if part not in (RESET, state.SILENT)}
    state.carry(state.EDIT, parts.moved(before, moved).encode() if moved else before)


def unknown_words(edits: Edits, trained: SentenceView) -> None:
    """The pieces by which the model reads each word that it does not know; one that is not marked is silenced."""
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
