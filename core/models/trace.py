"""What goes into a model, what comes out, what can be seen inside and what can be changed there.

Letters used in every room: B batch, L tokens, H heads, N components, C classes, d width.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """B texts as token ids, padded on the right to the longest, with what is known of each token."""

    ids: Tensor
    """(B, L) int64, 0 where padded."""
    keep: Tensor
    """(B, L) bool, True at real tokens. A row may be all False (an empty text)."""
    tags: Tensor | None = None
    """(B, L) int64: part of speech, 1 to 12; 0 where padded or unknown. None: the texts were not tagged."""
    polarity: Tensor | None = None
    """(B, L, 3): how positive, neutral and negative a lexicon holds each token, sum 1; thirds where it knows nothing
    and where padded. None: no lexicon was asked."""


@dataclass(frozen=True)
class LayerTrace:
    """One layer's attention, seen from outside. Tensors keep the graph; whoever reads them detaches."""

    maps: Tensor
    """(B, N, H, L, L): softmax of each component; rows are queries. Padded keys weigh exactly 0."""
    coefficients: Tensor
    """(B, N, H, L, 1): c of the combined map, interventions included; c_0 = 1 unless changed."""
    hidden: Tensor
    """(B, L, d): the layer's output."""
    head_outputs: Tensor
    """(B, H, L, d/H): combined map times values, after the head norm and head switches, before W_O."""
    gates: Tensor | None = None
    """(B, L): key gates, where the model has them."""
    terms: dict[str, Tensor] = field(default_factory=dict)
    """Named additive score terms, each (B, 1|H, L, L)."""

    @property
    def combined(self) -> Tensor:
        """(B, H, L, L): sum over components of coefficient times map."""
        return (self.coefficients * self.maps).sum(1)


@dataclass(frozen=True)
class Trace:
    """Everything a page or an analysis reads of one traced call."""

    layers: tuple[LayerTrace, ...]
    embedded: Tensor
    """(B, L, d): what enters the first layer."""
    keep: Tensor
    """(B, L) bool; L counts the class token where the model has one (first position)."""


class Output(NamedTuple):
    """One return type for training, evaluation and explanation."""

    logits: Tensor
    """(B, C)."""
    pooled: Tensor
    """(B, d): the vector the head reads."""
    trace: Trace | None = None


@dataclass(frozen=True)
class Intervention:
    """A change of the inside, as data: an argument of one call that leaves nothing behind in the model.

    Layers, heads and components are counted from 0. Component 0 is the base component.
    """

    lambdas: tuple[tuple[int, int, float], ...] = ()
    """(layer, component, value): use this lambda, on all heads and tokens, in place of the learned one."""
    heads_off: frozenset[tuple[int, int]] = frozenset()
    """(layer, head): this head's output is 0 (after the head norm)."""
    components_off: frozenset[tuple[int, int]] = frozenset()
    """(layer, component): this component's coefficient is 0."""
