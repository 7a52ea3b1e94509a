"""The head of a model, from token vectors to logits: pooling and a linear map, optionally with convolutions."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import ConfigError
from core.models.attention_kernels import attend_explicit, attend_fused
from core.models.dropout import Dropout
from core.models.trace import SILENT, HeadTrace, Record

ACTIVATIONS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "relu": ("ReLU", F.relu),
    "gelu": ("GELU", F.gelu),
    "tanh": ("tanh", torch.tanh),
}


class HeadOutput(NamedTuple):
    """The output of a model's head for a batch: logits, pooled vectors and an optional trace."""

    logits: Tensor  # (B, C); of a token tagger (B, L, C)
    pooled: Tensor  # (B, d'): input of the classifier; of a token tagger its mean
    trace: HeadTrace | None


class Head(nn.Linear):
    """The head of a model: optional convolutions, attention and dense layer, then pooling and a linear classifier.

    H (B, L, d) → R = [H; convolutions of H] → attention over R → pooling → LN(ReLU(P W + b)) → classifier.

    All steps but pooling (the mean of the real tokens, or the first token) and classifier are optional (Inceptive
    Transformers, section 3). Padding adds nothing, and a text without tokens pools to zeros. The attention has no
    residual; dropout is on H, before the convolutions. With another `activation` than `relu-norm` the dense layer has
    no LayerNorm and dropout is behind it, as in the classifiers of the BERT family. With `one_logit` the classifier
    gives one number z and the logits are [0, z], so that their cross-entropy is the binary cross-entropy of sigmoid(z).
    With `each_token`, without pooling, every token has logits; those of padding have no meaning. Raises ConfigError if
    the attention heads do not divide the width of R.
    """

    def __init__(  # noqa: PLR0913 - each is a setting
        self,
        *,
        width: int,
        classes: int,
        kernels: tuple[int, ...] = (),
        channels: int = 0,
        attention_heads: int = 0,
        dense: int = 0,
        activation: str = "relu-norm",
        one_logit: bool = False,
        pooling: Literal["mean", "cls"],
        dropout: float = 0.0,
        each_token: bool = False,
    ) -> None:
        joined = width + len(kernels) * channels
        super().__init__(dense or joined, 1 if one_logit else classes)
        self.dropout = Dropout(dropout)
        self.branches = nn.ModuleDict({str(k): Branch(width=width, channels=channels, kernel=k) for k in kernels})
        self.attention = HeadAttention(width=joined, heads=attention_heads) if attention_heads else None
        self.dense = nn.Linear(joined, dense) if dense else None
        self.dense_norm = nn.LayerNorm(dense) if dense and activation == "relu-norm" else None
        self.activation = activation.removesuffix("-norm")
        self.one_logit, self.first, self.each_token = one_logit, pooling == "cls", each_token

    def forward(  # type: ignore[override]
        self, x: Tensor, keep: Tensor, *, trace: bool, record: Record = SILENT
    ) -> HeadOutput:
        """Map token vectors x (B, L, d) to logits and a pooled text vector, with a trace on request."""
        plain = self.dense is not None and self.dense_norm is None
        x = x if plain else self.dropout(x)
        branches = {int(kernel): branch(x, keep) for kernel, branch in self.branches.items()}
        x = torch.cat([x, *branches.values()], -1)
        maps = None
        if record:
            for kernel, branch in branches.items():
                record(f"C_{{{kernel}}}", branch)
            record("r", x, rf"r_i = [h;\,{';'.join(record.values)}]_i")
        if self.attention is not None:
            x, maps = self.attention(x, keep, trace=trace, record=record)
        read = x
        if not self.each_token:
            read = x[:, 0] if self.first else average_tokens(x, keep)
        record("p", read)
        if self.dense is not None:
            (name, activate), symbol = ACTIVATIONS[self.activation], "t" if plain else "m"
            read = activate(self.dense(read))
            record(symbol, read, rf"{symbol} = \operatorname{{{name}}}(W_1\,p + b_1)")
            if self.dense_norm is None:
                read = self.dropout(read)
            else:
                read = self.dense_norm(read)
                record("t", read, r"t = \operatorname{LayerNorm}(m)")
        logits = super().forward(read)
        if self.one_logit:
            logits = F.pad(logits, (1, 0))
        record("l", logits)
        pooled = average_tokens(read, keep) if self.each_token else read
        return HeadOutput(logits, pooled, HeadTrace(branches, maps) if trace else None)


class Convolution(nn.Conv1d):
    """A convolution over k tokens: Y_i = sum_j W_j H_{i + j - (k - 1) // 2} + b, from d to c channels.

    The output is as long as the text, which is extended by (k - 1) // 2 zeros before it and k // 2 after it, so that an
    even width reads one more token to the right. Padding counts as zeros.
    """

    def __init__(self, *, width: int, channels: int, kernel: int) -> None:
        super().__init__(width, channels, kernel)
        self.margins = (kernel - 1) // 2, kernel // 2

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:  # type: ignore[override]
        """Apply the convolution to token vectors x (B, L, d): (B, L, c); values at padding have no meaning."""
        real = x.masked_fill(~keep[..., None], 0).transpose(1, 2)
        return super().forward(F.pad(real, self.margins)).transpose(1, 2)


class Branch(nn.Module):
    """A convolution branch of the inception head with one kernel width: convolution, batch norm and ReLU.

    The paper's batch norm uses the statistics of all positions, here those of the real tokens, so that padding has no
    effect in training either. A batch of a single token is normalised by the running statistics.
    """

    def __init__(self, *, width: int, channels: int, kernel: int) -> None:
        super().__init__()
        self.convolution = Convolution(width=width, channels=channels, kernel=kernel)
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Map token vectors x (B, L, d) through convolution, norm and ReLU to (B, L, c), 0 at padding."""
        found = self.convolution(x, keep)
        tokens = found[keep]
        if self.training and len(tokens) > 1:
            tokens = self.norm(tokens)
        else:
            norm = self.norm
            tokens = F.batch_norm(tokens, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
        return torch.zeros_like(found).masked_scatter(keep[..., None], F.relu(tokens).to(found))


class HeadAttention(nn.Module):
    """The self-attention in a model's head: Concat_h softmax(Q_h K_h^T / sqrt(d_A)) V_h W_O; d_A = width / heads."""

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            near = min((n for n in range(1, width + 1) if width % n == 0), key=lambda n: abs(n - heads))
            raise ConfigError(f"{heads} heads over a width of {width}: must divide it; the nearest is {near}")
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor, keep: Tensor, *, trace: bool, record: Record = SILENT) -> tuple[Tensor, Tensor | None]:
        """Map token vectors x (B, L, d) to attention outputs (B, L, d), with the maps (B, h, L, L) on request."""
        B, L, d = x.shape
        q, k, v = (each(x).view(B, L, self.heads, -1).transpose(1, 2) for each in (self.query, self.key, self.value))
        q, k = (q / math.sqrt(d // self.heads))[:, None], k[:, None]  # one component
        one, maps = x.new_ones(1, 1, 1, 1, 1), None
        if trace or record:
            out, maps = attend_explicit(q, k, v, one, keep)
            maps = maps[:, 0]
        else:
            out = attend_fused(q, k, v, one, keep)
        joined = out.transpose(1, 2).reshape(B, L, d)
        y = self.out(joined)
        if record and maps is not None:
            record("q", q[:, 0])
            record("k", k[:, 0])
            record("A", maps)
            record("joined", joined)
            record("a", y, r"a_i = [A^{(1)}V;\dots]_i\,W_O + b_O")
        return y, maps


def average_tokens(x: Tensor, keep: Tensor) -> Tensor:
    """Average token vectors x (B, L, d) over the real tokens of each text: (B, d), zeros for an empty text."""
    weight = keep.to(x.dtype)
    return torch.einsum("bl,bld->bd", weight, x) / weight.sum(1, keepdim=True).clamp(min=1)
