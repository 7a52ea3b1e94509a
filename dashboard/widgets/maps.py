"""The inside of one reading: token strip, head view, maps of all heads, weights of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard import state
from dashboard.figures import readings
from dashboard.figures.attention import SCALES, MapRow, block, coefficients, full_colour, map_grid, scaled
from dashboard.figures.edits import Edits
from dashboard.figures.numbers import count
from dashboard.figures.sentence import WINDOW, map_rows, received, special_places, special_tokens, subtracts
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.head_view import head_view
from dashboard.widgets.messages import finding
from dashboard.widgets.style import look
from dashboard.widgets.tokens import token_strip

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

HEADS = "Colour is sign: {}. Width is weight. The numbered squares show and hide heads."
SIGNS = {"against uniform": "blue is above an even spread, orange below it"}
SIGN = "blue adds, orange takes away"
HEADS_HOW = (
    "Weights after softmax and combination, on the chosen scale. Full colour is the 98.5th percentile of what is "
    "shown, so that a single strong weight does not hide the rest. At rest the strongest lines are drawn."
)
STRIP = "Number and colour: how much the words read this one, on average over readers and heads of this layer and map"
LAYER_HELP = "Which layer the strip, the head view and the first kind of grid show."
MAP_HELP = "A component times its coefficient, or the sum of all."
GRID_HELP = "All components of the chosen layer, or the chosen map in all layers."
SCALE_HELP = (
    "Absolute: weights as they are. Per row: each reader's strongest weight is 1. Against uniform: 0 is an even spread."
)
FROM_HELP = "The head view shows a window of a long text; the maps show all of it."
GRIDS = ("maps of this layer", "layers of this map")
NOTE = (
    "A picture of attention is not an explanation: a head may read a word that does not change the answer. "
    "Change the inside below, and see whether it does."
)


@dataclass(frozen=True)
class Chosen:
    """What to look at; numbers from 0."""

    layer: int
    map: int
    grid: str
    scale: str


def inside(record: RunRecord, view: SentenceView, edits: Edits) -> int:
    """Maps of a text with at least one token in a model with attention; gives the chosen layer, from 0."""
    minus = subtracts(record)
    if view.truncated:
        finding(
            f"The last {count(view.truncated)} tokens were cut off",
            f"This model reads {count(record.max_length)} tokens at most; what is struck through was not read.",
        )
    strip = st.container()
    chosen = _choices(view, [row.name for row in map_rows(view, 0, minus)])
    here = [scaled(row, chosen.scale) for row in map_rows(view, chosen.layer, minus, edits)]
    shown, setting = here[chosen.map], f"layer {chosen.layer + 1}, {here[chosen.map].name}, {chosen.scale}"
    rows = here if chosen.grid == GRIDS[0] else _all_layers(view, minus, edits, chosen)
    top = full_colour(rows)
    with strip:
        weights, least = received(shown), "below an even share" if chosen.scale in SIGNS else "taken away"
        special = special_tokens(view)
        token_strip(view.tokens, view.unknown, weights, top, look(), special=special, cut=view.cut, least=least)
        caption(f"{STRIP} ({SCALES[chosen.scale]}). {special_places(view, chosen.layer)}")
    with st.container(key="pair-main"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        _heads(view, shown, top, setting, SIGNS.get(chosen.scale, SIGN))
        finding("Attention is not an explanation", NOTE)
        if len(here) > 1:
            chart = coefficients([part.coefficients for part in view.layers], minus, look())
            figure(
                "Weights of the components", chart, "coefficients", note="in this sentence", reading=readings.WEIGHTS
            )
    with right:
        note = f"layer {chosen.layer + 1}" if chosen.grid == GRIDS[0] else shown.name
        size = block(len(view.tokens))
        blocks = f" Each cell is the strongest of {size} × {size} weights." if size > 1 else ""
        chart = map_grid(rows, view.tokens, look(), top=top, label=SCALES[chosen.scale])
        figure("Heads side by side", chart, "grid", note=note, reading=readings.GRID + blocks, about=readings.GRID_HOW)
    return chosen.layer


def _all_layers(view: SentenceView, minus: bool, edits: Edits, chosen: Chosen) -> list[MapRow]:
    rows = [map_rows(view, layer, minus, edits)[chosen.map] for layer in range(len(view.layers))]
    named = [replace(row, name=f"layer {i}") for i, row in enumerate(rows, start=1)]
    return [scaled(row, chosen.scale) for row in named]


def _heads(view: SentenceView, shown: MapRow, top: float, setting: str, signs: str) -> None:
    """The head view, of a window where the text is long."""
    heading("Attention", "heads", note=setting, about=HEADS_HOW)
    length, first, said = len(view.tokens), 0, ""
    if length > WINDOW:
        last = length - WINDOW + 1
        first = st.slider("From token", 1, last, key=state.FROM, bind="query-params", help=FROM_HELP) - 1
        said = f" Tokens {first + 1} to {first + WINDOW} of {count(length)}; the maps show all of them."
    part = slice(first, first + WINDOW)
    head_view(shown.weights[:, part, part], view.tokens[part], top, look(), label=f"Attention, {setting}.{said}")
    caption(HEADS.format(signs) + said)


def _choices(view: SentenceView, maps: list[str]) -> Chosen:
    layers = [str(i + 1) for i in range(len(view.layers))]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layer = _choice("Layer", layers, state.LAYER, layers[-1], LAYER_HELP)
        shown = _choice("Map", maps, state.MAP, maps[-1], MAP_HELP)
        grid = _choice("Grid", GRIDS if len(maps) > 1 else GRIDS[1:], state.GRID, None, GRID_HELP)
        scale = _choice("Scale", list(SCALES), state.SCALE, None, SCALE_HELP)
    return Chosen(layers.index(layer), maps.index(shown), grid, scale)


def _choice(label: str, options: Sequence[str], key: str, default: str | None, help: str) -> str:
    """A row of buttons bound to the URL; a single option needs none."""
    first = default or options[0]
    if len(options) == 1:
        return first
    return (
        st.segmented_control(label, options, key=key, default=first, bind="query-params", required=True, help=help)
        or first
    )
