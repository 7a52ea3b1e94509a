"""The mask of windowed and global attention: which keys a query may see (SentiFormer §1).

Each token sees a window, and a few global tokens see all and are seen by all. If global tokens were only seen, a class
token could not collect information from all tokens in one layer.
"""

from __future__ import annotations

import random as pseudo
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from core.exceptions import ConfigError

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
    marked = torch.zeros(positions.shape[0], length + 1, dtype=torch.bool, device=positions.device)
    return marked.scatter_(1, positions.where(positions != ABSENT, length), True)[:, :length]


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
    """The window and global tokens that limit which keys an attention sees (SentiFormer)."""

    window: int
    random: int
    seed: int

    def draw_globals(self, keep: Tensor, layer: int) -> Tensor:
        """Return the positions of global tokens, which see all and are seen by all, (B, G); -1 where absent."""
        return draw_global_positions(keep.sum(1), layer=layer, random=self.random, seed=self.seed)

    def can_see_all(self, length: int) -> bool:
        """Return whether the attention window lets every token of a text see every other."""
        return self.window // 2 >= length - 1
