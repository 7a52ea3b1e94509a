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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from core.numbers import number, subscript

if TYPE_CHECKING:
    from core.models.trace import Intervention

UNMIXED = "mix.0"
UNSEGMENTED = "seg.0"
MEAN = ":mean"
"""Behind a part that is not silent but says its mean."""
HOW = {"": "off", MEAN: "at its mean"}

Place = TypeVar("Place", bound=tuple[int, ...] | int)


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
    heads_mean: tuple[tuple[int, int], ...] = ()
    """Which say their mean over the tokens in place of nothing; none of them is off. So with the next two."""
    components_mean: tuple[tuple[int, int], ...] = ()
    maps_mean: tuple[tuple[int, int, int], ...] = ()
    gates: tuple[tuple[int, int, float], ...] = ()
    """(layer, token, value)."""
    factor: float = 1.0
    """On every λ as trained but those that are set."""
    lexical: float = 1.0
    """Factor on the lexical term."""
    lexical_off: tuple[int, ...] = ()
    """Layers whose lexical term is off."""
    lexical_mean: tuple[int, ...] = ()
    """Layers where it is at its mean."""
    pieces_off: tuple[tuple[int, int], ...] = ()
    """(token, character n-gram)."""
    segments_off: bool = False
    """Nothing is added for the text of a pair that a token stands in."""
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

    def with_pieces(self, token: int, off: Iterable[int]) -> Edits:
        """The same with exactly these pieces of a token silenced."""
        others = [place for place in self.pieces_off if place[0] != token]
        return replace(self, pieces_off=tuple(sorted([*others, *((token, piece) for piece in set(off))])))

    def with_piece(self, token: int, piece: int) -> Edits:
        """The same with one more piece silenced."""
        return replace(self, pieces_off=tuple(sorted({*self.pieces_off, (token, piece)})))

    def with_head(self, place: tuple[int, int], *, mean: bool) -> Edits:
        """The same with a head silent, or at its mean."""
        off, level = _either(self.heads_off, self.heads_mean, place, mean=mean)
        return replace(self, heads_off=off, heads_mean=level)

    def with_component(self, place: tuple[int, int], *, mean: bool) -> Edits:
        """The same with a component of all heads silent, or at its mean."""
        off, level = _either(self.components_off, self.components_mean, place, mean=mean)
        return replace(self, components_off=off, components_mean=level)

    def with_map(self, place: tuple[int, int, int], *, mean: bool) -> Edits:
        """The same with a component of one head silent, or at its mean."""
        off, level = _either(self.maps_off, self.maps_mean, place, mean=mean)
        return replace(self, maps_off=off, maps_mean=level)

    def with_lexicon(self, layer: int, *, mean: bool) -> Edits:
        """The same with the lexical term of a layer off, or at its mean."""
        off, level = _either(self.lexical_off, self.lexical_mean, layer, mean=mean)
        return replace(self, lexical_off=off, lexical_mean=level)

    def intervention(self) -> Intervention | None:
        """What is changed within the network, as a model takes it; None: nothing."""
        if not self.inside:
            return None
        from core.models.trace import Intervention  # torch

        return Intervention(
            self.lambdas,
            lambda_scale=self.factor,
            heads_off=frozenset(self.heads_off),
            components_off=frozenset(self.components_off),
            maps_off=frozenset(self.maps_off),
            heads_mean=frozenset(self.heads_mean),
            components_mean=frozenset(self.components_mean),
            maps_mean=frozenset(self.maps_mean),
            gates=self.gates,
            lexical_scale=self.lexical,
            lexical_off=frozenset(self.lexical_off),
            lexical_mean=frozenset(self.lexical_mean),
            pieces_off=frozenset(self.pieces_off),
            segments_off=self.segments_off,
        )

    def encode(self) -> str:
        """As one line; empty where nothing is changed."""
        return ",".join(
            [
                *(f"l{layer + 1}c{component}:{value:g}" for layer, component, value in self.lambdas),
                *([f"l:{self.factor:g}"] if self.factor != 1 else ()),
                *(f"h{layer + 1}.{head + 1}{how}" for (layer, head), how in _both(self.heads_off, self.heads_mean)),
                *(f"c{layer + 1}.{i}{how}" for (layer, i), how in _both(self.components_off, self.components_mean)),
                *(
                    f"m{layer + 1}.{head + 1}.{i}{how}"
                    for (layer, head, i), how in _both(self.maps_off, self.maps_mean)
                ),
                *(f"g{layer + 1}.{token + 1}:{value:g}" for layer, token, value in self.gates),
                *([f"s:{self.lexical:g}"] if self.lexical != 1 else ()),
                *(f"s{layer + 1}{how}" for layer, how in _both(self.lexical_off, self.lexical_mean)),
                *(f"n{token + 1}.{piece + 1}" for token, piece in self.pieces_off),
                *([UNSEGMENTED] if self.segments_off else ()),
                *([UNMIXED] if self.unmixed else ()),
            ]
        )

    def words(self) -> str:
        """`head 2 of layer 1 off, λ₁ of layer 2 = 0.50`."""
        return ", ".join(
            [
                *(
                    f"head {head + 1} of layer {layer + 1} {HOW[how]}"
                    for (layer, head), how in _both(self.heads_off, self.heads_mean)
                ),
                *(
                    f"A{subscript(i)} of layer {layer + 1} {HOW[how]}"
                    for (layer, i), how in _both(self.components_off, self.components_mean)
                ),
                *(
                    f"λ{subscript(component)} of layer {layer + 1} = {number(value, 2)}"
                    for layer, component, value in self.lambdas
                ),
                *([f"all {'other ' * bool(self.lambdas)}λ × {number(self.factor, 2)}"] if self.factor != 1 else ()),
                *(
                    f"A{subscript(i)} of head {head + 1} of layer {layer + 1} {HOW[how]}"
                    for (layer, head, i), how in _both(self.maps_off, self.maps_mean)
                ),
                *(
                    f"gate of token {token + 1} in layer {layer + 1} = {number(value, 2)}"
                    for layer, token, value in self.gates
                ),
                *([f"lexical term × {number(self.lexical, 2)}"] if self.lexical != 1 else ()),
                *(
                    f"lexical term of layer {layer + 1} {HOW[how]}"
                    for layer, how in _both(self.lexical_off, self.lexical_mean)
                ),
                *(f"piece {piece + 1} of token {token + 1} silenced" for token, piece in self.pieces_off),
                *(["first and second text alike"] if self.segments_off else ()),
                *(["TF-IDF taken out"] if self.unmixed else ()),
            ]
        )


UNCHANGED = Edits()


def _either(
    off: Sequence[Place], level: Sequence[Place], place: Place, *, mean: bool
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """A place among those that are off, or that say their mean, and not among the others."""
    kept = [[each for each in places if each != place] for places in (off, level)]
    kept[mean].append(place)
    return tuple(sorted(kept[0])), tuple(sorted(kept[1]))


def _both(off: Sequence[Place], level: Sequence[Place]) -> Iterator[tuple[Place, str]]:
    """All of them, each with what stands behind it in a line."""
    return ((place, how) for places, how in ((off, ""), (level, MEAN)) for place in places)
