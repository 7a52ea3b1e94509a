"""A split to learn from, and which of its texts go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.text.token_table import TokenTable, in_order

POOL = 50
"""Batches per pool that is sorted by length: nearly as little padding as sorting everything, and still random."""


@dataclass(frozen=True)
class Examples:
    """A tokenised split with its labels, and what is learned of it."""

    tokens: TokenTable
    """n rows; behind them may stand more, of which only `targets` says what is to be learned."""
    labels: np.ndarray
    """(n,) int64 class numbers; of several labels (n, C) float32 zeros and ones; of tokens (n, L) int64 or UNTAGGED."""
    targets: np.ndarray | None = None
    """(all rows, C) float32: probabilities that are learned in place of the labels; None: the labels."""

    def learned(self, classes: int) -> np.ndarray:
        """Return (all rows, C) float32: the targets, or the labels as such."""
        if self.targets is not None:
            return self.targets
        return np.eye(classes, dtype=np.float32)[self.labels] if self.labels.ndim == 1 else self.labels

    def followed_by(self, tokens: TokenTable, targets: np.ndarray, classes: int) -> Examples:
        """Append further texts, of which the targets (further, C) are learned."""
        tokens = self.tokens.followed_by(tokens)
        return replace(self, tokens=tokens, targets=np.concatenate([self.learned(classes), targets]).astype(np.float32))


def plan(
    lengths: np.ndarray, *, batch_size: int, seed: int, epoch: int, batching: Literal["length", "fixed"] = "length"
) -> list[np.ndarray]:
    """Return the batches of one epoch as arrays of row numbers; every row once, the same for the same arguments.

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
