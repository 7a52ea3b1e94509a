"""What a person changed inside a model: as data, as the `edit` of a link, and in words.

A link says `l2c1:0.5` for λ₁ of layer 2 at 0.50, `l:0.5` for half of every other λ, `h1.2` for head 2 of layer 1 off,
`c2.1` for A₁ of layer 2 off, `m1.2.0` for A₀ of head 2 of layer 1 off, `g1.3:0` for the gate of the third token in
layer 1 closed (`g1.3:0.5`: half open), `s:0.5` for half the strength of the lexical term, `n3.2` for the second piece
of the third token silenced, `mix.0` for TF-IDF taken out of the answer. Layers, heads, tokens and pieces count from 1
there, as on the page; components from 0, as A₀, A₁ … do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from core.interpret.learned import Learned, learned, reach
from core.models.config import ModelConfig
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard.figures.numbers import number, subscript

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

STEP = 0.01
"""Of a λ slider, and so the precision of a λ in a link."""
LONGEST = 4_000
"""Characters of a link's `edit` that are looked at: more than any model has parts to change."""
_UNMIXED = "mix.0"
_NUMBER = r"(-?\d{1,2}(?:\.\d{1,4})?)"
_FACTOR = re.compile(rf"l:{_NUMBER}", re.ASCII)
_LAMBDA = re.compile(rf"l(\d{{1,3}})c(\d{{1,3}}):{_NUMBER}", re.ASCII)
_GATE = re.compile(rf"g(\d{{1,3}})\.(\d{{1,4}}):{_NUMBER}", re.ASCII)
_STRENGTH = re.compile(rf"s:{_NUMBER}", re.ASCII)
_SWITCH = re.compile(r"([hcn])(\d{1,4})\.(\d{1,3})|(m)(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)
STRONGEST = 3.0
"""Factor on the lexical term."""
LARGEST = 2.0
"""Factor on every λ."""


@dataclass(frozen=True)
class Edits:
    """All changes against the model as trained, sorted; numbers from 0, as in `core.models.trace.Intervention`."""

    lambdas: tuple[tuple[int, int, float], ...] = ()
    """(layer, component from 1, value)."""
    heads_off: tuple[tuple[int, int], ...] = ()
    """(layer, head)."""
    components_off: tuple[tuple[int, int], ...] = ()
    """(layer, component)."""
    maps_off: tuple[tuple[int, int, int], ...] = ()
    """(layer, head, component)."""
    gates: tuple[tuple[int, int, float], ...] = ()
    """(layer, token, value)."""
    factor: float = 1.0
    """On every λ as trained but those that are set."""
    lexical: float = 1.0
    """Factor on the lexical term."""
    pieces_off: tuple[tuple[int, int], ...] = ()
    """(token, character n-gram)."""
    unmixed: bool = False
    """TF-IDF is taken out of the answer."""

    def __bool__(self) -> bool:
        """Is anything changed?"""
        return self != Edits()

    @property
    def inside(self) -> bool:
        """Is anything changed within the network?"""
        return replace(self, unmixed=False) != Edits()

    def value(self, layer: int, component: int) -> float | None:
        """The λ set here; None where it is the learned one."""
        return next((value for *place, value in self.lambdas if place == [layer, component]), None)

    def gate(self, layer: int, token: int) -> float | None:
        """The gate set here; None where it is the model's own."""
        return next((value for *place, value in self.gates if place == [layer, token]), None)

    def with_lambda(self, layer: int, component: int, value: float) -> Edits:
        """The same with one λ set."""
        others = [part for part in self.lambdas if part[:2] != (layer, component)]
        return replace(self, lambdas=tuple(sorted([*others, (layer, component, round(value, 4))])))

    def with_gate(self, layer: int, token: int, value: float) -> Edits:
        """The same with one gate set."""
        others = [part for part in self.gates if part[:2] != (layer, token)]
        return replace(self, gates=tuple(sorted([*others, (layer, token, round(value, 4))])))

    def with_pieces(self, token: int, off: Sequence[int]) -> Edits:
        """The same with exactly these pieces of a token silenced."""
        others = [place for place in self.pieces_off if place[0] != token]
        return replace(self, pieces_off=tuple(sorted([*others, *((token, piece) for piece in set(off))])))

    def encode(self) -> str:
        """As it stands in a link; empty where nothing is changed."""
        return ",".join(
            [
                *(f"l{layer + 1}c{component}:{value:g}" for layer, component, value in self.lambdas),
                *([f"l:{self.factor:g}"] if self.factor != 1 else ()),
                *(f"h{layer + 1}.{head + 1}" for layer, head in self.heads_off),
                *(f"c{layer + 1}.{component}" for layer, component in self.components_off),
                *(f"m{layer + 1}.{head + 1}.{component}" for layer, head, component in self.maps_off),
                *(f"g{layer + 1}.{token + 1}:{value:g}" for layer, token, value in self.gates),
                *([f"s:{self.lexical:g}"] if self.lexical != 1 else ()),
                *(f"n{token + 1}.{piece + 1}" for token, piece in self.pieces_off),
                *([_UNMIXED] if self.unmixed else ()),
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
                *([f"all {'other ' * bool(self.lambdas)}λ × {number(self.factor, 2)}"] if self.factor != 1 else ()),
                *(
                    f"A{subscript(component)} of head {head + 1} of layer {layer + 1} off"
                    for layer, head, component in self.maps_off
                ),
                *(
                    f"gate of token {token + 1} in layer {layer + 1} = {number(value, 2)}"
                    for layer, token, value in self.gates
                ),
                *([f"lexical term × {number(self.lexical, 2)}"] if self.lexical != 1 else ()),
                *(f"piece {piece + 1} of token {token + 1} silenced" for token, piece in self.pieces_off),
                *(["TF-IDF taken out"] if self.unmixed else ()),
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
    mixed: bool = False
    """Whether TF-IDF is mixed into the answers."""
    gated: int = 0
    """Tokens of the text that have a gate in each layer."""
    lexical: bool = False
    """Whether a lexicon adds to the scores."""

    def read(self, text: str) -> tuple[Edits, int]:
        """The changes that a link asks for, and how many of its parts this model cannot follow (they are left out)."""
        found, left_out = UNCHANGED, 0
        for part in filter(None, text[:LONGEST].split(",")):
            changed = self._add(found, part.strip())
            found, left_out = (found, left_out + 1) if changed is None else (changed, left_out)
        return found, left_out + (len(text) > LONGEST)

    def moved(self, text: str, levers: Mapping[str, str | None]) -> Edits:
        """The changes of a link after some of its parts were moved.

        Args:
            text: The link's `edit`.
            levers: By what a part begins with (`h1.2`, `l2c1`): the whole part, or None to leave it as trained.
        """
        link = self.read(text)[0].encode()  # one written by hand may say the same otherwise
        kept = [part for part in link.split(",") if part.partition(":")[0] not in levers]
        return self.read(",".join([*kept, *filter(None, levers.values())]))[0]

    def _add(self, edits: Edits, part: str) -> Edits | None:
        if part == _UNMIXED:
            return replace(edits, unmixed=True) if self.mixed else None
        if match := _LAMBDA.fullmatch(part):
            layer, component, value = int(match[1]) - 1, int(match[2]), float(match[3])
            known = 0 <= layer < self.layers and 1 <= component < self.components
            return edits.with_lambda(layer, component, value) if known and self.low <= value <= self.high else None
        if match := _FACTOR.fullmatch(part):
            value = float(match[1])
            return replace(edits, factor=value) if self.components > 1 and 0 <= value <= LARGEST else None
        if match := _GATE.fullmatch(part):
            layer, token, value = int(match[1]) - 1, int(match[2]) - 1, float(match[3])
            known = 0 <= layer < self.layers and 0 <= token < self.gated
            return edits.with_gate(layer, token, value) if known and 0 <= value <= 1 else None
        if match := _STRENGTH.fullmatch(part):
            value = float(match[1])
            return replace(edits, lexical=value) if self.lexical and 0 <= value <= STRONGEST else None
        match = _SWITCH.fullmatch(part)
        if match is None:
            return None
        kind, *places = (each for each in match.groups() if each is not None)
        return self._switch(edits, kind, [int(place) for place in places])

    def _switch(self, edits: Edits, kind: str, places: Sequence[int]) -> Edits | None:
        first, second = places[0] - 1, places[1] - 1
        if kind == "n":
            known = 0 <= first < len(self.pieces) and 0 <= second < self.pieces[first]
            return replace(edits, pieces_off=_also(edits.pieces_off, (first, second))) if known else None
        if not 0 <= first < self.layers:
            return None
        if kind == "c":
            known = places[1] < self.components
            return replace(edits, components_off=_also(edits.components_off, (first, places[1]))) if known else None
        if not 0 <= second < self.heads:
            return None
        if kind == "h":
            return replace(edits, heads_off=_also(edits.heads_off, (first, second)))
        known = places[2] < self.components
        return replace(edits, maps_off=_also(edits.maps_off, (first, second, places[2]))) if known else None


NOTHING = Editable(0, 0, 0, 0.0, 0.0)
"""Of a model without maps."""


Place = TypeVar("Place", bound=tuple[int, ...])


def _also(places: tuple[Place, ...], place: Place) -> tuple[Place, ...]:
    return tuple(sorted({*places, place}))


def editable(model: ModelConfig, learned: Learned) -> Editable:
    """What can be changed in this model."""
    attention = model.attention
    return Editable(model.layers, attention.heads, attention.components, *reach(attention, learned))


def allowed(record: RunRecord, trained: SentenceView, subtracts: bool) -> Editable:
    """What can be changed in a run that reads this text."""
    model = record.config.model
    return replace(
        editable(model, learned(trained, subtracts)),
        pieces=tuple(map(len, trained.pieces or ())),
        mixed=trained.mix is not None,
        gated=len(trained.tokens) - bool(trained.filled) if "gates" in provides(model) else 0,
        lexical=model.family == "encoder" and model.attention.lexical == "add",
    )
