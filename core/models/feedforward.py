"""Feed-forward parts of a layer."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from core.models.dropout import Dropout


class FeedForward(nn.Module):
    """W2 drop(act(W1 x)) with act ReLU or GELU.

    Args:
        width: d.
        hidden: width of the middle.
        activation: what happens there.
        dropout: on the middle.
    """

    def __init__(self, *, width: int, hidden: int, activation: Literal["relu", "gelu"], dropout: float) -> None:
        super().__init__()
        self.activation = F.relu if activation == "relu" else F.gelu
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, d) → (B, L, d)."""
        return self.down(self.dropout(self.activation(self.up(x))))


class SwiGLU(nn.Module):
    """W2 drop(SiLU(x W1) * x W3) (NDT, eq. 9).

    Args:
        width: d.
        hidden: width of the middle.
        dropout: on the middle.
    """

    def __init__(self, *, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, d) → (B, L, d)."""
        return self.down(self.dropout(F.silu(self.gate(x)) * self.up(x)))
