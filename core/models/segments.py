"""Which of two texts a token stands in, as a learned vector that is added to it."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

MARK = 2
"""The id of the mark between two texts in every tokenizer of ours; it is the last token of the first text."""


def segments(ids: Tensor, mark: int = MARK) -> Tensor:
    """(B, L) int64: 0 up to the first mark, 1 behind it; all 0 in a single text."""
    marks = (ids == mark).long()
    return (marks.cumsum(1) - marks).clamp(max=1)


class Segments(nn.Module):
    """Two rows of the width of a token, one for each text of a pair; `std` is that of words at the start."""

    def __init__(self, *, width: int, std: float) -> None:
        super().__init__()
        self.table = nn.Embedding(2, width)
        nn.init.normal_(self.table.weight, std=std)

    def forward(self, ids: Tensor, off: Collection[bool] = ()) -> Tensor:
        """(B, L, d) of ids (B, L); `off` tells, once or for each text, where it adds nothing."""
        found: Tensor = self.table(segments(ids))
        if any(off):
            found = found * torch.tensor([not each for each in off], device=ids.device)[:, None, None]
        return found
