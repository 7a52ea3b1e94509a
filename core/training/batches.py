"""Which texts go together, and how token ids become a padded batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from core.models.trace import Batch
from core.text.lexicon import NEUTRAL, neutral_share
from core.text.tokenizer import Encoding, Tokenizer

POOL = 50
"""Batches per pool that is sorted by length: nearly as little padding as sorting everything, and still random."""


@dataclass(frozen=True)
class TokenTable:
    """Token ids of n texts in one flat array, so that a batch is one indexing operation."""

    flat: np.ndarray
    """(all tokens,) int32."""
    offsets: np.ndarray
    """(n + 1,) int64; text i is flat[offsets[i]:offsets[i + 1]]."""
    tags: np.ndarray | None = None
    """(all tokens,) uint8: parts of speech, where the tokenizer has a tagger."""
    polarity: np.ndarray | None = None
    """(all tokens, 3) float32, where the tokenizer has a lexicon."""

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> TokenTable:
        """A table of tokenised texts; empty ones are allowed."""
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        flat = np.fromiter((token for text in texts for token in text), np.int32, count=int(offsets[-1]))
        return cls(flat, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def nothing(self) -> TokenTable:
        """A table of one empty text, with the same columns."""
        return dataclasses.replace(self, offsets=np.zeros(2, np.int64))

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int64: tokens per text."""
        return np.diff(self.offsets)

    def batch(self, rows: np.ndarray, width: int = 0) -> Batch:
        """The texts at `rows`, padded on the right to the longest of them, or to `width` where that is more.

        The result is at least one column wide, so that a batch of empty texts is still a batch.
        """
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        columns = np.arange(max(1, width, lengths.max(initial=0)))
        keep = columns < lengths[:, None]
        places = (starts[:, None] + columns)[keep]
        ids = np.zeros(keep.shape, np.int64)
        ids[keep] = self.flat[places]
        batch = Batch(torch.from_numpy(ids), torch.from_numpy(keep))
        if self.tags is not None:
            tags = np.zeros(keep.shape, np.int64)
            tags[keep] = self.tags[places]
            batch = batch._replace(tags=torch.from_numpy(tags))
        if self.polarity is not None:
            polarity = np.full((*keep.shape, 3), NEUTRAL, np.float32)
            polarity[keep] = self.polarity[places]
            batch = batch._replace(polarity=torch.from_numpy(polarity))
        return batch

    @property
    def neutral_share(self) -> float:
        """Share of running tokens of which the lexicon says nothing; NaN without tokens or lexicon."""
        return float("nan") if self.polarity is None else neutral_share(self.polarity)

    def whole(self) -> Batch:
        """All texts as one batch, padded on the right to the longest."""
        return self.batch(np.arange(len(self)))


@dataclass(frozen=True)
class Examples:
    """A tokenised split with its labels."""

    tokens: TokenTable
    labels: np.ndarray
    """(n,) int64: class numbers."""


def token_table(tokenizer: Tokenizer, texts: Sequence[str]) -> TokenTable:
    """Texts as a model reads them: token ids, and what the tokenizer knows of each token."""
    if tokenizer.tagger is None and tokenizer.lexicon is None:
        return TokenTable.of(tokenizer.encode_batch(texts))
    ids, tags, polarity = tokenizer.annotate_batch(texts)
    return dataclasses.replace(TokenTable.of(ids), tags=tags, polarity=polarity)


def one_text(encoding: Encoding) -> Batch:
    """A text that was encoded for a page, as a batch of one."""
    tags, polarity = encoding.tags, encoding.polarity
    table = dataclasses.replace(
        TokenTable.of([encoding.ids]),
        tags=None if tags is None else np.array(tags, np.uint8),
        polarity=None if polarity is None else np.array(polarity, np.float32).reshape(-1, 3),
    )
    return table.whole()


def pad(texts: Sequence[Sequence[int]]) -> Batch:
    """All texts as one batch, padded on the right to the longest."""
    return TokenTable.of(texts).whole()


def plan(
    lengths: np.ndarray, *, batch_size: int, seed: int, epoch: int, batching: Literal["length", "fixed"] = "length"
) -> list[np.ndarray]:
    """The batches of one epoch as arrays of row numbers; every row once. Depends on the arguments only.

    fixed: rows in random order. length: the random order is cut into pools of 50 batches, each pool sorted by length
    and cut into batches, and the batches are put in random order.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    if batching == "length":
        span = POOL * batch_size
        pools = [order[start : start + span] for start in range(0, len(order), span)]
        order = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools] or [order])
    batches = in_order(order, batch_size)
    if batching == "length":
        batches = [batches[place] for place in random.permutation(len(batches))]
    return batches


def in_order(order: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Row numbers cut into batches, the last one possibly shorter."""
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def padding_share(lengths: np.ndarray, batches: Sequence[np.ndarray], width: int = 0) -> float:
    """Share of a plan's token places that hold padding: 0 is none, 0.5 half of the work for nothing."""
    places = sum(len(rows) * max(1, width, int(lengths[rows].max())) for rows in batches)
    return 1 - float(lengths.sum()) / places if places else 0.0
