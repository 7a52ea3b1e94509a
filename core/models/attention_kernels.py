"""Functions that compute attention out = (sum_i c_i softmax(q_i k_i^T)) v, explicitly or fused.

The steps before (projections, factors in q) and after them (head norm, output map) are shared, so that training and
explanation agree.

Shapes in every signature:
    q, k            (B, N, H, L, e)   every score factor (1/sqrt(e), temperatures) is already in q; terms are columns
    v               (B, H, L, dv)     one set of values for all components
    coefficients    (B|1, N, H|1, L|1, 1)
    keep            (B, L) bool       False keys have weight 0; a query without any key gives 0
    support         (B, L, L) bool    True if query i may see key j; None: all
    out             (B, H, L, dv)
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

COMBINED_LENGTH = 384
"""Up to this length the combined kernel is faster than stacked flash attention on a CPU (tests/benchmarks)."""
BUFFER_BYTES = 3_000_000  # One score buffer of the combined kernel; small enough to stay in a core's cache


def attend_explicit(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, support: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute attention outputs and return them with all attention maps (B, N, H, L, L), for traces."""
    bias, some = _build_mask(_find_visible_keys(keep, support), q.dtype)
    maps = (q @ k.transpose(-1, -2) + bias[:, None]).softmax(-1) * some[:, None]
    out = (coefficients * maps).sum(1) @ v
    return out, maps


def attend_fused(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, support: Tensor | None = None
) -> Tensor:
    """Compute attention outputs without storing whole maps, by the fastest kernel for these shapes on this device."""
    on_cpu = q.device.type == "cpu"
    if on_cpu and (q.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")):
        # The flash kernel's backward pass is slower in bfloat16 than in float32; the explicit form is faster.
        return attend_explicit(q, k, v, coefficients, keep, support)[0]
    allowed = _find_visible_keys(keep, support)
    if on_cpu and q.shape[1] > 1 and q.shape[3] <= COMBINED_LENGTH:
        bias, some = _build_mask(allowed, q.dtype)
        weights = (coefficients * some[:, None]).expand(*q.shape[:4], 1)
        return _Combined.apply(q, k, v, weights, bias)
    return _compute_stacked(q, k, v, coefficients, allowed)


def _find_visible_keys(keep: Tensor, support: Tensor | None) -> Tensor:
    """Return which keys each query may see: (B, 1, 1, L) if it is the same for all queries, else (B, 1, L, L)."""
    keys = keep[:, None, None]
    return keys if support is None else keys & support[:, None]


def _build_mask(allowed: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return an attention mask as additive bias (0 or -inf), and a factor that is 0 for queries without keys.

    Softmax over -inf alone would be NaN, so such a query gets no bias and is multiplied away instead.
    """
    some = allowed.any(-1, keepdim=True)
    bias = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return bias.masked_fill_(some & ~allowed, float("-inf")), some.to(dtype)


def _compute_stacked(q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, allowed: Tensor) -> Tensor:
    """Compute attention with the components (maps) as extra heads of one fused torch call.

    The fused CPU kernel refuses d_qk != d_v and would silently build L x L maps, so both are zero-padded to the larger.
    """
    B, N, H, L, e = q.shape
    dv = v.shape[-1]
    wide = max(e, dv)
    flat = (B, N * H, L, wide)
    values = F.pad(v, (0, wide - dv))[:, None].expand(B, N, H, L, wide).reshape(flat)
    queries, keys = (F.pad(x, (0, wide - e)).reshape(flat) for x in (q, k))
    out = F.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed, scale=1.0)
    return (coefficients * out.view(B, N, H, L, wide)[..., :dv]).sum(1)


class _Combined(torch.autograd.Function):
    """The attention kernel that combines the maps of a few texts before one product with v, and stores no map.

    With A_i = softmax(q_i k_i^T + bias), P = sum_i c_i A_i, out = P v and g = dout v^T:
    dc_i = rowsum(g * A_i), dS_i = c_i A_i (g - dc_i), dv = P^T dout.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, c: Tensor, bias: Tensor) -> Tensor:
        """Compute the attention outputs block by block of texts, from the combined maps."""
        q, k, c = (x.transpose(0, 1).contiguous() for x in (q, k, c))  # (N, B, H, L, .)
        v = v.contiguous()
        ctx.save_for_backward(q, k, v, c, bias)
        out = torch.empty_like(v)
        for part, maps in _iterate_blocks(q, k, bias):
            combined = combine_maps(maps, c[:, part].flatten(1, 2))
            torch.bmm(combined, v[part].flatten(0, 1), out=out[part].flatten(0, 1))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of attention block by block, with the maps computed again."""
        q, k, v, c, bias = ctx.saved_tensors
        dout = dout.contiguous()
        dq, dk, dv, dc = (torch.empty_like(x) for x in (q, k, v, c))
        for part, maps in _iterate_blocks(q, k, bias):
            grad_out = dout[part].flatten(0, 1)
            grad_map = torch.bmm(grad_out, v[part].flatten(0, 1).transpose(1, 2))
            combined = combine_maps(maps, c[:, part].flatten(1, 2), keep_maps=True)
            torch.bmm(combined.transpose(1, 2), grad_out, out=dv[part].flatten(0, 1))
            for i, attention in enumerate(maps):
                weight = c[i, part].flatten(0, 1)
                torch.sum(grad_map * attention, -1, keepdim=True, out=dc[i, part].flatten(0, 1))
                score = torch.ops.aten._softmax_backward_data(grad_map, attention, -1, attention.dtype).mul_(weight)
                torch.bmm(score, k[i, part].flatten(0, 1), out=dq[i, part].flatten(0, 1))
                torch.bmm(score.transpose(1, 2), q[i, part].flatten(0, 1), out=dk[i, part].flatten(0, 1))
        return dq.transpose(0, 1), dk.transpose(0, 1), dv, dc.transpose(0, 1), None


def _iterate_blocks(q: Tensor, k: Tensor, bias: Tensor) -> Any:
    """Yield blocks of texts with their N attention maps; the next block reuses the memory of the maps."""
    N, B, H, L, _ = q.shape
    size = max(1, min(B, BUFFER_BYTES // (H * L * L * q.element_size())))
    buffers = q.new_empty(N, size * H, L, L)
    for start in range(0, B, size):
        part = slice(start, min(B, start + size))
        rows = (part.stop - part.start) * H
        maps = []
        for i in range(N):
            scores = buffers[i, :rows]
            torch.bmm(q[i, part].flatten(0, 1), k[i, part].flatten(0, 1).transpose(1, 2), out=scores)
            scores.view(-1, H, L, L).add_(bias[part])
            maps.append(torch.softmax(scores, -1, out=scores))
        yield part, maps


def combine_maps(maps: list[Tensor], weights: Tensor, keep_maps: bool = False) -> Tensor:
    """Return the weighted sum of N attention maps (rows, L, keys); overwrites the first map unless `keep_maps`."""
    combined = maps[0] * weights[0] if keep_maps else maps[0].mul_(weights[0])
    for attention, weight in zip(maps[1:], weights[1:], strict=True):
        combined.addcmul_(attention, weight.expand_as(attention))
    return combined
