"""What a person changed inside a model: as data, as the `edit` of a link, and in words.

A link says `l2c1:0.5` for λ₁ of layer 2 at 0.50, `h1.2` for head 2 of layer 1 off, `c2.1` for A₁ of layer 2 off,
`n3.2` for the second piece of the third token silenced. Layers, heads, tokens and pieces count from 1 there, as on the
page; components count from 0, as A₀, A₁ … do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.models.config import LAMBDA_RANGES, ModelConfig
from dashboard.figures.numbers import number, subscript

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

STEP = 0.01
"""Of a λ slider, and so the precision of a λ in a link."""
LONGEST = 4_000
"""Characters of a link's `edit` that are looked at: more than any model has parts to change."""
_PART = re.compile(r"l(\d{1,3})c(\d{1,3}):(-?\d{1,2}(?:\.\d{1,4})?)|([hcn])(\d{1,3})\.(\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class Edits:
    """All changes against the model as trained, sorted; numbers from 0, as in `core.models.trace.Intervention`."""

    lambdas: tuple[tuple[int, int, float], ...] = ()
    """(layer, component from 1, value)."""
    heads_off: tuple[tuple[int, int], ...] = ()
    """(layer, head)."""
    components_off: tuple[tuple[int, int], ...] = ()
    """(layer, component)."""
    pieces_off: tuple[tuple[int, int], ...] = ()
    """(token, character n-gram)."""

    def __bool__(self) -> bool:
        """Is anything changed?"""
        return bool(self.lambdas or self.heads_off or self.components_off or self.pieces_off)

    def value(self, layer: int, component: int) -> float | None:
        """The λ set here; None where it is the learned one."""
        return next((value for *place, value in self.lambdas if place == [layer, component]), None)

    def with_lambda(self, layer: int, component: int, value: float | None) -> Edits:
        """The same with one λ set, or learned again (None)."""
        others = [part for part in self.lambdas if part[:2] != (layer, component)]
        new = [] if value is None else [(layer, component, round(value, 4))]
        return replace(self, lambdas=tuple(sorted([*others, *new])))

    def with_heads(self, layer: int, off: Sequence[int]) -> Edits:
        """The same with exactly these heads of a layer off."""
        return replace(self, heads_off=_switched(self.heads_off, layer, off))

    def with_components(self, layer: int, off: Sequence[int]) -> Edits:
        """The same with exactly these components of a layer off."""
        return replace(self, components_off=_switched(self.components_off, layer, off))

    def with_pieces(self, token: int, off: Sequence[int]) -> Edits:
        """The same with exactly these pieces of a token silenced."""
        return replace(self, pieces_off=_switched(self.pieces_off, token, off))

    def encode(self) -> str:
        """As it stands in a link; empty where nothing is changed."""
        return ",".join(
            [
                *(f"l{layer + 1}c{component}:{value:g}" for layer, component, value in self.lambdas),
                *(f"h{layer + 1}.{head + 1}" for layer, head in self.heads_off),
                *(f"c{layer + 1}.{component}" for layer, component in self.components_off),
                *(f"n{token + 1}.{piece + 1}" for token, piece in self.pieces_off),
            ]
        )

    def words(self) -> str:
        """`head 2 of layer 1 off, λ₁ of layer 2 = 0.50`."""
        return ", ".join(
            [
                *(f"head {head + 1} of layer {layer + 1} off" for layer, head in self.heads_off),
                *(f"A{subscript(component)} of layer {layer + 1} off" for layer, component in self.components_off),
                *(
                    f"λ{subscript(component)} of layer {layer + 1} = {number(value, 2)}"
                    for layer, component, value in self.lambdas
                ),
                *(f"piece {piece + 1} of token {token + 1} silenced" for token, piece in self.pieces_off),
            ]
        )


UNCHANGED = Edits()


@dataclass(frozen=True)
class Editable:
    """What a model has that can be changed, and where its λ may be put."""

    layers: int
    heads: int
    components: int
    low: float
    high: float
    pieces: tuple[int, ...] = ()
    """How many each token of the text has; empty where the model reads none."""

    def read(self, text: str) -> tuple[Edits, int]:
        """The changes that a link asks for, and how many of its parts this model cannot follow (they are left out)."""
        found, left_out = UNCHANGED, 0
        for part in filter(None, text[:LONGEST].split(",")):
            changed = self._add(found, part.strip())
            found, left_out = (found, left_out + 1) if changed is None else (changed, left_out)
        return found, left_out + (len(text) > LONGEST)

    def _add(self, edits: Edits, part: str) -> Edits | None:
        match = _PART.fullmatch(part)
        if match is None:
            return None
        if match[3] is not None:
            layer, component, value = int(match[1]) - 1, int(match[2]), float(match[3])
            known = 0 <= layer < self.layers and 1 <= component < self.components
            return edits.with_lambda(layer, component, value) if known and self.low <= value <= self.high else None
        layer, index = int(match[5]) - 1, int(match[6])
        if match[4] == "n":
            token, piece = layer, index - 1
            if not (0 <= token < len(self.pieces) and 0 <= piece < self.pieces[token]):
                return None
            return edits.with_pieces(token, [*(i for at, i in edits.pieces_off if at == token), piece])
        if match[4] == "h":
            head = index - 1
            if not (0 <= layer < self.layers and 0 <= head < self.heads):
                return None
            return edits.with_heads(layer, [*(i for at, i in edits.heads_off if at == layer), head])
        if not (0 <= layer < self.layers and index < self.components):
            return None
        return edits.with_components(layer, [*(i for at, i in edits.components_off if at == layer), index])


def _switched(old: tuple[tuple[int, int], ...], layer: int, off: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted({*(place for place in old if place[0] != layer), *((layer, i) for i in off)}))


@dataclass(frozen=True)
class Learned:
    """λ of a model as trained."""

    values: tuple[tuple[float, ...], ...]
    """For each layer, for each further component: the mean over heads and tokens."""
    varies: bool
    """Whether any differs among heads or tokens."""


def learned(view: SentenceView, subtracts: bool) -> Learned:
    """λ of an untouched model, from the coefficients over the first, which is 1 unless the model norms its rows."""
    sign = -1.0 if subtracts else 1.0
    ratios = [sign * layer.coefficients[1:] / layer.coefficients[0] for layer in view.layers]
    values = tuple(tuple(float(row.mean()) for row in layer) for layer in ratios)
    return Learned(values, any(float(np.ptp(row)) > STEP / 10 for layer in ratios for row in layer))


def editable(model: ModelConfig, learned: Learned) -> Editable:
    """What can be changed in this model; the range suits the constraint on λ and holds every learned value."""
    attention = model.attention
    if attention.mixing == "additive":
        low, high = LAMBDA_RANGES[attention.constraint].slider
    else:
        low, high = (0.0, 1.0) if attention.mixing == "differential-v2" else (0.0, 1.5)
    values = [value for layer in learned.values for value in layer]
    low = min([low, *(math.floor(10 * value) / 10 for value in values)])
    high = max([high, *(math.ceil(10 * value) / 10 for value in values)])
    return Editable(model.layers, attention.heads, attention.components, low, high)
