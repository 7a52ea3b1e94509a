"""The inputs, outputs, inner trace and interventions of a model's forward pass.

Letters used in every room: B batch, L tokens, H heads, N components, C classes, d width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """A batch of B texts as token ids, padded on the right, with the known features of each token."""

    ids: Tensor  # (B, L) int64, 0 where padded
    keep: Tensor
    """(B, L) bool, True at real tokens. A row may be all False (an empty text)."""
    tags: Tensor | None = None
    """(B, L) int64: part of speech, 1 to 12; 0 where padded or unknown. None: the texts were not tagged."""
    polarity: Tensor | None = None
    """(B, L, 3K): how positive, neutral and negative each of K lexicons holds each token, sum 1; thirds where it knows
    nothing and where padded. None: no lexicon was asked."""
    grams: Tensor | None = None
    """(B, L, K) int64: the bucket of each of a token's character n-grams, counted from 1; 0 where there is none. None:
    they are not read."""

    @classmethod
    def from_arrays(cls, arrays: Iterable[Any]) -> Batch:
        """Create a batch of texts from NumPy arrays, given in the order of the batch's fields, without copying."""
        return cls(*(None if each is None else torch.from_numpy(each) for each in arrays))  # type: ignore[arg-type]

    def to(self, device: torch.device) -> Batch:
        """Return the same batch of texts on another torch device."""
        return Batch(*(None if each is None else each.to(device) for each in self))  # type: ignore[arg-type]

    def repeat_text(self, times: int) -> Batch:
        """Return a batch with its only text repeated `times` times, without copying."""
        return Batch(*(None if each is None else each.expand(times, *each.shape[1:]) for each in self))  # type: ignore[arg-type]

    def select_texts(self, rows: slice) -> Batch:
        """Return some texts of a batch by a slice, with unchanged padding."""
        return Batch(*(None if each is None else each[rows] for each in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class LayerTrace:
    """The inner values of one attention layer: maps, coefficients and outputs. Tensors keep the autograd graph."""

    maps: Tensor | None
    """(B, N, H, L, L): softmax of each component; rows are queries. Masked keys weigh exactly 0. None where a model
    with a window reads more than `attention.DENSE_TRACE` tokens."""
    coefficients: Tensor  # (B, N, H, L, 1): c of the combined map, interventions included; c_0 = 1 unless changed
    hidden: Tensor  # (B, L, d): the layer's output
    head_outputs: Tensor  # (B, H, L, d/H): combined map times values, after head norm and switches, before W_O
    gates: Tensor | None = None  # (B, L): key gates, interventions included, where there are any; 1 at a class token
    terms: dict[str, Tensor] = field(default_factory=dict)
    """What a lexicon does to the scores, (B, H, L, L): `lexical` is added, `lexical_factor` multiplied.
    Empty where there are no maps."""
    temperature: Tensor | None = None  # (1,): factor of the cosines, where queries and keys are normalised
    support: Tensor | None = None  # (B, L, L) bool: who may see whom, where not everybody may see everybody

    @property
    def combined(self) -> Tensor:
        """Return the combined attention map (B, H, L, L); RuntimeError if no maps are kept, as the text is too long."""
        if self.maps is None:
            raise RuntimeError("no maps were kept of a text of this length")
        return (self.coefficients * self.maps).sum(1)


@dataclass(frozen=True)
class HeadTrace:
    """The inner values of a model's head that has convolutions or attention of its own."""

    branches: dict[int, Tensor]  # By kernel width, (B, L, c): each convolution after norm and ReLU; 0 where padded
    maps: Tensor | None
    """(B, h, L, L): the head's own attention."""


@dataclass(frozen=True)
class Trace:
    """The inner values of a model's forward pass: everything that pages and analyses show of it."""

    layers: tuple[LayerTrace, ...]
    embedded: Tensor  # (B, L, d): what enters the first layer
    keep: Tensor
    """(B, L) bool; L counts the class token where the model has one (first position)."""
    positions: dict[str, Tensor] = field(default_factory=dict)
    """Learned factors of the position terms, each (1,): alpha (sinusoid), beta (recency), gamma (part of speech)."""
    tags: Tensor | None = None
    """(B, L) int64: parts of speech as the model read them, 13 at a class token."""
    polarity: Tensor | None = None
    """(B, L, 3): positive, neutral, negative, as the model read them."""
    head: HeadTrace | None = None
    grams: Tensor | None = None
    """(B, L, K): the buckets of each token's character n-grams as the model read them, silenced ones 0."""
    segments: Tensor | None = None
    """(B, L) int64: 0 in the first text of a pair, its mark and a class token included, 1 in the second; None where the
    model adds nothing for it."""


class Output(NamedTuple):
    """The output of a model's forward pass: logits, pooled text vectors, and trace on request."""

    logits: Tensor  # (B, C); of a model that tags each token (B, L, C), without meaning where padded
    pooled: Tensor  # (B, d'): the last vector before the logits; of a model that tags each token the mean of them
    trace: Trace | None = None
    similarity: Tensor | None = None  # (): mean cosine of the rows of two component maps, over layers, heads and tokens


@dataclass(frozen=True)
class Intervention:
    """A change inside the model for one forward pass, such as heads switched off or λ replaced.

    Layers, heads and components are counted from 0. Component 0 is the base component.
    """

    lambdas: tuple[tuple[int, int, float], ...] = ()  # (layer, component, value): in place of the learned lambda
    lambda_scale: float = 1.0  # Factor on every lambda as learned; one that is replaced stays as it is replaced
    heads_off: frozenset[tuple[int, int]] = frozenset()  # (layer, head): this head's output is 0 (after the head norm)
    components_off: frozenset[tuple[int, int]] = frozenset()  # (layer, component): this component's coefficient is 0
    maps_off: frozenset[tuple[int, int, int]] = frozenset()  # (layer, head, component): the same in this head alone
    heads_mean: frozenset[tuple[int, int]] = frozenset()
    """(layer, head): at every token the mean of what this head says over the tokens that are read, a class token and
    padding that is read as text among them. What is off as well stays off; so with the next two."""
    components_mean: frozenset[tuple[int, int]] = frozenset()  # (layer, component): the same of a component
    maps_mean: frozenset[tuple[int, int, int]] = frozenset()  # (layer, head, component): the same of one in one head
    gates: tuple[tuple[int, int, float], ...] = ()  # (layer, token, value in [0, 1]); 0 hides the token
    pieces_off: frozenset[tuple[int, int]] = frozenset()  # (token, n-gram): it adds 0; the others weigh as before
    segments_off: bool = False  # Nothing is added for the text of a pair that a token stands in
    lexical_scale: float = 1.0  # Factor on the added lexical term of every layer; 0 switches it off
    lexical_off: frozenset[int] = frozenset()
    """Layers whose lexical term is off: nothing is added to the scores, or the content is multiplied by nothing."""
    lexical_mean: frozenset[int] = frozenset()
    """Layers where the content is multiplied, for each query, by the mean of the factor over the keys that are read. An
    added term would have one mean for all keys, which a softmax does not see: it is off."""
    hidden_from: frozenset[tuple[int, int]] = frozenset()  # (layer, token): here it gives what it gave of a donor
    heads_from: frozenset[tuple[int, int]] = frozenset()  # (layer, head): what it says is what it said of the donor

    def get_lexical_factor(self, layer: int) -> float:
        """Return the factor by which this intervention multiplies the added lexical term of a layer."""
        return 0.0 if layer in self.lexical_off | self.lexical_mean else self.lexical_scale


Intervene = Intervention | Sequence[Intervention] | None
"""What is changed: nothing, the same in all texts of a batch, or something else in each."""
