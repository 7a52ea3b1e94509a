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
    """(B, L) bool, True at real tokens; all False for an empty text."""
    tags: Tensor | None = None
    """(B, L) int64: part of speech, 1 to 12; 0 where padded or unknown. None: texts without tags."""
    polarity: Tensor | None = None
    """(B, L, 3K): positive, neutral and negative shares in K lexicons; thirds if unlisted or padded; None: none."""
    grams: Tensor | None = None
    """(B, L, K) int64: the hash bucket of each character n-gram of a token, from 1; 0: no n-gram. None: not used."""

    @classmethod
    def from_arrays(cls, arrays: Iterable[Any]) -> Batch:
        """Create a batch of texts from NumPy arrays in the order of its fields, without copying."""
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
    """The trace of one attention layer: maps, coefficients and outputs. Tensors keep the autograd graph."""

    maps: Tensor | None
    """(B, N, H, L, L): softmax of each component; rows are queries, and masked keys have weight 0. None if a model with
    a window reads more than `attention.DENSE_TRACE` tokens."""
    coefficients: Tensor  # (B, N, H, L, 1): c of the combined map, interventions included; c_0 = 1 unless changed
    hidden: Tensor  # (B, L, d): the layer's output
    head_outputs: Tensor  # (B, H, L, d/H): combined map times values, after head norm and interventions, before W_O
    gates: Tensor | None = None  # (B, L): key gates, interventions included; 1 at a class token
    terms: dict[str, Tensor] = field(default_factory=dict)
    """Lexical terms of the scores, (B, H, L, L): `lexical` is added, `lexical_factor` multiplied; empty without maps"""
    temperature: Tensor | None = None  # (1,): factor of the cosines, if queries and keys are normalised
    support: Tensor | None = None  # (B, L, L) bool: which keys each query may see; None: all

    @property
    def combined(self) -> Tensor:
        """Return the combined attention map (B, H, L, L); RuntimeError if the text was too long to keep maps."""
        if self.maps is None:
            raise RuntimeError("no maps were kept of a text of this length")
        return (self.coefficients * self.maps).sum(1)


@dataclass(frozen=True)
class HeadTrace:
    """The trace of a model's head that has convolutions or attention of its own."""

    branches: dict[int, Tensor]  # Kernel width → (B, L, c): convolution after norm and ReLU; 0 where padded
    maps: Tensor | None  # (B, h, L, L): attention maps of the head


@dataclass(frozen=True)
class Trace:
    """The trace of a model's forward pass: everything that pages and analyses read from it."""

    layers: tuple[LayerTrace, ...]
    embedded: Tensor  # (B, L, d): input of the first layer
    keep: Tensor  # (B, L) bool; L includes a class token, at the first position
    positions: dict[str, Tensor] = field(default_factory=dict)
    """Learned factors of the position terms, each (1,): alpha (sinusoid), beta (recency), gamma (part of speech)."""
    tags: Tensor | None = None  # (B, L) int64: parts of speech that the model read; 13 at a class token
    polarity: Tensor | None = None  # (B, L, 3): positive, neutral and negative shares that the model read
    head: HeadTrace | None = None
    grams: Tensor | None = None  # (B, L, K): buckets of character n-grams that the model read; 0 if switched off
    segments: Tensor | None = None
    """(B, L) int64: 0 in the first text of a pair, its mark and a class token included, 1 in the second; None if the
    model adds no segment vectors."""


class Output(NamedTuple):
    """The output of a model's forward pass: logits, pooled text vectors, and trace on request."""

    logits: Tensor  # (B, C); of a token tagger (B, L, C), arbitrary where padded
    pooled: Tensor  # (B, d'): the last vector before the logits; of a token tagger the mean of these vectors
    trace: Trace | None = None
    similarity: Tensor | None = None  # (): mean cosine of the rows of two component maps, over layers, heads and tokens


@dataclass(frozen=True)
class Intervention:
    """A change inside the model for one forward pass; layers, heads and components (0: base) count from 0."""

    lambdas: tuple[tuple[int, int, float], ...] = ()  # (layer, component, value that replaces the learned lambda)
    lambda_scale: float = 1.0  # Factor on every learned lambda, but not on replaced ones
    heads_off: frozenset[tuple[int, int]] = frozenset()  # (layer, head): its output (after the head norm) is 0
    components_off: frozenset[tuple[int, int]] = frozenset()  # (layer, component): its coefficient is 0
    maps_off: frozenset[tuple[int, int, int]] = frozenset()  # (layer, head, component): the same in one head
    heads_mean: frozenset[tuple[int, int]] = frozenset()
    """(layer, head): its output is, at every token, the mean over the tokens that the model reads (class token and
    unmasked padding included). Parts that are also off stay off; the same holds for the next two."""
    components_mean: frozenset[tuple[int, int]] = frozenset()  # (layer, component): the same for a component
    maps_mean: frozenset[tuple[int, int, int]] = frozenset()  # (layer, head, component): the same in one head
    gates: tuple[tuple[int, int, float], ...] = ()  # (layer, token, value in [0, 1]); 0 hides the token
    pieces_off: frozenset[tuple[int, int]] = frozenset()  # (token, n-gram): it adds 0; the others are unchanged
    segments_off: bool = False  # No segment vectors are added to the texts of a pair
    lexical_scale: float = 1.0  # Factor on the added lexical term of every layer; 0 switches it off
    lexical_off: frozenset[int] = frozenset()
    """Layers whose lexical term is off: it is not added to the scores, or does not multiply them."""
    lexical_mean: frozenset[int] = frozenset()
    """Layers whose lexical factor is replaced, for each query, by its mean over the keys. An added term is off, as a
    softmax ignores a value that is equal for all keys."""
    hidden_from: frozenset[tuple[int, int]] = frozenset()  # (layer, token): its output is that of a donor text
    heads_from: frozenset[tuple[int, int]] = frozenset()  # (layer, head): its output is that of a donor text

    def get_lexical_factor(self, layer: int) -> float:
        """Return the factor on the added lexical term of a layer under this intervention."""
        return 0.0 if layer in self.lexical_off | self.lexical_mean else self.lexical_scale


Intervene = Intervention | Sequence[Intervention] | None
"""No intervention, one for all texts of a batch, or one for each text."""
