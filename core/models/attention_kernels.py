"""Functions that compute attention out = (sum_i c_i softmax(q_i k_i^T)) v: explicitly, fused, or banded in windows.

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

import random as pseudo
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.exceptions import ConfigError

COMBINED_LENGTH = 384
"""Up to this length the combined kernel is faster than stacked flash attention on a CPU (tests/benchmarks)."""
VECTOR = 16  # For fewer keys, torch's softmax is five times slower than its steps
BUFFER_BYTES = 3_000_000  # One score buffer of the combined kernel; small enough to stay in a core's cache


def attend_explicit(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, support: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute attention outputs and return them with all attention maps (B, N, H, L, L), for traces."""
    bias, some = _build_mask(_find_visible_keys(keep, support), q.dtype)
    maps = (q @ k.transpose(-1, -2) + bias[:, None]).softmax(-1) * some[:, None]
    return (coefficients * maps).sum(1) @ v, maps


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
    """Return a mask as bias (0 or -inf), and a factor that is 0 for queries without keys, whose bias would give NaN."""
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
            torch.bmm(combine_maps(maps, c[:, part].flatten(1, 2)), v[part].flatten(0, 1), out=out[part].flatten(0, 1))
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
            if L < VECTOR and torch.is_inference_mode_enabled():  # training stays bit for bit as it was
                scores.sub_(scores.amax(-1, keepdim=True)).exp_()
                maps.append(scores.div_(scores.sum(-1, keepdim=True)))
            else:
                maps.append(torch.softmax(scores, -1, out=scores))
        yield part, maps


def combine_maps(maps: list[Tensor], weights: Tensor, keep_maps: bool = False) -> Tensor:
    """Return the weighted sum of N attention maps (rows, L, keys); overwrites the first map unless `keep_maps`."""
    combined = maps[0] * weights[0] if keep_maps else maps[0].mul_(weights[0])
    for attention, weight in zip(maps[1:], weights[1:], strict=True):
        combined.addcmul_(attention, weight.expand_as(attention))
    return combined


ABSENT = -1  # A global position that a short text has no token for


def draw_global_positions(lengths: Tensor, *, layer: int, random: int, seed: int) -> Tensor:
    """Draw the positions of each text's global tokens, (B, 2 + random): first, last and `random` others.

    They depend only on (seed, layer, length), so they are the same in every batch and epoch, on every device and with
    any padding. They are distinct, and `ABSENT` if a text is too short. `lengths` (B,) count closed gates too.
    """
    rows = [_draw_positions(int(length), layer, random, seed) for length in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.int64, device=lengths.device).view(len(rows), 2 + random)


def build_support_mask(keep: Tensor, positions: Tensor, window: int) -> Tensor:
    """Return which keys j each query i may see, (B, L, L) bool: kept and near i, or one of the two is global."""
    place = torch.arange(keep.shape[1], device=keep.device)
    near = (place[:, None] - place).abs() <= compute_half_window(window)
    everywhere = is_global(positions, keep.shape[1])
    return (near | everywhere[:, None] | everywhere[..., None]) & keep[:, None]


def compute_half_window(window: int) -> int:
    """Return the number of keys on each side of an attention window; ConfigError if the window is odd or empty."""
    if window < 2 or window % 2:
        even = max(2, window + window % 2)
        raise ConfigError(f"window={window}: half of the window lies on each side, so it is even; use {even}")
    return window // 2


def is_global(positions: Tensor, length: int) -> Tensor:
    """Return which tokens are global, (B, L) bool, from the positions (B, G) of global tokens."""
    return (positions[..., None] == torch.arange(length, device=positions.device)).any(1)


@lru_cache(maxsize=65_536)
def _draw_positions(length: int, layer: int, count: int, seed: int) -> tuple[int, ...]:
    """Draw the first, the last and `count` distinct positions of a text, padded with `ABSENT`."""
    ends = sorted({0, length - 1}) if length else []
    inner = max(0, length - 2)
    draw = pseudo.Random(f"{seed} {layer} {length}")  # text seeds and random() are the same in every Python version
    chosen: list[int] = []
    for top in range(max(0, inner - count), inner):
        place = 1 + int(draw.random() * (top + 1))
        chosen.append(1 + top if place in chosen else place)
    return (*ends, *chosen, *[ABSENT] * (2 + count - len(ends) - len(chosen)))


@dataclass(frozen=True)
class Support:
    """The window and global tokens that limit what attention sees (SentiFormer §1); global tokens also see all keys."""

    window: int
    random: int
    seed: int

    def draw_globals(self, keep: Tensor, layer: int) -> Tensor:
        """Return the positions of global tokens, which see all and are seen by all, (B, G); -1 where absent."""
        return draw_global_positions(keep.sum(1), layer=layer, random=self.random, seed=self.seed)

    def can_see_all(self, length: int) -> bool:
        """Return whether the attention window lets every token of a text see every other."""
        return self.window // 2 >= length - 1


BLOCK = 32  # Queries per block, at least half a window (chosen by tests/benchmarks/banded.py)
BANDED_BUFFER_BYTES = 2_000_000
"""Bytes of the scores of one component that are computed at a time; small enough for a core's cache."""


class Blocks:
    """The layout of queries and keys in blocks for banded attention: B texts of L tokens, H heads, blocks of C.

    A query sees `half` keys on each side. `positions` (B, G) int64 are global tokens, `ABSENT` if a text is too short.
    The few global queries see every key and are computed separately. Local queries are split into blocks of C tokens.
    Keys are stored once in units: the C keys of a block, then the G global ones. All keys that a block may see, from
    half a window before it to half a window after it, are then one stretch of memory:

        ... keys of block b-1 | globals | keys of block b | globals | keys of block b+1 ...
                      └───────────── what block b sees ────────────────┘

    Stretches are overlapping views. A mask leaves one copy of each visible key: for global keys only the copy right
    after the block's own keys. The blocks of all heads and texts are concatenated, M in total.
    """

    def __init__(self, texts: int, heads: int, length: int, half: int, positions: Tensor) -> None:
        self.texts, self.heads, self.length, self.half, self.positions = texts, heads, length, half, positions
        self.size = max(BLOCK, half)  # C, at least half a window so that a block sees only its neighbours
        self.shared = positions.shape[1]  # G, the global tokens of a text
        self.per_text = -(-length // self.size)  # Blocks per text and head; the last may be partly empty
        self.stretch = self.size + 2 * half + 2 * self.shared  # S, keys of a block, its neighbours and the global ones

    @staticmethod
    def from_queries(q: Tensor, positions: Tensor, half: int) -> "Blocks":
        """Return the block layout for queries (B, N, H, L, e), global token positions and half a window."""
        B, _, H, L, _ = q.shape
        return Blocks(B, H, L, half, positions)

    def split_blocks(self, x: Tensor) -> Tensor:
        """Split token vectors (B, N, H, L, e) into M blocks of C tokens each (N, M, C, e), padded with zeros."""
        rows = F.pad(x.permute(1, 2, 0, 3, 4), (0, 0, 0, self.per_text * self.size - self.length))
        return rows.reshape(x.shape[1], -1, self.size, x.shape[-1])

    def join_blocks(self, x: Tensor) -> Tensor:
        """Join blocks (N, M, C, e) back to tokens (B, N, H, L, e), the inverse of `split_blocks`."""
        rows = x.reshape(x.shape[0], self.heads, self.texts, -1, x.shape[-1])
        return rows[..., : self.length, :].permute(2, 0, 1, 3, 4)

    def build_units(self, x: Tensor) -> Tensor:
        """Copy keys (B, N, H, L, e) into M + 2 units, each a block's keys and the global ones: (N, M + 2, C + G, e)."""
        B, N, H, L, e = x.shape
        C, full = self.size, L // self.size
        buffer = x.new_zeros(N, H * B * self.per_text + 2, C + self.shared, e)
        units = buffer[:, 1:-1].view(N, H, B, self.per_text, C + self.shared, e)
        rows = x.permute(1, 2, 0, 3, 4)
        units[:, :, :, :full, :C] = rows[..., : full * C, :].unflatten(3, (full, C))
        if full < self.per_text:
            units[:, :, :, full, : L - full * C] = rows[..., full * C :, :]
        units[..., C:, :] = rows.take_along_dim(self._locate_globals()[None, None], 3)[:, :, :, None]
        return buffer

    def merge_units(self, units: Tensor) -> Tensor:
        """Return the key gradients of tokens, summed over all units that hold a copy of the key; masked keys add 0."""
        inner = units[:, 1:-1]
        own = self.join_blocks(inner[:, :, : self.size])
        copies = inner[:, :, self.size :].unflatten(1, (self.heads, self.texts, self.per_text)).sum(3)
        shared = copies.permute(2, 0, 1, 3, 4)
        return own.scatter_add(3, self._locate_globals()[:, None, None].expand_as(shared), shared)

    def get_stretches(self, units: Tensor) -> Tensor:
        """Return for each block of queries a view (e, S) of the S keys that they may see, without copying."""
        return units.flatten(0, 1)[self.size - self.half :].unfold(0, self.stretch, self.size + self.shared)

    def add_gradients(self, units: Tensor, part: slice, grad: Tensor) -> None:
        """Add the gradients (m, S, e) of the S keys that each of m blocks sees to the stored gradients of these."""
        before, _, own, behind = grad.split([self.half, self.shared, self.size + self.shared, self.half], 1)
        units[part, self.size - self.half : self.size] += before
        units[part.start + 1 : part.stop + 1] += own
        units[part.start + 2 : part.stop + 2, : self.half] += behind

    def compute_bias(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the additive mask of banded attention, (B blocks, C, S): 0 for visible keys, else very low."""
        C, G, half = self.size, self.shared, self.half
        everywhere = is_global(self.positions, self.length)
        alone = Blocks(self.texts, 1, self.length, half, self.positions)
        units = alone.build_units((keep & ~everywhere)[:, None, None, :, None])[0]
        copies = keep.gather(1, self.positions.clamp_min(0)) & (self.positions != ABSENT)
        units[1:-1, C:, 0] = copies.repeat_interleave(self.per_text, 0)
        there = self.get_stretches(units).contiguous().view(self.texts, self.per_text, -1)
        there[:, 0, :half] = False  # keys before the first and after the last block belong to other texts
        there[:, -1, -half:] = False
        query = torch.arange(C, device=keep.device)[:, None]
        key = torch.arange(-half, C + half, device=keep.device)
        before, own, behind = ((query - key).abs() <= half).split([half, C, half], 1)
        shown = own.new_ones(C, G)
        visible = torch.cat([before, ~shown, own, shown, behind], 1) & there.flatten(0, 1)[:, None]
        low = torch.finfo(dtype).min / 4  # finite, since with -inf a block of padding would be NaN
        return torch.zeros(visible.shape, dtype=dtype, device=keep.device).masked_fill_(~visible, low)

    def iterate_maps(self, queries: Tensor, units: Tensor, bias: Tensor) -> Iterator[tuple[slice, list[Tensor]]]:
        """Yield slices of the M blocks, each with its N attention maps (m, C, S), whose memory the next one reuses."""
        N, M, C, _ = queries.shape
        keys = [self.get_stretches(component) for component in units]
        parts = _split_range(M, len(bias), BANDED_BUFFER_BYTES // (C * self.stretch * queries.element_size()))
        buffers = queries.new_empty(N, parts[0].stop, C, self.stretch)
        for part in parts:
            first, m = part.start % len(bias), part.stop - part.start
            here = bias[first : first + m]
            maps = []
            for i in range(N):
                scores = buffers[i, :m]
                torch.bmm(queries[i, part], keys[i][part], out=scores)
                scores.view(-1, *here.shape).add_(here)
                maps.append(torch.softmax(scores, -1, out=scores))
            yield part, maps

    def _locate_globals(self) -> Tensor:
        """Return the positions of the global tokens, (B, G, 1); an absent one is set to 0 and masked elsewhere."""
        return self.positions.clamp_min(0)[..., None]


def _split_range(count: int, period: int, most: int) -> list[slice]:
    """Split the range 0 … count into slices of at most about `most`, aligned with multiples of `period`."""
    if most >= period:
        step = most // period * period
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]
    shares = -(-period // max(1, most))
    step = -(-period // shares)
    return [
        slice(first + start, first + min(start + step, period))
        for first in range(0, count, period)
        for start in range(0, period, step)
    ]


def attend_banded(
    q: Tensor, k: Tensor, v: Tensor, coefficients: Tensor, keep: Tensor, positions: Tensor, *, window: int
) -> Tensor:
    """Compute attention over a window and global tokens, with time and memory linear in the text length L.

    Shapes as above; `keep` may be False anywhere, not only at padding. `positions` (B, G) come from
    `draw_global_positions`; `window` is the even number of keys that a query sees besides its own. A query
    without a visible key gives 0. Raises ConfigError for an odd or empty window.
    """
    half = compute_half_window(window)
    if torch.is_autocast_enabled(q.device.type):  # `out=` does not support autocast
        with torch.autocast(q.device.type, enabled=False):
            return attend_banded(q.float(), k.float(), v.float(), coefficients.float(), keep, positions, window=window)
    B, N, H, L, _ = q.shape
    everywhere = is_global(positions, L)
    near_keys = F.max_pool1d(keep.float(), 2 * half + 1, stride=1, padding=half) > 0
    local = (near_keys | (keep & everywhere).any(1, keepdim=True)) & ~everywhere
    near: Tensor = _Banded.apply(
        q, k, v, (coefficients * local[:, None, None, :, None]).expand(B, N, H, L, 1), keep, positions, half
    )
    rows = positions.clamp_min(0)[:, None, :, None]  # an absent position is set to 0, with weight 0
    weights = coefficients.expand(B, N, -1, L, 1).take_along_dim(rows[:, None], 3)
    weights = weights * (positions != ABSENT)[:, None, None, :, None]
    far = attend_explicit(q.take_along_dim(rows[:, None], 3), k, v, weights, keep)[0]
    return near.scatter_add(2, rows.expand_as(far), far)


class _Banded(torch.autograd.Function):
    """The attention of local (not global) queries, computed block by block and again in the backward pass.

    As in `attention_kernels._Combined`, with A_i = softmax(q_i k_i^T + bias), P = sum_i c_i A_i, out = P v and
    g = dout v^T: dc_i = rowsum(g * A_i), dS_i = c_i A_i (g - dc_i), dv = P^T dout.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, c: Tensor, keep: Tensor, positions: Tensor, half: int
    ) -> Tensor:
        """Compute the attention outputs of the local queries, some blocks at a time."""
        ctx.save_for_backward(q, k, v, c, keep, positions)
        ctx.half = half
        blocks = Blocks.from_queries(q, positions, half)
        queries, weights = blocks.split_blocks(q), blocks.split_blocks(c)
        values = blocks.get_stretches(blocks.build_units(v[:, None])[0]).mT
        out = v.new_empty(*queries.shape[1:3], v.shape[-1])
        for part, maps in blocks.iterate_maps(queries, blocks.build_units(k), blocks.compute_bias(keep, q.dtype)):
            torch.bmm(combine_maps(maps, weights[:, part]), values[part], out=out[part])
        return blocks.join_blocks(out[None])[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of banded attention, some blocks at a time, with the maps computed again."""
        q, k, v, c, keep, positions = ctx.saved_tensors
        blocks = Blocks.from_queries(q, positions, ctx.half)
        queries, weights, (grad_out,) = map(blocks.split_blocks, (q, c, dout[:, None]))
        key_units, value_units = blocks.build_units(k), blocks.build_units(v[:, None])
        keys, values = [blocks.get_stretches(units).mT for units in key_units], blocks.get_stretches(value_units[0])
        dq, dk, dv, dc = (torch.zeros_like(x) for x in (queries, key_units, value_units, weights))
        for part, maps in blocks.iterate_maps(queries, key_units, blocks.compute_bias(keep, q.dtype)):
            grad_map = torch.bmm(grad_out[part], values[part])
            for i, attention in enumerate(maps):
                if ctx.needs_input_grad[3]:
                    torch.sum(grad_map * attention, -1, keepdim=True, out=dc[i, part])
                score = torch.ops.aten._softmax_backward_data(grad_map, attention, -1, attention.dtype)
                score.mul_(weights[i, part])
                torch.bmm(score, keys[i][part], out=dq[i, part])
                blocks.add_gradients(dk[i], part, torch.bmm(score.mT, queries[i, part]))
            blocks.add_gradients(dv[0], part, torch.bmm(combine_maps(maps, weights[:, part]).mT, grad_out[part]))
        grad_key, grad_value = blocks.merge_units(dk), blocks.merge_units(dv)[:, 0]
        return blocks.join_blocks(dq), grad_key, grad_value, blocks.join_blocks(dc), None, None, None
