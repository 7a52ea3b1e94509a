"""The shape of what was measured of explanations, as it is kept on disk. Imports nothing heavy: pages read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from core.stored import Count, Figure

POINTS = 11
"""Of a curve."""
Some = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]
Chances = Annotated[tuple[Chance, ...], msgspec.Meta(min_length=POINTS, max_length=POINTS)]


@dataclass(frozen=True)
class Number:
    """A mean over sentences with its 95 % interval."""

    value: Figure
    low: Figure
    high: Figure
    n: Some
    """Sentences that have a value."""


@dataclass(frozen=True)
class Curve:
    """Mean probability of the answer at `POINTS` shares of the words, from none to all, with 95 % intervals."""

    values: Chances
    low: Chances
    high: Chances


@dataclass(frozen=True)
class Measured:
    """One method on the sentences."""

    method: str
    tests: dict[str, Number]
    """By name in `verdict.THRESHOLDS` but `answers`, as far as they could be measured."""
    areas: dict[str, Number]
    """Under the curves: of `insertion`, `deletion` (not of itself) and `random` orders."""
    control: dict[str, Number]
    """What `insertion` and `deletion` come to on the model of shuffled weights, explained by the same method."""
    curves: dict[str, Curve]
    """`insertion`, `deletion` (not of itself) and `random`: words put back; read backwards, words taken out."""
    agreement: dict[str, Number]
    """By other method the rank agreement of pushes; of sizes where one of the two has no side."""


@dataclass(frozen=True)
class Belief:
    """What was measured of a run."""

    sentences: Some
    left_out: Count
    """Sentences of fewer than three words."""
    cut: Count
    """Sentences of more than sixty words, or of more tokens than the model reads; the first are read."""
    answers: Number
    """Right answers beyond chance."""
    methods: tuple[Measured, ...]
