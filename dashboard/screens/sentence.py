"""Sentence: a typed text, what the model says, and every head of every layer and component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.charts.attention import MapRow, coefficients, full_colour, map_grid
from dashboard.charts.numbers import count
from dashboard.views.sentence import map_rows, received, sentence_tables, subtracts
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.head_view import head_view
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look
from dashboard.widgets.tokens import probability_bar, token_strip

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

QUESTION = "What does the model say, and what does each head read?"
EXAMPLE = "not a bad film at all, but the ending never works"
HEADS = "Colour is sign: blue adds, orange takes away. Width is weight. The numbered squares switch heads."
HEADS_HOW = (
    "Weights after softmax and combination. Full colour is the 98.5th percentile of the weights of this layer, "
    "so that a single strong weight does not hide the rest. At rest the strongest lines are drawn."
)
GRID = "Rows of a map read, columns are read. The page colour is zero, and all maps share one scale."
GRID_HOW = "Each row is a component times its coefficient; the last is their sum, with which the values are weighted."
STRIP = "Number and colour: how much the words read this one on average, in this layer and map, over its heads."
WEIGHTS = "Every component beside the first enters the sum with this coefficient; a negative one takes attention away."
GRIDS = ("maps of this layer", "layers of this map")
NOTE = "A picture of attention is not an explanation: a head may read a word that does not change the answer."


def page() -> None:
    """One run, one text."""
    record = chosen_run("Sentence", QUESTION, purpose="A sentence is read and answered here")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Sentence", QUESTION, facts(record))
        empty(*_no_weights(record), "screens/train.py")
        return
    attention, shape = record.config.model.attention, record.config.model
    encoder = shape.family == "encoder"
    about = (f"{shape.layers} layers", f"of {attention.heads} heads") if encoder else ("no attention", "")
    header("Sentence", QUESTION, facts(record, about))
    state.initial(state.TEXT, EXAMPLE)
    text = st.text_input(
        "Sentence",
        key=state.TEXT,
        bind="query-params",
        live=True,
        max_chars=5000,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )
    view, minus = data.sentence(record.run, text or ""), subtracts(record)
    probability_bar(view.probabilities, look())
    if view.truncated:
        finding(
            f"The last {count(view.truncated)} words were cut off",
            f"This model reads {record.max_length} tokens at most.",
        )
    if not view.layers:
        finding(
            f"{record.preset} has no attention to look into",
            "It weighs words and pairs of neighbours, without heads "
            "and layers. Choose another run in the sidebar to see maps.",
        )
        export_bar("sentence", sentence_tables(view, minus), figures=False)
    elif not view.tokens:
        finding("There is no word here to look into", "The bar shows what the model says of an empty text.")
    else:
        _inside(view, minus)


def _inside(view: SentenceView, minus: bool) -> None:
    strip = st.container()
    layer, index, grid = _choices(view, [row.name for row in map_rows(view, 0, minus)])
    here = map_rows(view, layer, minus)
    shown, setting = here[index], f"layer {layer + 1}, {here[index].name}"
    every_layer = [MapRow(f"layer {i + 1}", map_rows(view, i, minus)[index].weights) for i in range(len(view.layers))]
    rows = here if grid == GRIDS[0] else every_layer
    with strip:
        token_strip(view.tokens, view.unknown, received(shown), full_colour(rows), look())
        caption(STRIP)
    with st.container(key="pair-main"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        heading("Attention", "heads", note=setting, about=HEADS_HOW)
        head_view(shown.weights, view.tokens, full_colour(rows), look(), label=f"Attention, {setting}")
        caption(HEADS)
        finding("Attention is not an explanation", NOTE)
        if len(here) > 1:
            chart = coefficients([part.coefficients for part in view.layers], minus, look())
            figure("Weights of the components", chart, "coefficients", note="in this sentence", reading=WEIGHTS)
    with right:
        note = f"layer {layer + 1}" if grid == GRIDS[0] else shown.name
        figure(
            "Heads side by side", map_grid(rows, view.tokens, look()), "grid", note=note, reading=GRID, about=GRID_HOW
        )
    export_bar("sentence", sentence_tables(view, minus))


def _choices(view: SentenceView, maps: list[str]) -> tuple[int, int, str]:
    """The layer and the map to look at (numbers from 0), and what stands in the rows of the grid."""
    layers = [str(i + 1) for i in range(len(view.layers))]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layer = _choice("Layer", layers, state.LAYER, layers[-1])
        shown = _choice("Map", maps, state.MAP, maps[-1], help="A component times its coefficient, or the sum of all")
        grid = _choice("Grid", GRIDS if len(maps) > 1 else GRIDS[1:], state.GRID, None)
    return layers.index(layer), maps.index(shown), grid


def _choice(label: str, options: Sequence[str], key: str, default: str | None, help: str | None = None) -> str:
    """A row of buttons bound to the URL; a single option needs none."""
    first = default or options[0]
    if len(options) == 1:
        return first
    return (
        st.segmented_control(label, options, key=key, default=first, bind="query-params", required=True, help=help)
        or first
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
