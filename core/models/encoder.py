"""Token ids to class logits: embedding and positions, layers, pooling, linear head."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Literal, cast

import torch
from torch import Tensor, nn

from core.exceptions import InputError
from core.models.attention import Attention
from core.models.dropout import Dropout
from core.models.trace import Batch, Intervention, LayerTrace, Output, Trace


class Layer(nn.Module):
    """Attention and feed-forward on residual branches; pre: x + f(norm(x)), post: norm(x + f(x)).

    Args:
        attention: the attention of this layer.
        feedforward: (B, L, d) → (B, L, d).
        norms: of the two branches.
        place: before the branch or after the sum.
        dropout: on the output of both branches.
    """

    def __init__(
        self,
        *,
        attention: Attention,
        feedforward: nn.Module,
        norms: tuple[nn.Module, nn.Module],
        place: Literal["pre", "post"],
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.attention_norm, self.feedforward_norm = norms
        self.pre = place == "pre"
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, keep: Tensor, *, trace: bool, intervene: Intervention | None
    ) -> tuple[Tensor, LayerTrace | None]:
        """x (B, L, d) → (B, L, d) and, if asked, the trace."""
        inner = self.attention_norm(x) if self.pre else x
        attended, seen = self.attention(inner, keep, trace=trace, intervene=intervene)
        x = x + self.dropout(attended)
        x = x if self.pre else self.attention_norm(x)
        inner = self.feedforward_norm(x) if self.pre else x
        x = x + self.dropout(self.feedforward(inner))
        x = x if self.pre else self.feedforward_norm(x)
        return x, None if seen is None else dataclasses.replace(seen, hidden=x)


class EncoderClassifier(nn.Module):
    """A small transformer that reads a text and gives one logit per class.

    Args:
        vocabulary: rows of the embedding.
        classes: C.
        width: d.
        layers: from the first to the last.
        final_norm: after the last layer (pre-norm models), or identity.
        sinusoidal: add sinusoidal positions to the embedding.
        pooling: mean over the tokens, or the output at a learned class token put first.
        dropout: after the embedding.
        provides: what this model can show; pages ask this and never the class.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        classes: int,
        width: int,
        layers: list[Layer],
        final_norm: nn.Module,
        sinusoidal: bool,
        pooling: Literal["mean", "cls"],
        dropout: float,
        provides: frozenset[str],
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.class_token = nn.Parameter(torch.zeros(width)) if pooling == "cls" else None
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm
        self.head = nn.Linear(width, classes)
        self.dropout = Dropout(dropout)
        self.sinusoidal = sinusoidal
        self.provides = provides

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervention | None = None) -> Output:
        """Classify a batch; with `trace`, also show the inside (evaluation mode only).

        Raises:
            RuntimeError: if a trace is asked for in training mode, where dropout would make it a picture of chance.
            InputError: if the intervention names a layer, head or component that does not exist.
        """
        if trace and self.training:
            raise RuntimeError("a trace needs eval(): dropout would change what it shows")
        if intervene is not None:
            self._check(intervene)
        x, keep = self._embed(batch)
        embedded, seen = x, []
        for layer in self.layers:
            x, layer_trace = layer(x, keep, trace=trace, intervene=intervene)
            seen.append(layer_trace)
        x = self.final_norm(x)
        pooled = x[:, 0] if self.class_token is not None else mean_pool(x, keep)
        shown = Trace(layers=tuple(seen), embedded=embedded, keep=keep) if trace else None
        return Output(logits=self.head(pooled), pooled=pooled, trace=shown)

    def lambdas(self) -> list[Tensor | None]:
        """Per layer (N-1, S), or None where lambda depends on the input; an empty list for plain attention."""
        return [attention.mixing.lambdas() for attention in self._attentions] if "lambda" in self.provides else []

    def lambda_parameters(self) -> set[str]:
        """Names of the parameters that make lambda: they are not decayed (NDT, section on training)."""
        return {name for name, _ in self.named_parameters() if ".mixing." in name}

    @property
    def _attentions(self) -> list[Attention]:
        return [layer.attention for layer in cast(Iterable[Layer], self.layers)]

    def _embed(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, L, d) and keep (B, L); L is one longer with a class token.

        The table is drawn from N(0, 1/d) and scaled by sqrt(d), so that words and positions weigh alike.
        """
        x, keep = self.embedding(batch.ids) * math.sqrt(self.embedding.embedding_dim), batch.keep
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(len(x), 1, -1), x], 1)
            keep = torch.cat([keep.new_ones(len(keep), 1), keep], 1)
        if self.sinusoidal:
            x = x + sinusoid(x.shape[1], x.shape[2], x.device)
        return self.dropout(x), keep

    def _check(self, intervene: Intervention) -> None:
        attention = self._attentions[0]
        limits = (
            ("component", attention.components, [(layer, i) for layer, i, _ in intervene.lambdas]),
            ("component", attention.components, intervene.components_off),
            ("head", attention.heads, intervene.heads_off),
        )
        for part, count, named in limits:
            for layer, i in named:
                if not (0 <= layer < len(self.layers) and 0 <= i < count):
                    raise InputError(
                        f"intervention on layer {layer}, {part} {i}: this model has layers 0 to {len(self.layers) - 1} "
                        f"and {part}s 0 to {count - 1}"
                    )
        if any(i == 0 for _, i, _ in intervene.lambdas):
            raise InputError("intervention on component 0: the base component has no lambda; switch it off instead")


def mean_pool(x: Tensor, keep: Tensor) -> Tensor:
    """Mean over the kept tokens: (B, L, d), (B, L) → (B, d); 0 for a text without tokens."""
    weight = keep.to(x.dtype)
    return torch.einsum("bl,bld->bd", weight, x) / weight.sum(1, keepdim=True).clamp(min=1)


def sinusoid(length: int, width: int, device: torch.device) -> Tensor:
    """Sinusoidal positions (L, d): sine in even columns, cosine in odd ones, base 10000."""
    position = torch.arange(length, dtype=torch.float32, device=device)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=device) * (-math.log(10_000) / width))
    return torch.stack([(position * rate).sin(), (position * rate).cos()], -1).flatten(1)
