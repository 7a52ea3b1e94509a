"""A record of intermediate values of a model's forward pass, for step-by-step display.

A `Record` is an argument of one call, like `trace` and `intervene`: modules record their values in it, with the formula
next to the code. `SILENT` records nothing and is false, so that values needed only for a record are not computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

Parts = tuple[tuple[Tensor | float, ...], ...]  # A sum of products, each of which broadcasts to the whole


class RecordedValue(NamedTuple):
    """An intermediate value of a forward pass, with its formula and the terms that it is the sum of."""

    value: Tensor  # One row per text
    formula: str = ""  # In LaTeX
    parts: Parts = ()  # The terms of its sum, before `after`
    after: str = ""  # The function applied to the sum: `sigmoid`; empty: none


@dataclass(eq=False)
class Record:
    """A record of the intermediate values of one forward pass, by LaTeX symbol, in the order of computation."""

    layer: int = 0  # The layer, from 0, that is recorded
    values: dict[str, RecordedValue] = field(default_factory=dict)
    inside: dict[str, Record] = field(default_factory=dict)
    """Records of `embedding`, `layer` and `head`; in a layer, of the terms `added` to the scores."""
    keeps: bool = True  # Whether anything is recorded

    def __bool__(self) -> bool:
        return self.keeps

    def __call__(self, name: str, value: Tensor, formula: str = "", parts: Parts = (), after: str = "") -> None:
        """Record one intermediate value of the forward pass by its symbol, unless recording is off."""
        if self.keeps:
            self.values[name] = RecordedValue(value, formula, parts, after)

    def get_part(self, name: str) -> Record:
        """Return the nested record for a part of the model, such as embedding, layer or head."""
        return self.inside.setdefault(name, Record()) if self.keeps else self

    def get_layer(self, layer: int) -> Record:
        """Return the record for a layer (from 0), or one that stores nothing if another layer is being recorded."""
        return self.get_part("layer") if layer == self.layer else SILENT


SILENT = Record(keeps=False)
