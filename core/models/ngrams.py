"""Rows for character n-grams, which give also a word outside the vocabulary a vector of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import InputError


class CharacterNGrams(nn.Module):
    """The mean of the rows of a word's n-grams, which share the rows by their hash."""

    def __init__(self, *, buckets: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(buckets, width)

    def forward(self, grams: Tensor | None, off: Sequence[frozenset[tuple[int, int]]] = ()) -> Tensor:
        """(B, L, K) buckets counted from 1, 0: none → (B, L, d); a token without n-grams has zeros.

        Those that are `off` (token, n-gram), in all texts or of each, add 0, while the others weigh as before.

        Raises:
            InputError: the texts come without n-grams.
        """
        if grams is None:
            raise InputError("this model reads character n-grams of words, and these texts come without them")
        count = (grams > 0).sum(-1, keepdim=True)
        grams = silenced(grams, off)
        there = grams > 0
        ends = there.sum(-1).flatten().cumsum(0)
        starts = torch.cat([ends.new_zeros(1), ends[:-1]])
        # Without the padding in it: half of the time of a bag that skips it.
        total = F.embedding_bag(grams[there] - 1, self.table.weight, starts, mode="sum")
        return total.view(*grams.shape[:2], -1) / count.clamp(min=1)


def silenced(grams: Tensor, off: Sequence[frozenset[tuple[int, int]]]) -> Tensor:
    """(B, L, K): 0 in place of each (token, n-gram), of all texts or of each."""
    if not any(off):
        return grams
    grams = grams.clone()
    for row, named in enumerate(off):
        for token, gram in named:
            grams[slice(None) if len(off) == 1 else row, token, gram] = 0
    return grams
