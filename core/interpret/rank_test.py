"""Whether two methods rank the words of a text alike: a permutation test of Spearman's rho, and its verdict."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np

from core.interpret import push
from core.numbers import count, number

LEAST = 8
"""Words of a text with a verdict. Here all 40 320 orders are tried; of more words, `DRAWS` orders at random."""
DRAWS, SEED = 10_000, 0
LEVEL = 0.05
"""Largest p-value of a verdict other than *inconclusive*; two-sided."""


class RankTest(NamedTuple):
    """How far two lists of numbers rank the same words alike."""

    words: int
    rho: float | None
    """Spearman's rho; None: fewer than three words, or all alike."""
    p: float | None = None
    """Two-sided p-value; None: no rho, or fewer than `LEAST` words."""

    @property
    def verdict(self) -> Literal["agree", "disagree", "inconclusive"] | None:
        """The verdict; None where there is no p-value."""
        if self.p is None or self.rho is None:
            return None
        return "inconclusive" if self.p > LEVEL else "agree" if self.rho > 0 else "disagree"

    def describe(self, first: str, second: str, brief: bool = False) -> str:
        """Describe the verdict on two methods of these names, or say why there is none.

        Args:
            first: name of a method.
            second: name of the other.
            brief: leave out the p-value and the number of words.
        """
        if self.words < LEAST:
            return f"{first} and {second}: no verdict below {LEAST} words"
        if self.p is None or self.rho is None:
            return f"{first} and {second}: no verdict, one gives all words the same number"
        p = "p < 0.001" if self.p < 0.001 else f"p = {number(self.p)}"
        said = ": inconclusive" if self.verdict == "inconclusive" else f" {self.verdict}"
        more = "" if brief else f", {p}, {count(self.words)} words"
        return f"{first} and {second}{said} (ρ = {number(self.rho, 2)}{more})"


def compare_ranks(first: np.ndarray, second: np.ndarray) -> RankTest:
    """Test Spearman's rho of two lists of numbers, (W,) each, against random orders of the words.

    The p-value is twice the smaller tail. Ranks are whole or half, so their products are exact and ties need no
    tolerance. Drawn orders count the observed one among them (Phipson and Smyth 2010), so that p is never too small.
    """
    words, rho = len(first), push.agreement(first, second)
    if rho is None or words < LEAST:
        return RankTest(words, rho)
    ours, theirs = push.ranks(first), push.ranks(second)
    if words == LEAST:
        null, extra = theirs[_every_order()] @ ours, 0
    else:
        drawn = np.random.default_rng(SEED).permuted(np.tile(theirs, (DRAWS, 1)), axis=1)
        null, extra = drawn @ ours, 1
    seen = ours @ theirs
    tails = [int((null >= seen).sum()), int((null <= seen).sum())]
    return RankTest(words, rho, min(1.0, 2 * (min(tails) + extra) / (len(null) + extra)))


@cache
def _every_order() -> np.ndarray:
    """Return all orders of `LEAST` words, (40 320, 8)."""
    return np.array(list(permutations(range(LEAST))), np.int8)
