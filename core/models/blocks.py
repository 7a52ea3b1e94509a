"""How banded attention stands in memory, so that no key is gathered per block of queries.

Queries go in blocks of C tokens. Keys are laid out once in units: the C keys of a block, then the G global ones. All
that a block may see, from half a window before it to half a window behind it, is then one stretch of memory:

    ... keys of block b-1 | globals | keys of block b | globals | keys of block b+1 ...
                  └───────────── what block b sees ────────────────┘

Stretches overlap as views. A mask leaves one copy of each visible key: of the globals those right behind the block's
own keys, and none of them among the local ones. The blocks of all heads and texts follow one another, M in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.models.support import ABSENT, is_global

BLOCK = 32
"""Queries per block; a wider half window makes the block as wide (chosen by tests/benchmarks/banded.py)."""
BUFFER_BYTES = 2_000_000
"""Scores computed at a time, for one component; small enough to stay in a core's cache."""


@dataclass(frozen=True)
class Blocks:
    """B texts of L tokens, H heads, cut into blocks of C."""

    texts: int
    heads: int
    length: int
    half: int  # Keys that a query sees on each side
    positions: Tensor  # (B, G) int64: the globals, `ABSENT` where a text is too short

    @staticmethod
    def of(q: Tensor, positions: Tensor, half: int) -> Blocks:
        """Those of queries (B, N, H, L, e)."""
        B, _, H, L, _ = q.shape
        return Blocks(B, H, L, half, positions)

    @property
    def size(self) -> int:
        """C: at least half a window, so that a stretch reaches no further than the next units."""
        return max(BLOCK, self.half)

    @property
    def shared(self) -> int:
        """G."""
        return self.positions.shape[1]

    @property
    def per_text(self) -> int:
        """Blocks of one text and head; the last may be partly empty."""
        return -(-self.length // self.size)

    @property
    def stretch(self) -> int:
        """S: keys laid out for one block."""
        return self.size + 2 * self.half + 2 * self.shared

    def cut(self, x: Tensor) -> Tensor:
        """(B, N, H, L, e) → (N, M, C, e), zeros behind every text."""
        rows = F.pad(x.permute(1, 2, 0, 3, 4), (0, 0, 0, self.per_text * self.size - self.length))
        return rows.reshape(x.shape[1], -1, self.size, x.shape[-1])

    def join(self, x: Tensor) -> Tensor:
        """The way back from `cut`."""
        rows = x.reshape(x.shape[0], self.heads, self.texts, -1, x.shape[-1])
        return rows[..., : self.length, :].permute(2, 0, 1, 3, 4)

    def units(self, x: Tensor) -> Tensor:
        """(B, N, H, L, e) → (N, M + 2, C + G, e): blocks with the globals behind each; zeros in the first and last."""
        B, N, H, L, e = x.shape
        C, full = self.size, L // self.size
        buffer = x.new_zeros(N, H * B * self.per_text + 2, C + self.shared, e)
        units = buffer[:, 1:-1].view(N, H, B, self.per_text, C + self.shared, e)
        rows = x.permute(1, 2, 0, 3, 4)
        units[:, :, :, :full, :C] = rows[..., : full * C, :].unflatten(3, (full, C))
        if full < self.per_text:
            units[:, :, :, full, : L - full * C] = rows[..., full * C :, :]
        units[..., C:, :] = rows.take_along_dim(self._places()[None, None], 3)[:, :, :, None]
        return buffer

    def whole(self, units: Tensor) -> Tensor:
        """A gradient's way back from `units`; the places that `bias` shuts bring 0."""
        inner = units[:, 1:-1]
        own = self.join(inner[:, :, : self.size])
        copies = inner[:, :, self.size :].unflatten(1, (self.heads, self.texts, self.per_text)).sum(3)
        shared = copies.permute(2, 0, 1, 3, 4)
        return own.scatter_add(3, self._places()[:, None, None].expand_as(shared), shared)

    def stretches(self, units: Tensor) -> Tensor:
        """(M + 2, C + G, e) → (M, e, S): overlapping views, one for each block."""
        return units.flatten(0, 1)[self.size - self.half :].unfold(0, self.stretch, self.size + self.shared)

    def add(self, units: Tensor, part: slice, grad: Tensor) -> None:
        """Add the gradients (m, S, e) of some stretches to the units under them."""
        before, _, own, behind = grad.split([self.half, self.shared, self.size + self.shared, self.half], 1)
        units[part, self.size - self.half : self.size] += before
        units[part.start + 1 : part.stop + 1] += own
        units[part.start + 2 : part.stop + 2, : self.half] += behind

    def bias(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """(B blocks, C, S), the same for all heads: 0 once for each visible key, elsewhere so low that it weighs 0.

        Finite, since with -inf a block of padding would be NaN.
        """
        C, G, half = self.size, self.shared, self.half
        everywhere = is_global(self.positions, self.length)
        alone = Blocks(self.texts, 1, self.length, half, self.positions)
        units = alone.units((keep & ~everywhere)[:, None, None, :, None])[0]
        copies = keep.gather(1, self.positions.clamp_min(0)) & (self.positions != ABSENT)
        units[1:-1, C:, 0] = copies.repeat_interleave(self.per_text, 0)
        there = self.stretches(units).contiguous().view(self.texts, self.per_text, -1)
        there[:, 0, :half] = False  # what stands before the first and behind the last block is of other texts
        there[:, -1, -half:] = False
        query = torch.arange(C, device=keep.device)[:, None]
        key = torch.arange(-half, C + half, device=keep.device)
        before, own, behind = ((query - key).abs() <= half).split([half, C, half], 1)
        shown = own.new_ones(C, G)
        visible = torch.cat([before, ~shown, own, shown, behind], 1) & there.flatten(0, 1)[:, None]
        low = torch.finfo(dtype).min / 4
        return torch.zeros(visible.shape, dtype=dtype, device=keep.device).masked_fill_(~visible, low)

    def maps(self, queries: Tensor, units: Tensor, bias: Tensor) -> Iterator[tuple[slice, list[Tensor]]]:
        """Yield slices of the M blocks, each with N maps (m, C, S): softmax of queries (N, M, C, e) · keys + bias.

        The next step reuses the memory.
        """
        N, M, C, _ = queries.shape
        keys = [self.stretches(component) for component in units]
        parts = _parts(M, len(bias), BUFFER_BYTES // (C * self.stretch * queries.element_size()))
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

    def _places(self) -> Tensor:
        """(B, G, 1): where the globals stand; an absent one at 0, which `bias` shuts."""
        return self.positions.clamp_min(0)[..., None]


def _parts(count: int, period: int, most: int) -> list[slice]:
    """Cut 0 … count into slices of about `most`: either whole periods, or equal shares of one."""
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
