"""Long texts read in passages: a batch of texts as one of passages, their weights, and values put together."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.models.trace import Batch, Intervention, LayerTrace, Trace

PORTION = 16_384
"""Tokens that are read at once, at most, by an encoder of passages; in training their gradients are added up."""


class PassagePooling(nn.Module):
    """Attention over the passages of a text: softmax(q · p) over their pooled vectors p; equal at first."""

    def __init__(self, *, width: int, most: int) -> None:
        super().__init__()
        self.most = most  # tokens of a passage
        self.query = nn.Parameter(torch.zeros(width))

    def forward(self, pooled: Tensor, texts: Tensor, count: int) -> Tensor:
        """Map pooled vectors (P, d') of the passages of `count` texts to the weights (B, P) of each text's passages."""
        own = texts == torch.arange(count, device=texts.device)[:, None]
        return (pooled @ self.query).expand(count, -1).masked_fill(~own, -torch.inf).softmax(1)


@dataclass(frozen=True)
class Passages:
    """The P passages of a batch of B texts, text by text, each of W tokens at most; those of a text equally long."""

    texts: Tensor  # (P,)
    starts: Tensor  # (P,): first token
    ends: Tensor  # (P,): the token behind it
    keep: Tensor  # (P, W)
    whole: Tensor  # (B, L): real tokens of the texts
    logits: Tensor | None = None  # (P, C), once they are read
    weights: Tensor | None = None  # (P,): of each in the logits of its text, where they sum to 1

    @classmethod
    def split_texts(cls, keep: Tensor, most: int) -> "Passages":
        """Split texts with the mask of real tokens `keep` (B, L) into passages of at most `most` tokens."""
        lengths = keep.sum(1)
        counts = ((lengths + most - 1) // most).clamp(min=1)
        texts = torch.arange(len(keep), device=keep.device).repeat_interleave(counts)
        number = torch.arange(len(texts), device=keep.device) - (counts.cumsum(0) - counts)[texts]
        starts, ends = (lengths[texts] * each // counts[texts] for each in (number, number + 1))
        columns = torch.arange(max(1, int((ends - starts).max())), device=keep.device)
        return cls(texts, starts, ends, columns < (ends - starts)[:, None], keep)

    def select_batch(self, rows: Tensor, batch: Batch, embedded: Tensor | None) -> tuple[Batch, Tensor | None]:
        """Return the passages `rows` as a batch of texts, and their embeddings if those of the texts are given."""
        keep = self.keep[rows, : max(1, int(self.keep[rows].sum(1).max()))]
        columns = torch.arange(keep.shape[1], device=keep.device)
        at = self.texts[rows, None], (self.starts[rows, None] + columns).clamp(max=self.whole.shape[1] - 1)
        ids, _, *features, words = (None if each is None else each[at] for each in (*batch, embedded))
        return Batch(ids, keep, *features), words  # type: ignore[arg-type]

    def split_interventions(self, changes: Sequence[Intervention]) -> list[Intervention]:
        """Return the interventions on the passages: those on their texts, with gates counted from their first token."""
        found = []
        for text, start, end in zip(*(each.tolist() for each in (self.texts, self.starts, self.ends)), strict=True):
            change = changes[text if len(changes) > 1 else 0]
            gates = ((layer, token - start, value) for layer, token, value in change.gates if start <= token < end)
            found.append(dataclasses.replace(change, gates=tuple(gates)))
        return found

    def join_tokens(self, values: Tensor, axis: int = 1) -> Tensor:
        """Put values of the passages' tokens (P, …, W, …) together to (B, …, L, …), 0 at padding."""
        joined = values.new_zeros(*self.whole.shape, *values.movedim(axis, 1).shape[2:])
        joined[self.whole] = values.movedim(axis, 1)[self.keep]
        return joined.movedim(1, axis)

    def join_trace(self, trace: Trace) -> Trace:
        """Put the trace of all passages together to that of the texts, without maps: a passage sees only itself."""

        def join_fields(part: LayerTrace | Trace, **axes: int) -> dict[str, Any]:
            found = {name: (getattr(part, name), axis) for name, axis in axes.items()}
            return {name: self.join_tokens(*each) for name, each in found.items() if each[0] is not None}

        layers = [(each, join_fields(each, coefficients=3, hidden=1, head_outputs=2, gates=1)) for each in trace.layers]
        joined = tuple(dataclasses.replace(each, maps=None, terms={}, support=None, **own) for each, own in layers)
        own = join_fields(trace, embedded=1, tags=1, polarity=1)
        return dataclasses.replace(trace, layers=joined, keep=self.whole, head=None, **own)
