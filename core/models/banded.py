"""Local and global attention at linear cost: what `attend_explicit` gives over `support_mask`, without L x L tensors.

Most queries see a window and the globals: they go in blocks (`blocks.py`). The few global queries see every key and are
computed apart.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.models.attend import attend_explicit, combine
from core.models.blocks import Blocks
from core.models.support import ABSENT, half_window, is_global


def attend_banded(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, positions: Tensor, *, window: int
) -> Tensor:
    """Attend over a window and global tokens: time and memory grow with L, not with its square.

    Shapes as in `attend.py`; a key may be False in `keep` anywhere, not only in padding. `positions` (B, G) come from
    `support.global_positions`; `window` is the even number of keys that a query sees besides its own. A query without a
    kept key in its support gives 0.

    Raises:
        ConfigError: an odd or empty window.
    """
    half = half_window(window)
    if torch.is_autocast_enabled(q.device.type):  # `out=` knows no autocast; in float32 it is exact
        with torch.autocast(q.device.type, enabled=False):
            return attend_banded(q.float(), k.float(), v.float(), coefficients.float(), keep, positions, window=window)
    B, N, H, L, _ = q.shape
    everywhere = is_global(positions, L)
    local = _sees_any(keep, everywhere, half) & ~everywhere
    near: Tensor = _Banded.apply(
        q, k, v, (coefficients * local[:, None, None, :, None]).expand(B, N, H, L, 1), keep, positions, half
    )
    rows = positions.clamp_min(0)[:, None, :, None]  # an absent one stands at 0 and brings 0
    weights = coefficients.expand(B, N, -1, L, 1).take_along_dim(rows[:, None], 3)
    weights = weights * (positions != ABSENT)[:, None, None, :, None]
    far = attend_explicit(q.take_along_dim(rows[:, None], 3), k, v, weights, keep)[0]
    return near.scatter_add(2, rows.expand_as(far), far)


def _sees_any(keep: Tensor, everywhere: Tensor, half: int) -> Tensor:
    """(B, L) bool: a local or a global key of this query is kept."""
    near = F.max_pool1d(keep.float(), 2 * half + 1, stride=1, padding=half) > 0
    return near | (keep & everywhere).any(1, keepdim=True)


class _Banded(torch.autograd.Function):
    """The local queries, some blocks at a time in buffers; maps are recomputed in backward, never stored.

    As in `attend._Combined`: with A_i = softmax(q_i k_i^T + bias), P = sum_i c_i A_i, out = P v and g = dout v^T:
    dc_i = rowsum(g * A_i), dS_i = c_i A_i (g - dc_i), dv = P^T dout.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, c: Tensor, keep: Tensor, positions: Tensor, half: int
    ) -> Tensor:
        ctx.save_for_backward(q, k, v, c, keep, positions)
        ctx.half = half
        blocks = Blocks.of(q, positions, half)
        queries, weights = blocks.cut(q), blocks.cut(c)
        values = blocks.stretches(blocks.units(v[:, None])[0]).mT
        out = v.new_empty(*queries.shape[1:3], v.shape[-1])
        for part, maps in blocks.maps(queries, blocks.units(k), blocks.bias(keep, q.dtype)):
            torch.bmm(combine(maps, weights[:, part]), values[part], out=out[part])
        return blocks.join(out[None])[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, c, keep, positions = ctx.saved_tensors
        blocks = Blocks.of(q, positions, ctx.half)
        queries, weights, grad_out = blocks.cut(q), blocks.cut(c), blocks.cut(dout[:, None])[0]
        key_units, value_units = blocks.units(k), blocks.units(v[:, None])
        keys, values = [blocks.stretches(units).mT for units in key_units], blocks.stretches(value_units[0])
        dq, dk, dv, dc = (torch.zeros_like(x) for x in (queries, key_units, value_units, weights))
        for part, maps in blocks.maps(queries, key_units, blocks.bias(keep, q.dtype)):
            grad_map = torch.bmm(grad_out[part], values[part])
            for i, attention in enumerate(maps):
                if ctx.needs_input_grad[3]:
                    torch.sum(grad_map * attention, -1, keepdim=True, out=dc[i, part])
                score = torch.ops.aten._softmax_backward_data(grad_map, attention, -1, attention.dtype)
                score.mul_(weights[i, part])
                torch.bmm(score, keys[i][part], out=dq[i, part])
                blocks.add(dk[i], part, torch.bmm(score.mT, queries[i, part]))
            blocks.add(dv[0], part, torch.bmm(combine(maps, weights[:, part]).mT, grad_out[part]))
        return blocks.join(dq), blocks.whole(dk), blocks.whole(dv)[:, 0], blocks.join(dc), None, None, None
