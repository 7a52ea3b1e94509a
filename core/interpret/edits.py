"""What a person changed inside a model: as data, as a line of text, and in words. No torch.

The line is the `edit` of a link, `--edit` of the command line and `edit=` in Python, its parts with commas between:

    h1.2              head 2 of layer 1 says nothing
    c2.1              A₁ of layer 2, in all heads
    m1.2.0            A₀ of head 2 of layer 1
    h1.2:mean         it says at every token the mean of what it says; so with c2.1:mean and m1.2.0:mean
    l2c1:0.5          λ₁ of layer 2 at 0.50
    l:0.5             every other λ times 0.50
    g1.3:0            the gate of the third token in layer 1 closed (g1.3:0.5: half open)
    s:0.5             half the strength of the lexical term
    s2                the lexical term of layer 2 off: nothing is added to its scores, or they are multiplied by nothing
    s2:mean           the mean of what they are multiplied by, over the tokens, in its place
    n3.2              the second piece of the third token silenced
    word=piece        the same by name, wherever the word stands
    seg.0             nothing is added for the text of a pair that a token stands in
    mix.0             TF-IDF taken out of the answer

Layers, heads, tokens and pieces count from 1 there, as on the pages; components from 0, as A₀, A₁ … do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from core.numbers import number, subscript

if TYPE_CHECKING:
    from core.models.trace import Intervention

UNMIXED = "mix.0"
UNSEGMENTED = "seg.0"
MEAN = ":mean"  # Behind a part that is not silent but says its mean
HOW = {"": "off", MEAN: "at its mean"}


@dataclass(frozen=True)
class Edits:
    """All changes against the model as trained, sorted; numbers from 0, as in `core.models.trace.Intervention`."""

    lambdas: tuple[tuple[int, int, float], ...] = ()  # (layer, component from 1, value)
    heads_off: tuple[tuple[int, int], ...] = ()  # (layer, head)
    components_off: tuple[tuple[int, int], ...] = ()  # (layer, component)
    maps_off: tuple[tuple[int, int, int], ...] = ()  # (layer, head, component)
    heads_mean: tuple[tuple[int, int], ...] = ()  # Heads at their mean over the tokens; none of them is off
    components_mean: tuple[tuple[int, int], ...] = ()
    maps_mean: tuple[tuple[int, int, int], ...] = ()
    gates: tuple[tuple[int, int, float], ...] = ()  # (layer, token, value)
    factor: float = 1.0  # On every λ as trained but those that are set
    lexical: float = 1.0  # Factor on the lexical term
    lexical_off: tuple[int, ...] = ()  # Layers whose lexical term is off
    lexical_mean: tuple[int, ...] = ()  # Layers where it is at its mean
    pieces_off: tuple[tuple[int, int], ...] = ()  # (token, character n-gram)
    segments_off: bool = False  # Nothing is added for the text of a pair that a token stands in
    unmixed: bool = False  # TF-IDF is taken out of the answer

    def __bool__(self) -> bool:
        """Is anything changed?"""
        return self != Edits()

    @property
    def inside(self) -> bool:
        """Is anything changed within the network?"""
        return replace(self, unmixed=False) != Edits()

    def value(self, layer: int, component: int) -> float | None:
        """Return the λ set here; None where it is the learned one."""
        return next((value for *place, value in self.lambdas if place == [layer, component]), None)

    def gate(self, layer: int, token: int) -> float | None:
        """Return the gate set here; None where it is the model's own."""
        return next((value for *place, value in self.gates if place == [layer, token]), None)

    def with_value(self, kind: Literal["lambdas", "gates"], place: tuple[int, int], value: float) -> Edits:
        """Return the same with one λ (layer, component) or one gate (layer, token) set."""
        others = [part for part in getattr(self, kind) if part[:2] != place]
        changed: dict[str, Any] = {kind: tuple(sorted([*others, (*place, round(value, 4))]))}
        return replace(self, **changed)

    def with_pieces(self, token: int, off: Iterable[int]) -> Edits:
        """Return the same with exactly these pieces of a token silenced."""
        others = [place for place in self.pieces_off if place[0] != token]
        return replace(self, pieces_off=tuple(sorted([*others, *((token, piece) for piece in set(off))])))

    def with_piece(self, token: int, piece: int) -> Edits:
        """Return the same with one more piece silenced."""
        return replace(self, pieces_off=tuple(sorted({*self.pieces_off, (token, piece)})))

    def with_silent(
        self,
        kind: Literal["heads", "components", "maps", "lexical"],
        place: tuple[int, ...] | int,
        *,
        mean: bool,
    ) -> Edits:
        """Return the same with a part of the model silent, or at its mean."""
        names = f"{kind}_off", f"{kind}_mean"
        kept = [[each for each in getattr(self, name) if each != place] for name in names]
        kept[mean].append(place)
        changed: dict[str, Any] = {name: tuple(sorted(places)) for name, places in zip(names, kept, strict=True)}
        return replace(self, **changed)

    def intervention(self) -> Intervention | None:
        """Return what is changed within the network, as a model takes it; None: nothing."""
        if not self.inside:
            return None
        from core.models.trace import Intervention  # torch

        sets = ("heads", "components", "maps", "lexical")
        names = [*(f"{kind}_{how}" for kind in sets for how in ("off", "mean")), "pieces_off"]
        silent: dict[str, Any] = {name: frozenset(getattr(self, name)) for name in names}
        return Intervention(
            self.lambdas,
            lambda_scale=self.factor,
            gates=self.gates,
            lexical_scale=self.lexical,
            segments_off=self.segments_off,
            **silent,
        )

    def encode(self) -> str:
        """Write all as one line; empty where nothing is changed."""
        return ",".join(line for parts in self._written().values() for line, _ in parts)

    def words(self) -> str:
        """Write all in words: `head 2 of layer 1 off, λ₁ of layer 2 = 0.50`."""
        kinds = self._written()
        first = {name: kinds[name] for name in ("heads", "components")}
        return ", ".join(words for parts in (first | kinds).values() for _, words in parts)

    def _written(self) -> dict[str, list[tuple[str, str]]]:
        """Return each change in a line and in words, by kind in the order of a line."""
        others = "other " * bool(self.lambdas)
        return {
            "lambdas": [
                (f"l{at + 1}c{i}:{value:g}", f"λ{subscript(i)} of layer {at + 1} = {number(value, 2)}")
                for at, i, value in self.lambdas
            ],
            "factor": [(f"l:{self.factor:g}", f"all {others}λ × {number(self.factor, 2)}")] * (self.factor != 1),
            "heads": [
                (f"h{at + 1}.{head + 1}{how}", f"head {head + 1} of layer {at + 1} {HOW[how]}")
                for (at, head), how in self._silent("heads")
            ],
            "components": [
                (f"c{at + 1}.{i}{how}", f"A{subscript(i)} of layer {at + 1} {HOW[how]}")
                for (at, i), how in self._silent("components")
            ],
            "maps": [
                (
                    f"m{at + 1}.{head + 1}.{i}{how}",
                    f"A{subscript(i)} of head {head + 1} of layer {at + 1} {HOW[how]}",
                )
                for (at, head, i), how in self._silent("maps")
            ],
            "gates": [
                (
                    f"g{at + 1}.{token + 1}:{value:g}",
                    f"gate of token {token + 1} in layer {at + 1} = {number(value, 2)}",
                )
                for at, token, value in self.gates
            ],
            "strength": [(f"s:{self.lexical:g}", f"lexical term × {number(self.lexical, 2)}")] * (self.lexical != 1),
            "lexical": [
                (f"s{at + 1}{how}", f"lexical term of layer {at + 1} {HOW[how]}") for at, how in self._silent("lexical")
            ],
            "pieces": [
                (f"n{token + 1}.{piece + 1}", f"piece {piece + 1} of token {token + 1} silenced")
                for token, piece in self.pieces_off
            ],
            "segments": [(UNSEGMENTED, "first and second text alike")] * self.segments_off,
            "mixture": [(UNMIXED, "TF-IDF taken out")] * self.unmixed,
        }

    def _silent(self, kind: str) -> list[tuple[Any, str]]:
        """Return the places that are off and those at their mean, each with what stands behind it in a line."""
        both = (("", getattr(self, f"{kind}_off")), (MEAN, getattr(self, f"{kind}_mean")))
        return [(place, how) for how, places in both for place in places]


UNCHANGED = Edits()
