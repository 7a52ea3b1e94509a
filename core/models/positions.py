"""Vectors added to the word embeddings: positions, character n-grams, and segments of pairs."""

import math
import random as pseudo
from collections.abc import Collection, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import InputError
from core.models.trace import SILENT, Placing, Record

TAGS = 12  # Universal parts of speech, ids 1 to 12; 0: unknown or padded
CLASS_TAG = TAGS + 1
TAG_STD = 0.02


def compute_sinusoid(length: int, width: int, device: torch.device) -> Tensor:
    """Return sinusoidal position encodings (L, d): sine in even columns, cosine in odd ones, base 10000."""
    position = torch.arange(length, dtype=torch.float32, device=device)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=device) * (-math.log(10_000) / width))
    return torch.stack([(position * rate).sin(), (position * rate).cos()], -1).flatten(1)


def compute_recency(keep: Tensor, width: int) -> Tensor:
    """Return recency encodings (B, L, d): sine and cosine of pi i / n for token i of n (SentiFormer, eq. 3)."""
    length = keep.sum(1, keepdim=True).clamp(min=1)
    angle = math.pi * torch.arange(1, keep.shape[1] + 1, device=keep.device) / length  # (B, L)
    return torch.stack([angle.sin(), angle.cos()], -1).repeat(1, 1, width // 2)


def place_tokens(keep: Tensor, first: int, how: Sequence[Placing]) -> Tensor | None:
    """Return the position of each token, (B, L), after interventions; -1: none. None if nothing changes.

    `how` has one entry for all texts or one for each. Shuffled positions are those of the words, without the `first`
    class token, in an order that depends only on their number.
    """
    if not any(how):
        return None
    places = torch.arange(keep.shape[1]).repeat(len(keep), 1)
    for row, length in enumerate(keep.sum(1).tolist()):
        way = how[row if len(how) > 1 else 0]
        if way == "off":
            places[row] = -1
        elif way == "shuffled":
            inner = list(range(first, length))
            pseudo.Random(length).shuffle(inner)
            places[row, first:length] = torch.tensor(inner, dtype=torch.int64)
    return places.to(keep.device)


class Sinusoidal(nn.Module):
    """The standard sinusoidal position encoding, without learned parameters."""

    def forward(self, x: Tensor, keep: Tensor, tags: Tensor | None, record: Record = SILENT) -> Tensor:
        """Return the sinusoidal position encodings (L, d) to add to the embeddings x (B, L, d)."""
        waves = compute_sinusoid(x.shape[1], x.shape[2], x.device)
        if record:
            record(r"p^{\sin}", waves[None], r"p^{\sin}_i", ((1.0,),))
        return waves

    def get_factors(self) -> dict[str, Tensor]:
        """Return an empty dictionary, as sinusoidal positions have no learned factor."""
        return {}


class PolarityAware(nn.Module):
    """The position encoding of SentiFormer: sinusoid, recency and part of speech, each with a learned factor."""

    def __init__(self, *, width: int, recency: bool, tags: bool) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1))
        self.beta = nn.Parameter(torch.ones(1)) if recency else None
        self.gamma = nn.Parameter(torch.ones(1)) if tags else None
        self.tags = nn.Embedding(CLASS_TAG + 1, width, padding_idx=0) if tags else None
        if self.tags is not None:  # row 0, of unknown tags, is zero
            nn.init.normal_(self.tags.weight, std=TAG_STD)
            nn.init.zeros_(self.tags.weight[0])

    def forward(self, x: Tensor, keep: Tensor, tags: Tensor | None, record: Record = SILENT) -> Tensor:
        """Return the position encodings (B, L, d) to add to embeddings x; without tags (B, L) the third term is 0."""
        waves = compute_sinusoid(x.shape[1], x.shape[2], x.device)
        p = self.alpha * waves
        if record:
            record(r"p^{\sin}", waves[None], r"\alpha\,p^{\sin}_i", ((self.alpha,),))
        if self.beta is not None:
            near = compute_recency(keep, x.shape[2])
            p = p + self.beta * near
            record("r", near, r"\beta\,r_i", ((self.beta,),))
        if self.tags is not None and self.gamma is not None:
            rows = self.tags(keep.long() * 0 if tags is None else tags)
            p = p + self.gamma * rows
            if record:
                record(r"E^{\mathrm{tag}}", rows, r"\gamma\,E^{\mathrm{tag}}_i", ((self.gamma,),))
        return p

    def get_factors(self) -> dict[str, Tensor]:
        """Return the learned factors of the position terms by name (alpha, beta, gamma), each (1,)."""
        named = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        return {name: factor for name, factor in named.items() if factor is not None}


class CharacterNGrams(nn.Module):
    """The embedding of a word's character n-grams: the mean of the table rows that their hash values select."""

    def __init__(self, *, buckets: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(buckets, width)

    def forward(self, grams: Tensor | None) -> Tensor:
        """Return the mean n-gram embedding (B, L, d) of hash buckets (B, L, K), 0: none; InputError: no n-grams."""
        if grams is None:
            raise InputError("this model reads character n-grams of words, and these texts come without them")
        there = grams > 0
        count = there.sum(-1, keepdim=True)
        ends = count.flatten().cumsum(0)
        starts = torch.cat([ends.new_zeros(1), ends[:-1]])
        # Padding is removed first, which takes half the time of a bag with a padding index.
        total = F.embedding_bag(grams[there] - 1, self.table.weight, starts, mode="sum")
        return total.view(*grams.shape[:2], -1) / count.clamp(min=1)


MARK = 2  # The id of the pair mark in all tokenizers; it is the last token of the first text


def number_segments(ids: Tensor, mark: int = MARK) -> Tensor:
    """Number the tokens of text pairs: 0 up to the first separator, 1 after it, (B, L); all 0 for single texts."""
    marks = (ids == mark).long()
    return (marks.cumsum(1) - marks).clamp(max=1)


class Segments(nn.Module):
    """The learned vectors added to the tokens of the first and the second text of a pair."""

    def __init__(self, *, width: int, std: float) -> None:
        super().__init__()
        self.table = nn.Embedding(2, width)
        nn.init.normal_(self.table.weight, std=std)

    def forward(self, ids: Tensor, off: Collection[bool] = ()) -> Tensor:
        """Return the segment vector (B, L, d) of each token; zeros for texts where segments are switched `off`."""
        found: Tensor = self.table(number_segments(ids))
        if any(off):
            found = found * torch.tensor([not each for each in off], device=ids.device)[:, None, None]
        return found
