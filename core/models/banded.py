"""Local and global attention at linear cost: what `attend_explicit` gives over `support_mask`, without L x L tensors.

Queries go in blocks of C. The keys are laid out once as units of C keys followed by the G global ones, so that the keys
of a block, from half a window before it to half a window after it, are one stretch of memory:

    ... keys of block b-1 | globals | keys of block b | globals | keys of block b+1 ...
                 └──────────────── what block b sees ──────────────┘

Stretches overlap as views and go to one fused call; nothing is gathered per block. A mask leaves of each key one copy:
the globals right behind the block, and never a global among the local ones. The few global queries see everything and
are computed apart.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.models.support import ABSENT, half_window, is_global

BLOCK = 64
"""Queries per block; a wider half window makes the block as wide (measured in tests/benchmarks/banded.py)."""


def attend_banded(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, positions: Tensor, *, window: int
) -> Tensor:
    """Attention over a window and global tokens: time and memory grow with L, not with its square.

    Shapes as in `attend.py`; a key may be False in `keep` anywhere, not only in padding. `positions` (B, G) come from
    `support.global_positions`; `window` is the even number of keys seen beside the own one.

    Returns:
        (B, H, L, dv); 0 for a query that has no kept key in its support.

    Raises:
        ConfigError: an odd or empty window.
    """
    half = half_window(window)
    B, N, H, L, e = q.shape
    dv = v.shape[-1]
    block = max(BLOCK, half)
    wide = max(e, dv)  # the fused kernel wants d_qk = d_v
    q, k, v = (F.pad(x, (0, wide - x.shape[-1])) for x in (q, k, v))
    places = positions.clamp_min(0)
    bias = _band(keep, positions, half, block, q.dtype)
    everything = _bias(keep, q.dtype)[:, None, None]
    values = _Stretches.apply(v, places, half, block)
    blocks = -(-L // block)
    seen = _sees_any(keep, positions, half).to(q.dtype)[:, None, :, None]  # (B, 1, L, 1)
    out = v.new_zeros(())
    whole = v.new_zeros(())
    for i in range(N):
        keys = _Stretches.apply(k[:, i], places, half, block)
        queries = F.pad(q[:, i].transpose(0, 1), (0, 0, 0, blocks * block - L)).reshape(H, B * blocks, block, wide)
        local = F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias, scale=1.0)
        local = local.reshape(H, B, blocks * block, wide)[:, :, :L, :dv].transpose(0, 1)
        out = out + coefficients[:, i] * seen * local
        picked = F.scaled_dot_product_attention(_rows(q[:, i], places), k[:, i], v, attn_mask=everything, scale=1.0)
        weight = _rows(coefficients[:, i].expand(B, -1, L, 1), places) * keep.any(1)[:, None, None, None]
        whole = whole + weight * picked[..., :dv]
    present = (positions != ABSENT)[:, None, :, None]
    # Absent globals stand at row 0, whose own result they must not overwrite: they bring a difference of 0.
    difference = (whole - _rows(out, places)) * present
    return out.scatter_add(2, places[:, None, :, None].expand_as(difference), difference)


def _rows(x: Tensor, places: Tensor) -> Tensor:
    """x (B, H, L, e) at places (B, G) → (B, H, G, e)."""
    return x.gather(2, places[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3]))


def _bias(keep: Tensor, dtype: torch.dtype) -> Tensor:
    """0 or a negative number so large that the weight is exactly 0, but finite: no row of a block becomes NaN."""
    return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, torch.finfo(dtype).min / 4)


def _sees_any(keep: Tensor, positions: Tensor, half: int) -> Tensor:
    """(B, L) bool: the local or a global key of this query is kept."""
    near = F.max_pool1d(keep.float(), 2 * half + 1, stride=1, padding=half) > 0
    return near | (keep & is_global(positions, keep.shape[1])).any(1, keepdim=True)


def _band(keep: Tensor, positions: Tensor, half: int, block: int, dtype: torch.dtype) -> Tensor:
    """Additive mask (1, B * blocks, C, stretch): each visible key once, all other places shut."""
    G = positions.shape[1]
    everywhere = is_global(positions, keep.shape[1])
    copies = (keep.gather(1, positions.clamp_min(0)) & (positions != ABSENT))[:, None, :, None]
    stretches = _lay_out((keep & ~everywhere)[:, None, :, None], copies, half, block)
    there = stretches.contiguous().view(keep.shape[0], -1, stretches.shape[2])  # (B, blocks, stretch)
    there[:, 0, :half] = False  # what stands before the first and after the last block belongs to other texts
    there[:, -1, there.shape[2] - half :] = False
    query = torch.arange(block, device=keep.device)[:, None]
    key = torch.arange(-half, block + half, device=keep.device)
    near = (query - key).abs() <= half
    before, own, after = near.split([half, block, half], 1)
    one = torch.ones(block, G, dtype=torch.bool, device=keep.device)
    band = torch.cat([before, ~one, own, one, after], 1)
    return _bias(band & there.flatten(0, 1)[:, None], dtype)[None]


def _lay_out(x: Tensor, copies: Tensor, half: int, block: int) -> Tensor:
    """x (B, R, L, e) and its global rows (B, R, G, e) → overlapping stretches (R, B * blocks, stretch, e), a view."""
    B, R, L, e = x.shape
    G = copies.shape[2]
    blocks, full, unit = -(-L // block), L // block, block + G
    buffer = x.new_zeros(R, B * blocks + 2, unit, e)  # a unit of zeros before the first and after the last text
    units = buffer[:, 1:-1].view(R, B, blocks, unit, e)
    rows = x.transpose(0, 1)
    units[:, :, :full, :block] = rows[:, :, : full * block].unflatten(2, (full, block))
    if full < blocks:
        units[:, :, full, : L - full * block] = rows[:, :, full * block :]
    units[:, :, :, block:] = copies.transpose(0, 1)[:, :, None]
    stretch = unit + G + 2 * half
    return buffer.flatten(1, 2)[:, block - half :].unfold(1, stretch, unit)[:, : B * blocks].transpose(2, 3)


class _Stretches(torch.autograd.Function):
    """`_lay_out` of x with its own global rows; backward adds the overlapping gradients up."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor, half: int, block: int) -> Tensor:
        ctx.save_for_backward(places)
        ctx.sizes = x.shape[0], x.shape[2], half, block
        return _lay_out(x, _rows(x, places), half, block)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (places,) = ctx.saved_tensors
        B, L, half, block = ctx.sizes
        G = places.shape[1]
        before, _, own, copies, after = grad.split([half, G, block, G, half], 2)
        keys = own.clone(memory_format=torch.contiguous_format)
        keys[:, :-1, block - half :] += before[:, 1:]
        keys[:, 1:, :half] += after[:, :-1]
        keys = keys.unflatten(1, (B, -1)).flatten(2, 3)[:, :, :L].transpose(0, 1)
        shared = copies.unflatten(1, (B, -1)).sum(2).transpose(0, 1)
        return keys.scatter_add(2, places[:, None, :, None].expand_as(shared), shared), None, None, None
