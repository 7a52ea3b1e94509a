"""Dropout whose mask costs a quarter: on a CPU the random numbers are most of the price of dropout."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zero each entry with probability p and scale the rest by 1 / (1 - p), in training mode only.

    On a CPU four entries share one 64-bit draw of torch's global generator (16 bits each), so p is rounded to 1/65536.

    Args:
        p: share of entries set to 0, in [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = min(round(self.p * LEVELS), LEVELS - 1)
        kept = (bits >= dropped - LEVELS // 2).to(x.dtype)
        return x * kept.mul_(LEVELS / (LEVELS - dropped))
