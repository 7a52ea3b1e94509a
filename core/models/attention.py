"""One attention module for every paper: projections, mixing of components, attend, head norm, output map."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from core.models.attend import attend_explicit, attend_fused
from core.models.mixing import Additive, Differential, DifferentialV2, Single
from core.models.trace import Intervention, LayerTrace

Mixing = Single | Differential | DifferentialV2 | Additive


class Attention(nn.Module):
    """Multi-head attention over N components that share one set of values.

    Args:
        width: d, of input and output.
        heads: H.
        qk_width: total width of the queries (and keys) of one component.
        components: N.
        mixing: gives the coefficients.
        head_norm: RMSNorm over each head's output, times `mixing.scale`.
        row_norm: divide the coefficients by the sum of their magnitudes.
        index: 0-based layer, by which interventions name it.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        qk_width: int,
        components: int,
        mixing: Mixing,
        head_norm: bool,
        row_norm: bool,
        index: int,
    ) -> None:
        super().__init__()
        self.heads, self.components, self.row_norm, self.index = heads, components, row_norm, index
        self.query = nn.Linear(width, components * qk_width)
        self.key = nn.Linear(width, components * qk_width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.mixing = mixing
        self.head_norm = nn.RMSNorm(width // heads, eps=1e-5) if head_norm else None

    def forward(
        self, x: Tensor, keep: Tensor, *, trace: bool, intervene: Intervention | None
    ) -> tuple[Tensor, LayerTrace | None]:
        """x (B, L, d), keep (B, L) → (B, L, d) and, if asked, the trace (its `hidden` is filled by the layer)."""
        B, L, d = x.shape
        N, H = self.components, self.heads
        q, k = (p(x).view(B, L, N, H, -1).permute(0, 2, 3, 1, 4) for p in (self.query, self.key))  # (B, N, H, L, e)
        q = q / math.sqrt(q.shape[-1])
        v = self.value(x).view(B, L, H, d // H).transpose(1, 2)  # (B, H, L, d/H)
        c = self._coefficients(x, intervene)
        if trace:
            out, maps = attend_explicit(q, k, v, c, keep)
        else:
            out = attend_fused(q, k, v, c, keep)
        if self.head_norm is not None:
            out = self.head_norm(out) * self.mixing.scale
        if intervene is not None:
            out = out * _switches(intervene.heads_off, self.index, H, out)[:, None, None]
        y = self.out(out.transpose(1, 2).reshape(B, L, d))
        if not trace:
            return y, None
        return y, LayerTrace(maps=maps, coefficients=c.expand(B, N, H, L, 1), hidden=y, head_outputs=out)

    def _coefficients(self, x: Tensor, intervene: Intervention | None) -> Tensor:
        """(B|1, N, H|1, L|1, 1), the intervention applied."""
        c: Tensor = self.mixing(x)
        if intervene is not None:
            for layer, component, value in intervene.lambdas:
                if layer == self.index:
                    row = torch.arange(self.components, device=c.device).view(-1, 1, 1, 1) == component
                    c = torch.where(row, self.mixing.sign * value, c)
        if self.row_norm:
            c = c / c.abs().sum(1, keepdim=True)
        if intervene is not None:
            c = c * _switches(intervene.components_off, self.index, self.components, c)[:, None, None, None]
        return c


def _switches(off: frozenset[tuple[int, int]], layer: int, count: int, like: Tensor) -> Tensor:
    """(count,): 0 where switched off in this layer, 1 elsewhere."""
    return torch.tensor([0.0 if (layer, i) in off else 1.0 for i in range(count)], dtype=like.dtype, device=like.device)
