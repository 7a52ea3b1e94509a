"""Attention maps of a text, head by head, with the options that choose them; the weights of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.exceptions import NotAvailable
from core.interpret.edits import UNCHANGED, Edits
from core.numbers import count, whole_percent
from dashboard.figures.attention import SCALES, Floats, MapRow, block, coefficients, full_colour, map_grid, scaled
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.sentence import WINDOW, combined_rows, map_rows, subtracts
from dashboard.figures.source import Option, Source, Span
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def attended(source: Source) -> SentenceView:
    """Read a text with maps; NotAvailable: the model has no attention, or the text is too long for maps."""
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
    lambda source: [OF_LAYER, OF_MAP] if len(_maps(source)) > 1 else [OF_MAP],
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
    """Return the chosen layer, from 0; −1 where there is none."""
    return int(source.chosen(LAYER)) - 1


def chosen_map(source: Source) -> MapRow | None:
    """Return the chosen map of the chosen layer, as absolute weights; None where the text or the model has none."""
    names = _maps(source)
    if not names:
        return None
    rows = map_rows(source.view, layer(source), subtracts(source.record), source.edits)
    return rows[names.index(str(source.chosen(MAP)))]


@dataclass(frozen=True)
class Heads:
    """The maps of a text that are shown."""

    view: SentenceView
    rows: Sequence[MapRow]  # the grid, row by row
    map: MapRow
    """The chosen one in the chosen layer, with a row of its own in strip and head view."""
    layer: int  # from 0
    scale: str
    by_layer: bool  # the rows of the grid are the maps of one layer

    @property
    def top(self) -> float:
        """Return the |weight| that gets full colour in all of the maps."""
        return full_colour(self.rows)

    @property
    def sign(self) -> str:
        """Explain the pattern of a negative weight; empty where none is below zero."""
        if not any((row.weights < 0).any() for row in self.rows):
            return ""
        return f" Hatched or dashed: {BELOW.get(self.scale, AWAY)}."

    @property
    def setting(self) -> str:
        """Describe the chosen layer, map and scale."""
        return f"layer {self.layer + 1}, {self.map.name}, {self.scale}"

    @property
    def cancelled(self) -> Floats | None:
        """Return the share of its weight that each head's components cancel; None where nothing is taken away."""
        taken = self.view.cancelled(self.layer)
        return None if taken is None or taken.max() < NOTHING_TAKEN else taken


def heads(source: Source) -> Heads:
    """Read the chosen maps; NotAvailable: the text or the model has none."""
    shown, minus = _of_layer(source), subtracts(source.record)
    if source.chosen(GRID) == OF_LAYER:
        return shown
    which = _maps(source).index(str(source.chosen(MAP)))
    every = [map_rows(shown.view, at, minus, source.edits)[which] for at in range(len(shown.view.layers))]
    rows = [scaled(replace(row, name=f"layer {number}"), shown.scale) for number, row in enumerate(every, start=1)]
    return replace(shown, rows=rows, by_layer=False)


def _of_layer(source: Source) -> Heads:
    view, which = attended(source), _maps(source).index(str(source.chosen(MAP)))
    scale = str(source.chosen(SCALE))
    return of_layer(view, layer(source), subtracts(source.record), source.edits, which, scale)


def of_layer(
    view: SentenceView, layer: int, minus: bool, edits: Edits = UNCHANGED, which: int = -1, scale: str = "absolute"
) -> Heads:
    """Return all maps of one layer, counted from 0; `which` is the chosen one."""
    rows = [scaled(row, scale) for row in map_rows(view, layer, minus, edits)]
    return Heads(view, rows, rows[which], layer, scale, by_layer=True)


BELOW = {"against uniform": "below an even spread"}
"""What a negative weight is on a scale; on the others it is `AWAY`."""
AWAY = "taken away"
NOTHING_TAKEN = 0.005  # below this share of weight nothing is said to cancel


def _grid_reading(shown: Heads) -> str:
    size = block(len(shown.view.tokens))
    blocks = f" Each cell is the strongest of {size} × {size} weights." if size > 1 else ""
    return (
        f"Rows of a map read, columns are read. More ink is more weight; all maps share one scale.{shown.sign}{blocks}"
    )


HEADS = Figure(
    "grid",
    "sentence",
    "Heads side by side",
    heads,
    lambda shown, look: map_grid(shown.rows, shown.view.tokens, look, top=shown.top, label=SCALES[shown.scale]),
    note=lambda shown: f"layer {shown.layer + 1}" if shown.by_layer else shown.map.name,
    reading=_grid_reading,
    how="Each row is a component times its coefficient; the last is their sum, with which the values are weighted. "
    "Per row divides by the row's strongest weight. Against uniform is 0 where a row spreads its sum evenly: "
    "weight times tokens, minus that sum, which is 1 for a plain softmax.",
    options=(LAYER, MAP, GRID, SCALE),
)


@dataclass(frozen=True)
class Weighed:
    """The coefficients of each layer, (N, H, L)."""

    layers: Sequence[np.ndarray]
    minus: bool  # the model takes its second map away


def weighed(source: Source) -> Weighed:
    """Read the weights of the components in the sum; NotAvailable: there is one component only."""
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
    """The combined maps that weight the values in each layer."""

    view: SentenceView
    rows: Sequence[MapRow]
    top: float  # the |weight| that gets full colour
    run: str


def combined(source: Source) -> Combined:
    """Read the sum of the components in each layer."""
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
    first: int  # token with which the window begins, from 0

    @property
    def window(self) -> str:
        """Say which tokens the window holds; empty where it holds all."""
        length = len(self.shown.view.tokens)
        if length <= WINDOW:
            return ""
        return f" Tokens {self.first + 1} to {self.first + WINDOW} of {count(length)}; the maps show all of them."


def _draw_lines(lines: Lines, look: Look) -> Component:
    shown, part, taken = lines.shown, slice(lines.first, lines.first + WINDOW), lines.shown.cancelled
    data = {
        "tokens": list(shown.view.tokens[part]),
        "first": lines.first,
        "maps": np.round(shown.map.weights[:, part, part], 3).tolist(),
        "top": round(shown.top, 4),
        "size": look.size(16.5),
        "muted": look.tokens.muted,
        "label": f"Attention, {shown.setting}.{lines.window}",
        "name": "sentiscope-heads",
        "hint": "Point at a word, or reach it with Tab and the arrow keys.",
        "about": []
        if taken is None
        else [f"its components cancel {whole_percent(share)} of their weight" for share in taken],
    }
    return Component("head_view", data, look)


def _lines_reading(lines: Lines) -> str:
    sign, taken = lines.shown.sign, lines.shown.cancelled
    if taken is not None:
        ends = f" ({whole_percent(taken.min())} to {whole_percent(taken.max())} by head)" if len(taken) > 1 else ""
        sign += f" In the sum {whole_percent(taken.mean())} of the components’ weight cancels{ends}."
    return f"Width and ink are weight.{sign} The numbered squares show and hide heads.{lines.window}"


HEAD_VIEW = Figure(
    "head-view",
    "sentence",
    "Attention",
    lambda source: Lines(_of_layer(source), round(float(source.chosen(FROM))) - 1),
    _draw_lines,
    note=lambda lines: lines.shown.setting,
    reading=_lines_reading,
    how="Weights after softmax and combination, on the chosen scale. Full ink is the 98.5th percentile of what is "
    "shown, so that a single strong weight does not hide the rest. At rest the strongest lines are drawn.",
    options=(LAYER, MAP, SCALE, FROM),
)
