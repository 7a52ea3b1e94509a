"""The forward pass of one text as stages: formulas, matrices with the rule of their cells, and how to read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.interpret.rules import Rule, short

Kind = Literal["number", "score", "weight", "count"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A named matrix; rows and columns have names too."""

    name: str
    """LaTeX."""
    values: np.ndarray
    """(R, C) float64; −∞ where a score is hidden."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    kind: Kind = "number"
    """A score is compared with the others, a weight is mostly between 0 and 1, a count is a whole number."""
    rule: Rule | None = None
    """How its cells follow from others; None: it is given."""
    words: tuple[tuple[str, ...], ...] = ()
    """(R, …) further columns that are words; their names follow those of the numbers in `columns`."""

    def filled(self, row: int, column: int) -> str:
        """The formula of a cell with its numbers: `0.42·1.10 + … = 2.31`; of a given one the number."""
        value = self.values[row, column]
        said = str(int(value)) if self.kind == "count" else short(value)
        return said if self.rule is None else f"{self.rule.filled(row, column)} = {said}"


@dataclass(frozen=True)
class Stage:
    """One step from the text to the answer."""

    key: str
    """tokens, embedding, queries, scores, terms, mask, softmax, combine, mix, heads, residual, feedforward,
    convolutions, head-attention, states, largest, weights, valences, pool, dense, logits, probabilities."""
    title: str
    formulas: tuple[str, ...]
    """LaTeX, the letters of `core.models.equation`."""
    reading: str
    """How to read it; of a stage that the model does not have, that it has none."""
    matrices: tuple[Matrix, ...] = ()
    """The last is what comes out; empty: the model has no such stage."""

    @property
    def made(self) -> np.ndarray:
        """What comes out."""
        return self.matrices[-1].values


@dataclass(frozen=True)
class Steps:
    """All stages of one text, with the layer, head and component that they are of."""

    text: str
    tokens: tuple[str, ...]
    """As the model reads them, a class token first and padding last where it reads those."""
    stages: tuple[Stage, ...]
    layer: int
    """From 1; 0 without layers."""
    head: int
    """From 1; 0 without heads."""
    component: int
    """From 0."""
    layers: int
    heads: int
    components: int
    notes: tuple[str, ...]
    """What of the text is unknown or cut off."""

    def stage(self, key: str) -> Stage:
        """By its key; KeyError: there is none."""
        return {stage.key: stage for stage in self.stages}[key]


def numbered(many: int) -> tuple[str, ...]:
    """Names of the dimensions of vectors, from 1."""
    return tuple(str(i) for i in range(1, many + 1))
