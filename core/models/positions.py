"""What is added to the embeddings so that the order of tokens counts."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from core.models.record import SILENT, Record

TAGS = 12  # Universal parts of speech; ids 1 to 12, 0 where unknown or padded
CLASS_TAG = TAGS + 1
TAG_STD = 0.02


def sinusoid(length: int, width: int, device: torch.device) -> Tensor:
    """Sinusoidal positions (L, d): sine in even columns, cosine in odd ones, base 10000."""
    position = torch.arange(length, dtype=torch.float32, device=device)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=device) * (-math.log(10_000) / width))
    return torch.stack([(position * rate).sin(), (position * rate).cos()], -1).flatten(1)


def recency(keep: Tensor, width: int) -> Tensor:
    """[sin(pi i / n), cos(pi i / n)] repeated to d columns (B, L, d), i = 1 … n in a text of n tokens.

    SentiFormer, eq. 3. The cosine is -1 at the last token and nowhere else.
    """
    length = keep.sum(1, keepdim=True).clamp(min=1)
    angle = math.pi * torch.arange(1, keep.shape[1] + 1, device=keep.device) / length  # (B, L)
    return torch.stack([angle.sin(), angle.cos()], -1).repeat(1, 1, width // 2)


class Sinusoidal(nn.Module):
    """The standard encoding; nothing is learned."""

    def forward(self, x: Tensor, keep: Tensor, tags: Tensor | None, record: Record = SILENT) -> Tensor:
        """What to add to x (B, L, d): (L, d)."""
        waves = sinusoid(x.shape[1], x.shape[2], x.device)
        if record:
            record(r"p^{\sin}", waves[None], r"p^{\sin}_i", ((1.0,),))
        return waves

    def factors(self) -> dict[str, Tensor]:
        """No learned factor."""
        return {}


class PolarityAware(nn.Module):
    """p = alpha · sinusoid + beta · recency + gamma · part of speech, the factors learned from 1 (SentiFormer, eq. 3).

    The table of tags has a row for each tag, the class token, and one (zero) for unknown tags; d is even.
    """

    def __init__(self, *, width: int, recency: bool, tags: bool) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1))
        self.beta = nn.Parameter(torch.ones(1)) if recency else None
        self.gamma = nn.Parameter(torch.ones(1)) if tags else None
        self.tags = nn.Embedding(CLASS_TAG + 1, width, padding_idx=0) if tags else None
        if self.tags is not None:
            nn.init.normal_(self.tags.weight, std=TAG_STD)
            nn.init.zeros_(self.tags.weight[0])

    def forward(self, x: Tensor, keep: Tensor, tags: Tensor | None, record: Record = SILENT) -> Tensor:
        """What to add to x (B, L, d), given the tags (B, L): (B, L, d).

        Texts in a language without a tagger have no tags: then every tag is unknown, and the third term adds nothing.
        """
        waves = sinusoid(x.shape[1], x.shape[2], x.device)
        p = self.alpha * waves
        if record:
            record(r"p^{\sin}", waves[None], r"\alpha\,p^{\sin}_i", ((self.alpha,),))
        if self.beta is not None:
            near = recency(keep, x.shape[2])
            p = p + self.beta * near
            record("r", near, r"\beta\,r_i", ((self.beta,),))
        if self.tags is not None and self.gamma is not None:
            rows = self.tags(keep.long() * 0 if tags is None else tags)
            p = p + self.gamma * rows
            if record:
                record(r"E^{\mathrm{tag}}", rows, r"\gamma\,E^{\mathrm{tag}}_i", ((self.gamma,),))
        return p

    def factors(self) -> dict[str, Tensor]:
        """The learned factors by name, each (1,)."""
        named = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        return {name: factor for name, factor in named.items() if factor is not None}
