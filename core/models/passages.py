"""Long texts read in passages: a batch of texts as one of passages, the passages' weights, and values put together."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from core.models.trace import Batch, Intervention, LayerTrace, Trace

PORTION = 16_384
"""Tokens that are read at once, at most, by an encoder of passages; in training their gradients are added up."""


class PassageOutput(NamedTuple):
    """The logits of the P passages of a batch of texts, and their weights in the logits of their texts."""

    texts: Tensor  # (P,): which text a passage is part of
    ends: Tensor  # (P,): the token of its text behind a passage
    weights: Tensor  # (P,): above 0; those of a text sum to 1
    logits: Tensor  # (P, C)


class PassagePooling(nn.Module):
    """Attention over the passages of a text: softmax(q · p) over their pooled vectors p; equal at first."""

    def __init__(self, *, width: int, most: int) -> None:
        super().__init__()
        self.most = most  # tokens of a passage
        self.query = nn.Parameter(torch.zeros(width))

    def forward(self, pooled: Tensor, texts: Tensor, count: int) -> Tensor:
        """Map pooled vectors (P, d') of the passages of `count` texts to the weights (B, P) of each text's passages."""
        own = texts == torch.arange(count, device=texts.device)[:, None]
        scores = (pooled @ self.query).expand(count, -1)
        return scores.masked_fill(~own, -torch.inf).softmax(1)


@dataclass(frozen=True)
class Passages:
    """The P passages of a batch of B texts, text by text, each of W tokens at most; those of a text equally long."""

    texts: Tensor  # (P,)
    starts: Tensor  # (P,): first token
    ends: Tensor  # (P,): the token behind it
    keep: Tensor  # (P, W)
    whole: Tensor  # (B, L): real tokens of the texts

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

    def select_passages(self, rows: Tensor, values: Tensor) -> Tensor:
        """Return the passages `rows` of values of the texts' tokens (B, L, …), padded to the longest of these."""
        columns = torch.arange(int(self.keep[rows].sum(1).max().clamp(min=1)), device=rows.device)
        places = (self.starts[rows, None] + columns).clamp(max=values.shape[1] - 1)
        return values[self.texts[rows, None], places]

    def select_batch(self, rows: Tensor, batch: Batch) -> Batch:
        """Return the passages `rows` as a batch of texts; the features at padding are those of other tokens."""
        ids, *features = (
            None if each is None else self.select_passages(rows, each) for each in batch._replace(keep=None)
        )
        return Batch(ids, self.keep[rows, : ids.shape[1]], *features[1:])

    def split_interventions(self, changes: Sequence[Intervention]) -> Sequence[Intervention]:
        """Return the interventions on the passages, one for each, where those on the texts differ or name tokens."""
        if len(changes) < 2 and not any(each.gates for each in changes):
            return changes
        spans = zip(self.texts.tolist(), self.starts.tolist(), self.ends.tolist(), strict=True)
        return [_shift_gates(changes[text if len(changes) > 1 else 0], start, end) for text, start, end in spans]

    def join_tokens(self, values: Tensor, axis: int = 1) -> Tensor:
        """Put values of the passages' tokens (P, …, W, …) together to (B, …, L, …), 0 at padding."""
        joined = values.new_zeros(*self.whole.shape, *values.movedim(axis, 1).shape[2:])
        joined[self.whole] = values.movedim(axis, 1)[self.keep]
        return joined.movedim(1, axis)

    def join_trace(self, trace: Trace) -> Trace:
        """Put the trace of all passages together to that of the texts, without maps: a passage sees only itself."""

        def join_fields(part: LayerTrace | Trace, axes: Mapping[str, int], **more: Any) -> Any:
            values = {name: getattr(part, name) for name in axes}
            joined = {
                name: each if each is None else self.join_tokens(each, axes[name]) for name, each in values.items()
            }
            return dataclasses.replace(part, **joined, **more)

        inside = {"coefficients": 3, "hidden": 1, "head_outputs": 2, "gates": 1}
        layers = tuple(join_fields(each, inside, maps=None, terms={}, support=None) for each in trace.layers)
        outside = {"embedded": 1, "tags": 1, "polarity": 1}
        whole: Trace = join_fields(trace, outside, layers=layers, keep=self.whole, head=None)
        return whole


def _shift_gates(change: Intervention, start: int, end: int) -> Intervention:
    """Return an intervention on a text as one on a passage of it: only its gates, counted from its first token."""
    own = tuple((layer, token - start, value) for layer, token, value in change.gates if start <= token < end)
    return dataclasses.replace(change, gates=own)
