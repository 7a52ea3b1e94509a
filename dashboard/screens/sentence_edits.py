"""λ sliders, head and component switches: each writes its change into the link, which decides what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.edits import STEP, UNCHANGED, Editable, Edits, Learned, editable, learned
from dashboard.figures.numbers import number, subscript
from dashboard.figures.sentence import difference, subtracts
from dashboard.widgets.answer import answer
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.messages import finding, selection_note
from dashboard.widgets.style import look
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

LAMBDA_HELP = "The weight of this component in the sum, for this text only. At the learned value nothing is changed."
HEADS_HELP = "A head that is off gives 0 in place of its output. The weights of the model stay as they are."
COMPONENTS_HELP = "A component that is off leaves the sum: its coefficient is 0."
READING = "Each change acts at once, for this text only; the line in the bar above marks the model as trained."
HOW = (
    "The weights stay as they are; λ, heads and components are replaced in this one reading. Norms and their factors "
    "act as in training, and later layers read what the changed ones give."
)
BACK = "Back to the model as trained"
PIECES = "Words that are not in the vocabulary are read by their pieces. Switch one off to silence it."
PIECES_HELP = "Character n-grams of the word, < and > its ends. A piece that is off adds nothing to the word's vector."
MOST_WORDS = 6
"""Unknown words whose pieces are shown."""
PER_ROW = 3
"""Layers side by side."""


def _what(record: RunRecord) -> str:
    return "answer" if record.task == "single" else "most probable label"


def _reset() -> None:
    """Back to the model as trained; a callback."""
    state.carry(state.EDIT, UNCHANGED.encode())


def changed(record: RunRecord, text: str, trained: SentenceView) -> tuple[Edits, Editable, SentenceView]:
    """What the link changes in this model, what could be changed, and the reading that follows; says all of it."""
    parts = editable(record.config.model, learned(trained, subtracts(record)))
    parts = replace(parts, pieces=tuple(map(len, trained.pieces or ())))
    edits, left_out = parts.read(state.carried(state.EDIT))
    view = data.sentence(record.run, text, edits)
    answer(record, view, look(), before=trained if edits else None)
    if left_out:
        many = "One change" if left_out == 1 else f"{left_out} changes"
        has = f"{parts.layers} layers, {parts.heads} heads and {parts.components} component(s)"
        allowed = f"; λ may be {number(parts.low, 1)} to {number(parts.high, 1)}" if parts.components > 1 else ""
        finding(f"{many} of the link cannot be made here", f"This model has {has}{allowed}.")
    if edits:
        with st.container(key="selection", horizontal=True, vertical_alignment="center", gap="medium"):
            selection_note("Changed by hand", f"{edits.words()}. {difference(trained, view, _what(record))}")
            st.button(BACK, on_click=_reset, type="tertiary", key="edit-reset-top")
    _unknown_words(edits, trained)
    return edits, parts, view


def _unknown_words(edits: Edits, trained: SentenceView) -> None:
    """The pieces by which the model reads each word that it does not know; one that is not marked is silenced."""
    if trained.pieces is None or not any(trained.unknown):
        return
    there = [place for place, missing in enumerate(trained.unknown) if missing]
    caption(PIECES)
    for place in there[:MOST_WORDS]:
        names, key = trained.pieces[place], f"edit-n{place}"
        off = {names[piece] for at, piece in edits.pieces_off if at == place}
        distinct = list(dict.fromkeys(names))  # one that is there twice (aaaa) is one switch
        state.put(key, [name for name in distinct if name not in off])
        st.pills(
            literal(trained.tokens[place]),
            distinct,
            format_func=literal,
            selection_mode="multi",
            key=key,
            on_change=_silenced,
            args=(edits, place, names, key),
            help=PIECES_HELP,
        )
    if len(there) > MOST_WORDS:
        caption(f"And {len(there) - MOST_WORDS} more words that are not in the vocabulary.")


def _silenced(edits: Edits, place: int, names: Sequence[str], key: str) -> None:
    on = state.draft(key, [])
    off = [piece for piece, name in enumerate(names) if name not in on]
    state.carry(state.EDIT, edits.with_pieces(place, off).encode())


def what_if(
    record: RunRecord, edits: Edits, parts: Editable, own: Learned, trained: SentenceView, view: SentenceView
) -> None:
    """All controls, and both answers side by side."""
    note = difference(trained, view, _what(record)) if edits else "nothing is changed"
    heading("What if the inside were different?", "inside", note=note, about=HOW)
    caption(READING)
    _controls(edits, parts, own)
    for name, shown in (("as trained", trained), ("now", view)):
        st.html(f'<p class="s-who"><b>{name}</b> {"" if name != "now" else escape(edits.words())}</p>')
        answer(record, shown, look(), small=True)
    st.button(BACK, on_click=_reset, type="tertiary", key="edit-reset", disabled=not edits)


def _controls(edits: Edits, parts: Editable, own: Learned) -> None:
    layers = range(parts.layers)
    for start in range(0, parts.layers, PER_ROW):
        for column, layer in zip(st.columns(min(PER_ROW, parts.layers), gap="large"), layers[start:], strict=False):
            with column:
                st.html(f'<p class="s-who"><b>Layer {layer + 1}</b></p>')
                for component in range(1, parts.components):
                    _lambda(edits, parts, own, layer, component)
                _switches("Heads", "h", layer, [str(i + 1) for i in range(parts.heads)], edits, HEADS_HELP)
                if parts.components > 1:
                    names = [f"A{subscript(i)}" for i in range(parts.components)]
                    _switches("Components", "c", layer, names, edits, COMPONENTS_HELP)


def _lambda(edits: Edits, parts: Editable, own: Learned, layer: int, component: int) -> None:
    value = own.values[layer][component - 1]
    key, now = f"edit-l{layer}c{component}", edits.value(layer, component)
    state.put(key, min(max(round(value if now is None else now, 2), parts.low), parts.high))
    st.slider(
        f"λ{subscript(component)}, learned {number(value, 2)}{' on average' if own.varies else ''}",
        parts.low,
        parts.high,
        step=STEP,
        format="%.2f",
        key=key,
        on_change=_moved,
        args=(edits, layer, component, value, key),
        help=LAMBDA_HELP,
    )


def _moved(edits: Edits, layer: int, component: int, own: float, key: str) -> None:
    value = float(state.draft(key, own))
    back = abs(value - round(own, 2)) < STEP / 2
    state.carry(state.EDIT, edits.with_lambda(layer, component, None if back else value).encode())


def _switches(label: str, kind: str, layer: int, names: Sequence[str], edits: Edits, help: str) -> None:
    places = edits.heads_off if kind == "h" else edits.components_off
    off = {index for at, index in places if at == layer}
    key = f"edit-{kind}{layer}"
    state.put(key, [name for index, name in enumerate(names) if index not in off])
    args = (edits, kind, layer, tuple(names), key)
    st.pills(label, names, selection_mode="multi", key=key, on_change=_switched, args=args, help=help)


def _switched(edits: Edits, kind: str, layer: int, names: Sequence[str], key: str) -> None:
    on = state.draft(key, [])
    off = [index for index, name in enumerate(names) if name not in on]
    changed = edits.with_heads(layer, off) if kind == "h" else edits.with_components(layer, off)
    state.carry(state.EDIT, changed.encode())
