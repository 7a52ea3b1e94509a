"""The maps of a text, head by head: which of them are shown and how; the weights of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.interpret.edits import UNCHANGED, Edits
from core.numbers import whole_percent
from dashboard.figures.attention import SCALES, MapRow, block, coefficients, full_colour, map_grid, scaled
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.sentence import WINDOW, combined_rows, map_rows, subtracts
from dashboard.figures.source import Option, Source, Span
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def attended(source: Source) -> SentenceView:
    """A text with maps.

    Raises:
        NotAvailable: the model has no attention, or the text is too long for maps.
    """
    view = source.view
    if not view.layers:
        raise NotAvailable(f"{source.record.preset} has no attention to look into")
    if view.too_long:
        raise NotAvailable(f"a text of {count(len(view.tokens))} tokens is too long for maps of all pairs")
    return view


OF_LAYER, OF_MAP = "maps of this layer", "layers of this map"


def _layers(source: Source) -> list[str]:
    return [str(layer) for layer in range(1, len(source.view.layers) + 1)]


def _maps(source: Source) -> list[str]:
    view = source.view
    there = view.layers and not view.too_long
    return [row.name for row in map_rows(view, 0, subtracts(source.record))] if there else []


def _grids(source: Source) -> list[str]:
    return [OF_LAYER, OF_MAP] if len(_maps(source)) > 1 else [OF_MAP]


LAYER = Option(
    "layer",
    "Layer",
    _layers,
    "Which layer the strip, the head view and the first kind of grid show.",
    usual=lambda source: next(reversed(_layers(source)), "0"),
    words=lambda source, layer: "",
)
MAP = Option(
    "map",
    "Map",
    _maps,
    "A component times its coefficient, or the sum of all.",
    usual=lambda source: next(reversed(_maps(source)), ""),
    words=lambda source, shown: "",
)
GRID = Option(
    "grid",
    "Grid",
    _grids,
    "All components of the chosen layer, or the chosen map in all layers.",
    words=lambda source, grid: "",
)
SCALE = Option(
    "scale",
    "Scale",
    lambda source: list(SCALES),
    "Absolute: weights as they are. Per row: each reader's strongest weight is 1. Against uniform: 0 is an even "
    "spread.",
)


def layer(source: Source) -> int:
    """The chosen layer, from 0; −1 where there is none."""
    return int(source.chosen(LAYER)) - 1


def chosen_map(source: Source) -> MapRow | None:
    """The chosen map of the chosen layer, as absolute weights; None where the text or the model has none."""
    names = _maps(source)
    if not names:
        return None
    rows = map_rows(source.view, layer(source), subtracts(source.record), source.edits)
    return rows[names.index(str(source.chosen(MAP)))]


@dataclass(frozen=True)
class Heads:
    """The maps of a text that are shown."""

    view: SentenceView
    rows: Sequence[MapRow]
    """The grid, row by row."""
    map: MapRow
    """The chosen one in the chosen layer, with a row of its own in strip and head view."""
    layer: int
    """From 0."""
    scale: str
    by_layer: bool
    """The rows of the grid are the maps of one layer."""

    @property
    def top(self) -> float:
        """The |weight| that gets full colour in all of them."""
        return full_colour(self.rows)

    @property
    def signed(self) -> bool:
        """Whether any weight is below zero."""
        return any(bool((row.weights < 0).any()) for row in self.rows)

    @property
    def setting(self) -> str:
        """What is chosen, in words."""
        return f"layer {self.layer + 1}, {self.map.name}, {self.scale}"


def heads(source: Source) -> Heads:
    """The maps as chosen.

    Raises:
        NotAvailable: the text or the model has none.
    """
    view, minus, edits = attended(source), subtracts(source.record), source.edits
    at, which, scale = layer(source), _maps(source).index(str(source.chosen(MAP))), str(source.chosen(SCALE))
    shown = of_layer(view, at, minus, edits, which, scale)
    if source.chosen(GRID) == OF_LAYER:
        return shown
    every = [map_rows(view, number, minus, edits)[which] for number in range(len(view.layers))]
    rows = [scaled(replace(row, name=f"layer {number}"), scale) for number, row in enumerate(every, start=1)]
    return replace(shown, rows=rows, by_layer=False)


def of_layer(
    view: SentenceView, layer: int, minus: bool, edits: Edits = UNCHANGED, which: int = -1, scale: str = "absolute"
) -> Heads:
    """All maps of one layer, counted from 0; `which` is the chosen one."""
    rows = [scaled(row, scale) for row in map_rows(view, layer, minus, edits)]
    return Heads(view, rows, rows[which], layer, scale, by_layer=True)


BELOW = {"against uniform": "below an even spread"}
"""What a negative weight is on a scale; on the others it is `AWAY`."""
AWAY = "taken away"
NOTHING_TAKEN = 0.005
"""Below this share of weight nothing is said to cancel."""


def sign_words(shown: Heads) -> str:
    """What the pattern of a negative weight means on the chosen scale."""
    return f"Hatched or dashed: {BELOW.get(shown.scale, AWAY)}."


def _draw_grid(shown: Heads, look: Look) -> go.Figure:
    return map_grid(shown.rows, shown.view.tokens, look, top=shown.top, label=SCALES[shown.scale])


def _grid_reading(shown: Heads) -> str:
    size = block(len(shown.view.tokens))
    blocks = f" Each cell is the strongest of {size} × {size} weights." if size > 1 else ""
    sign = f" {sign_words(shown)}" if shown.signed else ""
    return f"Rows of a map read, columns are read. More ink is more weight; all maps share one scale.{sign}{blocks}"


HEADS = Figure(
    "grid",
    "sentence",
    "Heads side by side",
    heads,
    _draw_grid,
    note=lambda shown: f"layer {shown.layer + 1}" if shown.by_layer else shown.map.name,
    reading=_grid_reading,
    how=(
        "Each row is a component times its coefficient; the last is their sum, with which the values are weighted. "
        "Per row divides by the row's strongest weight. Against uniform is 0 where a row spreads its sum evenly: "
        "weight times tokens, minus that sum, which is 1 for a plain softmax."
    ),
    options=(LAYER, MAP, GRID, SCALE),
)


@dataclass(frozen=True)
class Weighed:
    """The coefficients of each layer, (N, H, L)."""

    layers: Sequence[np.ndarray]
    minus: bool
    """The model takes its second map away."""


def weighed(source: Source) -> Weighed:
    """With which weights the components enter the sum.

    Raises:
        NotAvailable: there is one component only.
    """
    layers = [each.coefficients for each in attended(source).layers]
    if len(layers[0]) < 2:
        raise NotAvailable("its heads have one map each, so there is nothing to weigh")
    return Weighed(layers, subtracts(source.record))


COEFFICIENTS = Figure(
    "coefficients",
    "sentence",
    "Weights of the components",
    weighed,
    lambda shown, look: coefficients(shown.layers, shown.minus, look),
    note="every head and token",
    reading=(
        "Every component besides the first enters the sum with this coefficient; a negative one takes attention away."
    ),
)


@dataclass(frozen=True)
class Combined:
    """What the values are weighted with in each layer."""

    view: SentenceView
    rows: Sequence[MapRow]
    top: float
    """The |weight| that gets full colour."""
    run: str


def combined(source: Source) -> Combined:
    """The sum of the components in each layer."""
    view = attended(source)
    rows = combined_rows(view, subtracts(source.record), source.edits)
    return Combined(view, rows, full_colour(rows), source.record.run)


COMBINED = Figure(
    "combined",
    "sentence",
    "Combined maps",
    combined,
    lambda shown, look: map_grid(shown.rows, shown.view.tokens, look, top=shown.top),
    note=lambda shown: shown.run,
    reading="What the values are weighted with in each layer, as absolute weights.",
)


def _starts(source: Source) -> Span | tuple[()]:
    beyond = len(source.view.tokens) - WINDOW
    return Span(1, beyond + 1, 1) if beyond > 0 else ()


FROM = Option(
    "from",
    "From token",
    _starts,
    "The head view shows a window of a long text; the maps show all of it.",
    usual=lambda source: 1.0,
    words=lambda source, first: "",
)


@dataclass(frozen=True)
class Lines:
    """The chosen map of every head, of a window where the text is long."""

    shown: Heads
    first: int
    """Token with which the window begins, from 0."""

    @property
    def part(self) -> slice:
        """The window."""
        return slice(self.first, self.first + WINDOW)

    @property
    def window(self) -> str:
        """Which tokens it holds, in words; empty where it holds all."""
        length = len(self.shown.view.tokens)
        if length <= WINDOW:
            return ""
        return f" Tokens {self.first + 1} to {self.first + WINDOW} of {count(length)}; the maps show all of them."


def _lines(source: Source) -> Lines:
    view, minus, scale = attended(source), subtracts(source.record), str(source.chosen(SCALE))
    which = _maps(source).index(str(source.chosen(MAP)))
    return Lines(
        of_layer(view, layer(source), minus, source.edits, which, scale), round(float(source.chosen(FROM))) - 1
    )


def _draw_lines(lines: Lines, look: Look) -> Component:
    shown, t = lines.shown, look.tokens
    data = {
        "tokens": list(shown.view.tokens[lines.part]),
        "first": lines.first,
        "maps": np.round(shown.map.weights[:, lines.part, lines.part], 3).tolist(),
        "top": round(shown.top, 4),
        "size": look.size(16.5),
        "muted": t.muted,
        "label": f"Attention, {shown.setting}.{lines.window}",
        "name": "sentiscope-heads",
        "hint": "Point at a word, or reach it with Tab and the arrow keys.",
        "about": _cancelled(shown),
    }
    return Component("head_view", data, look)


def _cancelled(shown: Heads) -> list[str]:
    """Of each head how much its components cancel, in words; empty where nothing is taken away."""
    taken = shown.view.cancelled(shown.layer)
    if taken is None or taken.max() < NOTHING_TAKEN:
        return []
    return [f"its components cancel {whole_percent(share)} of their weight" for share in taken]


def _lines_reading(lines: Lines) -> str:
    shown = lines.shown
    sign = f" {sign_words(shown)}" if shown.signed else ""
    taken = shown.view.cancelled(shown.layer)
    if taken is not None and taken.max() >= NOTHING_TAKEN:
        ends = f" ({whole_percent(taken.min())} to {whole_percent(taken.max())} by head)" if len(taken) > 1 else ""
        sign += f" In the sum {whole_percent(taken.mean())} of the components’ weight cancels{ends}."
    return f"Width and ink are weight.{sign} The numbered squares show and hide heads.{lines.window}"


HEAD_VIEW = Figure(
    "head-view",
    "sentence",
    "Attention",
    _lines,
    _draw_lines,
    note=lambda lines: lines.shown.setting,
    reading=_lines_reading,
    how=(
        "Weights after softmax and combination, on the chosen scale. Full ink is the 98.5th percentile of what is "
        "shown, so that a single strong weight does not hide the rest. At rest the strongest lines are drawn."
    ),
    options=(LAYER, MAP, SCALE, FROM),
)
