"""The feed-forward parts of a transformer layer: ReLU or GELU, and SwiGLU."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from core.models.activation_record import SILENT, Record
from core.models.dropout import Dropout

KINDS = {"relu": "ReLU", "gelu": "GELU"}


class FeedForward(nn.Module):
    """The feed-forward part of a transformer layer: W2 drop(act(W1 x)) with ReLU or GELU."""

    def __init__(self, *, width: int, hidden: int, activation: Literal["relu", "gelu"], dropout: float) -> None:
        super().__init__()
        self.activation = F.relu if activation == "relu" else F.gelu
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Map token vectors (B, L, d) through two linear maps with an activation to (B, L, d)."""
        middle = self.activation(self.up(x))
        rewritten = self.down(self.dropout(middle))
        if record:
            name = "relu" if self.activation is F.relu else "gelu"
            record("m", middle, rf"m_i = \operatorname{{{KINDS[name]}}}(u_i W_1 + b_1)", after=name)
            record("f", rewritten, "f_i = m_i W_2 + b_2")
        return rewritten


class SwiGLU(nn.Module):
    """The gated feed-forward part of a transformer layer: W2 drop(SiLU(x W1) * x W3) (NDT, eq. 9)."""

    def __init__(self, *, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Map token vectors (B, L, d) through the gated feed-forward part to (B, L, d)."""
        gate, up = F.silu(self.gate(x)), self.up(x)
        middle = gate * up
        rewritten = self.down(self.dropout(middle))
        if record:
            record("m", middle, r"m_i = \operatorname{SiLU}(u_i W_1) \odot u_i W_3", ((gate, up),))
            record("f", rewritten, "f_i = m_i W_2 + b_2")
        return rewritten
