"""Inputs, outputs, trace and interventions of a model: B batch, L tokens, H heads, N components, C classes, d width."""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

Placing = Literal["", "off", "shuffled"]  # What an intervention does to positions; empty: nothing
Parts = tuple[tuple[Tensor | float, ...], ...]  # A sum of products, each of which broadcasts to the whole


class RecordedValue(NamedTuple):
    """An intermediate value of a forward pass, with its formula and the terms that it is the sum of."""

    value: Tensor  # One row per text
    formula: str = ""  # In LaTeX
    parts: Parts = ()  # The terms of its sum, before `after`
    after: str = ""  # The function applied to the sum: `sigmoid`; empty: none


@dataclass(eq=False)
class Record:
    """A record of the intermediate values of one forward pass, by LaTeX symbol, in the order of computation.

    It is an argument of one call: modules record their values in it, with the formula next to the code. `SILENT`
    records nothing and is false, so that values needed only for a record are not computed.
    """

    layer: int = 0  # The layer, from 0, that is recorded
    values: dict[str, RecordedValue] = field(default_factory=dict)
    inside: dict[str, "Record"] = field(default_factory=dict)
    """Records of `embedding`, `layer` and `head`; in a layer, of the terms `added` to the scores."""
    keeps: bool = True  # Whether anything is recorded

    def __bool__(self) -> bool:
        return self.keeps

    def __call__(self, name: str, value: Tensor, formula: str = "", parts: Parts = (), after: str = "") -> None:
        """Record one intermediate value of the forward pass by its symbol, unless recording is off."""
        if self.keeps:
            self.values[name] = RecordedValue(value, formula, parts, after)

    def get_part(self, name: str) -> "Record":
        """Return the nested record for a part of the model, such as embedding, layer or head."""
        return self.inside.setdefault(name, Record()) if self.keeps else self

    def get_layer(self, layer: int) -> "Record":
        """Return the record for a layer (from 0), or one that stores nothing if another layer is being recorded."""
        return self.get_part("layer") if layer == self.layer else SILENT


SILENT = Record(keeps=False)


class Batch(NamedTuple):
    """A batch of B texts as token ids, padded on the right, with the known features of each token."""

    ids: Tensor  # (B, L) int64, 0 where padded
    keep: Tensor  # (B, L) bool, True at real tokens; all False for an empty text
    tags: Tensor | None = None
    """(B, L) int64: part of speech, 1 to 12; 0 where padded or unknown. None: texts without tags."""
    polarity: Tensor | None = None
    """(B, L, 3K): positive, neutral and negative shares in K lexicons; thirds if unlisted or padded; None: none."""
    grams: Tensor | None = None
    """(B, L, K) int64: the hash bucket of each character n-gram of a token, from 1; 0: no n-gram. None: not used."""

    @classmethod
    def from_arrays(cls, arrays: Iterable[Any]) -> "Batch":
        """Create a batch of texts from NumPy arrays in the order of its fields, without copying."""
        return cls(*(None if each is None else torch.from_numpy(each) for each in arrays))  # type: ignore[arg-type]

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch of texts on another torch device."""
        return Batch(*(None if each is None else each.to(device) for each in self))  # type: ignore[arg-type]

    def repeat_text(self, times: int) -> "Batch":
        """Return a batch with its only text repeated `times` times, without copying."""
        return Batch(*(None if each is None else each.expand(times, *each.shape[1:]) for each in self))  # type: ignore[arg-type]

    def select_texts(self, rows: slice) -> "Batch":
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
    segments: Tensor | None = None
    """(B, L) int64: 0 in the first text of a pair, its mark and a class token included, 1 in the second; None if the
    model adds no segment vectors."""


class Output(NamedTuple):
    """The output of a model's forward pass: logits, pooled text vectors, and trace on request."""

    logits: Tensor  # (B, C); of a token tagger (B, L, C), arbitrary where padded
    pooled: Tensor  # (B, d'): the last vector before the logits; of a token tagger the mean of these vectors
    trace: Trace | None = None
    similarity: Tensor | None = None  # (): mean cosine of the rows of two component maps, over layers, heads and tokens
    passages: Any = None  # `core.models.passages.Passages` of texts that are read in passages


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
    segments_off: bool = False  # No segment vectors are added to the texts of a pair
    lexical_scale: float = 1.0  # Factor on the added lexical term of every layer; 0 switches it off
    lexical_off: frozenset[int] = frozenset()
    """Layers whose lexical term is off: it is not added to the scores, or does not multiply them."""
    lexical_mean: frozenset[int] = frozenset()
    """Layers whose lexical factor is replaced, for each query, by its mean over the keys. An added term is off, as a
    softmax ignores a value that is equal for all keys."""
    temperature: float = 1.0  # Divisor of all scores before the softmax
    positions: Placing = ""
    """Of the tokens: as trained, none (a part of speech stays), or exchanged among the words of a text."""
    hidden_from: frozenset[tuple[int, int]] = frozenset()  # (layer, token): its output is that of a donor text
    heads_from: frozenset[tuple[int, int]] = frozenset()  # (layer, head): its output is that of a donor text

    def find_first_layer(self, layers: int) -> int:
        """Return the first of so many layers whose output this can change: -1 if also its input, `layers` if none."""
        if self.positions or self.segments_off:
            return -1
        if self.lambda_scale != 1 or self.lexical_scale != 1 or self.temperature != 1:
            return 0
        maps = self.components_off, self.components_mean, self.maps_off, self.maps_mean
        heads = self.heads_off, self.heads_mean, self.heads_from
        named = [place[0] for each in (self.lambdas, self.gates, self.hidden_from, *maps, *heads) for place in each]
        return min([*named, *self.lexical_off, *self.lexical_mean, layers])

    def get_lexical_factor(self, layer: int) -> float:
        """Return the factor on the added lexical term of a layer under this intervention."""
        return 0.0 if layer in self.lexical_off | self.lexical_mean else self.lexical_scale


Intervene = Intervention | Sequence[Intervention] | None
"""No intervention, one for all texts of a batch, or one for each text."""


class LexicalChanges(NamedTuple):
    """Interventions on the lexical term of a layer's scores: a factor on it, and where it is off or averaged."""

    factor: Tensor  # (R,): on an added term
    off: Tensor  # (R,) bool: a multiplied term is left out
    mean: Tensor  # (R,) bool: the term is replaced by its mean over the keys


class Changes:
    """The interventions on one layer, with R rows: 1 for all texts of a batch, or one for each text."""

    def __init__(self, each: Sequence[Intervention], layer: int) -> None:
        self.each, self.layer = each, layer

    def change_lambdas(self, c: Tensor, sign: float) -> Tensor:
        """Return the map coefficients after interventions on λ: all scaled, or some set to sign times a value."""
        if any(each.lambda_scale != 1 for each in self.each):
            factors = [[1.0] + [each.lambda_scale] * (c.shape[1] - 1) for each in self.each]
            c = c * c.new_tensor(factors)[..., None, None, None]
        named = self._select_layer([each.lambdas for each in self.each])
        if named:
            c = c.expand(max(len(c), len(self.each)), *c.shape[1:]).clone()
        for row, component, value in named:
            c[self._index_texts(row), component] = sign * value
        return c

    def scale_scores(self, q: Tensor) -> Tensor:
        """Return queries (B, N, H, L, e') divided by the temperature of each text's intervention."""
        if all(each.temperature == 1 for each in self.each):
            return q
        return q / q.new_tensor([each.temperature for each in self.each])[:, None, None, None, None]

    def find_silent_maps(self, components: int, heads: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return which attention maps are switched off and which are replaced by their mean, (R, N, H, 1, 1) each."""
        off = [self._mark_silent_maps(each.components_off, each.maps_off, components, heads) for each in self.each]
        mean = [self._mark_silent_maps(each.components_mean, each.maps_mean, components, heads) for each in self.each]
        return _separate_mean(torch.tensor(off, device=device), torch.tensor(mean, device=device))

    def find_silent_heads(self, heads: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return which heads are switched off and which are replaced by their mean, (R, H, 1, 1) bool each."""
        off, mean = (
            torch.tensor([[(self.layer, head) in each for head in range(heads)] for each in named], device=device)
            for named in zip(*((each.heads_off, each.heads_mean) for each in self.each), strict=True)
        )
        return _separate_mean(off, mean)

    def patch_hidden(self, x: Tensor, donor: Sequence[LayerTrace]) -> Tensor:
        """Replace hidden states (B, L, d) of a layer by those of a donor text, at the tokens to patch."""
        taken = self._find_patched([each.hidden_from for each in self.each], x)
        return x if taken is None else torch.where(taken[..., None], donor[self.layer].hidden, x)

    def patch_head_outputs(self, x: Tensor, donor: Sequence[LayerTrace]) -> Tensor:
        """Replace head outputs (B, H, L, d/H) by those of a donor text, for the heads to patch."""
        taken = self._find_patched([each.heads_from for each in self.each], x)
        return x if taken is None else torch.where(taken[..., None, None], donor[self.layer].head_outputs, x)

    def _find_patched(self, named: Sequence[frozenset[tuple[int, int]]], x: Tensor) -> Tensor | None:
        """Return a mask of the tokens (R, L) or heads (R, H) that get a donor text's values; None if there are none."""
        if not any(named):
            return None
        rows = [[(self.layer, place) in each for place in range(x.shape[1])] for each in named]
        return torch.tensor(rows, device=x.device)

    def change_gates(self, log_gate: Tensor) -> Tensor:
        """Return the keys' log gates (B, L) after interventions; closed ones become 0, as a mask hides their keys."""
        named = self._select_layer([each.gates for each in self.each])
        log_gate = log_gate.clone() if named else log_gate
        for row, token, value in named:
            log_gate[self._index_texts(row), token] = math.log(value) if value > 0 else 0.0
        return log_gate

    def find_closed_keys(self, keep: Tensor) -> Tensor:
        """Return a mask (R, L) of the keys that a closed gate hides, since log 0 in the scores would make them NaN."""
        closed = torch.zeros(len(self.each), keep.shape[1], dtype=torch.bool, device=keep.device)
        for row, token, value in self._select_layer([each.gates for each in self.each]):
            closed[row, token] = value == 0
        return closed

    def get_lexical_changes(self, like: Tensor) -> LexicalChanges:
        """Return the interventions on the lexical term of this layer as tensors."""
        off, mean = (
            torch.tensor([self.layer in named for named in layers], device=like.device)
            for layers in zip(*((each.lexical_off, each.lexical_mean) for each in self.each), strict=True)
        )
        return LexicalChanges(
            like.new_tensor([each.get_lexical_factor(self.layer) for each in self.each]), off, mean & ~off
        )

    def _select_layer(self, named: Sequence[tuple[tuple[int, int, float], ...]]) -> list[tuple[int, int, float]]:
        """Return the changes that concern this layer, as (row of the batch, number of the map or token, new value)."""
        return [(row, i, value) for row, each in enumerate(named) for at, i, value in each if at == self.layer]

    def _mark_silent_maps(
        self, whole: Container[tuple[int, int]], single: Container[tuple[int, int, int]], components: int, heads: int
    ) -> list[list[bool]]:
        layer = self.layer
        return [[(layer, i) in whole or (layer, head, i) in single for head in range(heads)] for i in range(components)]

    def _index_texts(self, row: int) -> slice | int:
        return slice(None) if len(self.each) == 1 else row


def _separate_mean(off: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    return off[..., None, None], (mean & ~off)[..., None, None]
