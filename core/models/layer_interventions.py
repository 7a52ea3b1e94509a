"""The interventions (changes inside the model) on one layer as tensors, with one row for all texts or one for each."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from core.models.trace import Intervention, LayerTrace


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
