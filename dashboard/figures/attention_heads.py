"""Attention maps of a text by head, the options that select a map, and the coefficients with which maps are summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.exceptions import NotAvailable
from core.formatting import count, format_subscript, whole_percent
from core.interpret.model_edits import UNCHANGED, Edits
from dashboard.figures import attention
from dashboard.figures.attention import SCALES, WINDOW, build_map_rows, draw_map_grid, has_subtraction, scale_row
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Option, QuietOption, Source, ValueRange
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

OF_LAYER, OF_MAP = "maps of this layer", "layers of this map"
BELOW = {"against uniform": "below uniform"}  # scale → meaning of a negative weight; on other scales `AWAY`
AWAY = "subtracted"
NOTHING_TAKEN = 0.005  # smaller cancelled shares of weight are not reported


def read_attention(source: Source) -> SentenceView:
    """Read the attention maps of a text; NotAvailable: the model has no attention, or the text is too long for maps."""
    view = source.view
    if not view.layers:
        raise NotAvailable(f"{source.record.preset} has no attention to look into")
    if view.too_long:
        raise NotAvailable(f"a text of {count(len(view.tokens))} tokens is too long for maps of all pairs")
    return view


def _list_layers(source: Source) -> list[str]:
    return [str(layer) for layer in range(1, len(source.view.layers) + 1)]


def _list_maps(source: Source) -> list[str]:
    view = source.view
    there = view.layers and not view.too_long
    return [row.name for row in build_map_rows(view, 0, has_subtraction(source.record))] if there else []


LAYER = QuietOption(
    "layer",
    "Layer",
    _list_layers,
    "The layer of the single maps, the head view and the first kind of grid.",
    usual=lambda source: next(reversed(_list_layers(source)), "0"),
)
MAP = QuietOption(
    "map",
    "Map",
    _list_maps,
    "A component times its coefficient, or the sum of all.",
    usual=lambda source: next(reversed(_list_maps(source)), ""),
)
GRID = QuietOption(
    "grid",
    "Grid",
    lambda source: [OF_LAYER, OF_MAP] if len(_list_maps(source)) > 1 else [OF_MAP],
    "All components of the chosen layer, or the chosen map in all layers.",
)
SCALE = Option(
    "scale",
    "Scale",
    lambda source: list(SCALES),
    "Absolute: raw weights. Per row: the strongest weight of each row is 1. Against uniform: 0 is uniform attention.",
)


def get_layer(source: Source) -> int:
    """Return the index of the chosen layer, from 0; −1 if the model has no layer to choose."""
    return int(source.get_choice(LAYER)) - 1


def get_map(source: Source) -> attention.MapRow | None:
    """Return the chosen attention map of the chosen layer, in absolute weights; None: the model or text has no maps."""
    if not (names := _list_maps(source)):
        return None
    rows = build_map_rows(source.view, get_layer(source), has_subtraction(source.record), source.edits)
    return rows[names.index(str(source.get_choice(MAP)))]


@dataclass(frozen=True)
class HeadMaps:
    """Attention maps of a text that are drawn, with the chosen layer, map and scale."""

    view: SentenceView
    rows: Sequence[attention.MapRow]  # the grid, row by row
    map: attention.MapRow  # the chosen map of the chosen layer, which strip and head view show
    layer: int  # from 0
    scale: str
    by_layer: bool  # the rows of the grid are the maps of one layer

    @property
    def top(self) -> float:
        """Return the absolute weight that gets the strongest colour in all drawn attention maps."""
        return attention.find_top_weight(self.rows)

    @property
    def sign(self) -> str:
        """Return a sentence on the pattern that marks negative attention weights; empty if no weight is negative."""
        below = any((row.weights < 0).any() for row in self.rows)
        return f" Hatched or dashed: {BELOW.get(self.scale, AWAY)}." if below else ""

    @property
    def setting(self) -> str:
        """Describe the chosen layer, attention map and scale in words."""
        return f"layer {self.layer + 1}, {self.map.name}, {self.scale}"

    @property
    def cancelled(self) -> attention.Floats | None:
        """Return each head's share of attention weight that cancels out when its maps are summed; None: almost none."""
        taken = self.view.measure_cancellation(self.layer)
        return None if taken is None or taken.max() < NOTHING_TAKEN else taken


def _read_head_maps(source: Source) -> HeadMaps:
    shown, minus = _read_layer_maps(source), has_subtraction(source.record)
    if source.get_choice(GRID) == OF_LAYER:
        return shown
    which = _list_maps(source).index(str(source.get_choice(MAP)))
    every = [build_map_rows(shown.view, at, minus, source.edits)[which] for at in range(len(shown.view.layers))]
    rows = [scale_row(replace(row, name=f"layer {number}"), shown.scale) for number, row in enumerate(every, start=1)]
    return replace(shown, rows=rows, by_layer=False)


def _read_layer_maps(source: Source) -> HeadMaps:
    view, which = read_attention(source), _list_maps(source).index(str(source.get_choice(MAP)))
    scale = str(source.get_choice(SCALE))
    return build_layer_maps(view, get_layer(source), has_subtraction(source.record), source.edits, which, scale)


def build_layer_maps(
    view: SentenceView, layer: int, minus: bool, edits: Edits = UNCHANGED, which: int = -1, scale: str = "absolute"
) -> HeadMaps:
    """Return all attention maps of one layer (from 0) for drawing; `which` is the index of the chosen map."""
    rows = [scale_row(row, scale) for row in build_map_rows(view, layer, minus, edits)]
    return HeadMaps(view, rows, rows[which], layer, scale, by_layer=True)


def _write_grid_reading(shown: HeadMaps) -> str:
    size = attention.get_block_size(len(shown.view.tokens))
    blocks = f" Each cell is the strongest of {size} × {size} weights." if size > 1 else ""
    return f"Attention from rows to columns. Stronger colour = more.{shown.sign}{blocks}"


HEADS = Figure("grid", "sentence", "All heads").add_details(
    read=_read_head_maps,
    draw=lambda shown, look: draw_map_grid(
        shown.rows, shown.view.tokens, look, top=shown.top, label=SCALES[shown.scale]
    ),
    note=lambda shown: f"layer {shown.layer + 1}" if shown.by_layer else shown.map.name,
    reading=_write_grid_reading,
    how="All maps share one scale. Each row is a component times its coefficient; the last is their sum, which weights "
    "the values. Per row divides by the row's strongest weight. Against uniform is 0 where a row spreads its sum "
    "evenly: weight times tokens, minus that sum, which is 1 for a plain softmax.",
    options=(LAYER, MAP, GRID, SCALE),
)


def _read_coefficients(source: Source) -> tuple[list[attention.Floats], bool]:
    """Return the coefficients (maps, heads, tokens) of each layer, and whether the model subtracts its second map."""
    layers = [each.coefficients for each in read_attention(source).layers]
    if len(layers[0]) < 2:
        raise NotAvailable("its heads have one map each, so there is nothing to weigh")
    return layers, has_subtraction(source.record)


COEFFICIENTS = Figure("coefficients", "sentence", "Component weights (λ)").add_details(
    read=_read_coefficients,
    draw=lambda shown, look: attention.draw_coefficients(shown[0], shown[1], look),
    note="every head and token",
    reading="Weight of each further component in the sum; negative weights subtract attention.",
)


@dataclass(frozen=True)
class CombinedMaps:
    """Combined attention map of each layer (the sum of its maps), which weights the value vectors."""

    view: SentenceView
    rows: Sequence[attention.MapRow]
    top: float  # the |weight| in the strongest colour
    run: str


def _read_combined_maps(source: Source) -> CombinedMaps:
    view = read_attention(source)
    rows = attention.build_combined_rows(view, has_subtraction(source.record), source.edits)
    return CombinedMaps(view, rows, attention.find_top_weight(rows), source.reader.label_run(source.record.run))


COMBINED = Figure("combined", "sentence", "Combined attention").add_details(
    read=_read_combined_maps,
    draw=lambda shown, look: draw_map_grid(shown.rows, shown.view.tokens, look, top=shown.top),
    note=lambda shown: shown.run,
    reading="The attention that weights the values in each layer (absolute).",
)

FROM = QuietOption(
    "from",
    "From token",
    lambda source: ValueRange(1, len(source.view.tokens) - WINDOW + 1, 1) if len(source.view.tokens) > WINDOW else (),
    "The head view shows a window of a long text; the maps show all of it.",
    usual=lambda source: 1.0,
)


@dataclass(frozen=True)
class Lines:
    """Chosen attention map of every head, drawn as lines between tokens; a long text is drawn in part."""

    shown: HeadMaps
    first: int  # first token of the window, from 0

    @property
    def window(self) -> str:
        """Return a sentence on which tokens of a long text are drawn as lines; empty if all are drawn."""
        length, last = len(self.shown.view.tokens), self.first + WINDOW
        return f" Tokens {self.first + 1} to {last} of {count(length)}; the maps show all." if length > WINDOW else ""


def _draw_lines(lines: Lines, look: Look) -> Component:
    shown, part, taken = lines.shown, slice(lines.first, lines.first + WINDOW), lines.shown.cancelled
    shares = [] if taken is None else taken.tolist()
    data = {
        **{"tokens": list(shown.view.tokens[part]), "first": lines.first, "top": round(shown.top, 4)},
        "maps": np.round(shown.map.weights[:, part, part], 3).tolist(),
        **{"size": look.scale_size(16.5), "muted": look.tokens.muted},
        "label": f"Attention, {shown.setting}.{lines.window}",
        "name": "sentiscope-heads",
        "hint": f"{'' if look.projector else _write_lines_reading(lines)} Point at a word, or use arrow keys.".strip(),
        "brief": look.projector,
        "about": [f"its components cancel {whole_percent(each)} of their weight" for each in shares],
    }
    return Component("head_view", data, look)


def _write_lines_reading(lines: Lines) -> str:
    sign, taken = lines.shown.sign, lines.shown.cancelled
    if taken is not None:
        ends = f" ({whole_percent(taken.min())} to {whole_percent(taken.max())} by head)" if len(taken) > 1 else ""
        sign += f" In the sum {whole_percent(taken.mean())} of the components’ weight cancels out{ends}."
    even = lines.shown.view.measure_entropy(lines.shown.layer)
    if even is not None and len(even) > 1:  # one number tells why a map does nothing: 99 % is an average of the words
        maps = (f"A{format_subscript(i)} {whole_percent(share)}" for i, share in enumerate(even.tolist()))
        sign += f" Entropy (share of uniform): {', '.join(maps)}."
    return f"Stronger line: more attention.{sign}{lines.window}"


HEAD_VIEW = Figure("head-view", "sentence", "Attention").add_details(
    read=lambda source: Lines(_read_layer_maps(source), round(float(source.get_choice(FROM))) - 1),
    draw=_draw_lines,
    note=lambda lines: lines.shown.setting,
    reading=_write_lines_reading,
    how="Weights after softmax and combination, on the chosen scale. The strongest colour is the 98.5th percentile of "
    "the weights shown, so that one strong weight does not hide the rest. At first only the strongest lines are drawn.",
    options=(LAYER, MAP, SCALE, FROM),
)
