"""Log-odds, Shapley values, and rank agreement between attributions, computed from arrays.

The most attended word receives most attention in the last layer, mean over heads and queries, by absolute value. The
deletion of the most needed word changes the log-odds most, in either direction.
"""

import math
from collections.abc import Callable
from functools import cache
from itertools import islice, permutations
from typing import Literal, NamedTuple

import numpy as np

from core.data.dataset import Task
from core.formatting import count, number
from core.lazy_imports import scipy

TINY = float(np.finfo(np.float32).tiny)
HALF_STEP = float(np.finfo(np.float32).epsneg) / 2
"""Probabilities are limited to [TINY, 1 − HALF_STEP], as float32 may round them to 0 or 1, which have no log-odds."""
DIGITS = 6  # Decimals of an attribution: smaller differences are rounding errors, and give equal ranks
LEAST = 3  # Words needed for a rank correlation


def compute_log_odds(probabilities: np.ndarray, target: int, task: Task) -> np.ndarray:
    """Return a class's log-odds from probabilities: log p - log Σ others; multi-label: log p - log(1 - p)."""
    p = np.asarray(probabilities, np.float64)
    own, others = p[..., target], np.delete(p, target, -1).sum(-1).clip(TINY)
    if task == "multi":
        others = (1 - own).clip(HALF_STEP)
    return np.log(own.clip(TINY)) - np.log(others)


class Shapley(NamedTuple):
    """Shapley values of the n words of a text with their standard errors."""

    pushes: np.ndarray  # (n,) float64
    errors: np.ndarray  # (n,): standard errors; 0 if all orders were used
    alone: float  # Value without any of the words
    orders: int


def compute_shapley(value: Callable[[np.ndarray], np.ndarray], words: int, orders: int, seed: int) -> Shapley:
    """Compute Shapley values by random orders (Castro, Gómez and Tejada 2009), or by all if there are few.

    Captum's have no standard errors and a global generator. `value` maps (m, n) bool, which words are there, to (m,).
    """
    exact = math.factorial(min(words, orders)) <= orders  # min: the factorial of thousands takes long
    random = np.random.default_rng(seed)
    every = permutations(range(words)) if exact else (random.permutation(words) for _ in range(orders))
    drawn = list(islice(every, orders))
    turn = np.array(drawn, np.int64).reshape(len(drawn), words).argsort(1)  # (orders, n): position of each word
    there = turn[:, None, :] < np.arange(words + 1)[:, None]  # (orders, n + 1, n)
    distinct, which = np.unique(there.reshape(turn.shape[0] * (words + 1), words), axis=0, return_inverse=True)
    values = value(distinct)[which.reshape(there.shape[:2])]
    added = np.take_along_axis(np.diff(values), turn, 1)
    errors = np.zeros(words) if exact else added.std(0, ddof=1) / math.sqrt(len(added))
    return Shapley(added.mean(0), errors, float(values[0, 0]), len(added))


def compute_agreement(first: np.ndarray, second: np.ndarray) -> float | None:
    """Compute Spearman's rank correlation of two lists of attributions; None if one is too short or constant."""
    both = rank_attributions(first), rank_attributions(second)
    if len(first) < LEAST or any(np.ptp(each) == 0 for each in both):
        return None
    return float(np.corrcoef(*both)[0, 1])


def rank_attributions(pushes: np.ndarray) -> np.ndarray:
    """Return ranks of word attributions from 1, (W,) float64; values equal up to rounding share their mean rank."""
    return scipy.stats.rankdata(np.round(pushes, DIGITS))


class TopWords(NamedTuple):
    """The indices of the word with most attention and of the word with the largest deletion effect."""

    read: int
    needed: int

    @property
    def same(self) -> bool:
        """Return whether the most attended word is also the one with the largest deletion effect."""
        return self.read == self.needed


def find_top_words(read: np.ndarray, needed: np.ndarray) -> TopWords | None:
    """Find the indices of the most attended word and the one with the largest deletion effect; None below two words."""
    return TopWords(find_largest(read), find_largest(needed)) if len(needed) > 1 else None


def find_largest(pushes: np.ndarray) -> int:
    """Return the index of the word with the largest absolute attribution; if several are equal, the first."""
    return int(np.abs(np.round(pushes, DIGITS)).argmax())


LEAST_TESTED = 8  # Words needed for a test. For 8 words all 40 320 orders are used, for more words `DRAWS` random ones
DRAWS, SEED = 10_000, 0
LEVEL = 0.05  # Largest p-value of a verdict other than *inconclusive*; two-sided


class RankTest(NamedTuple):
    """The result of a permutation test whether two attribution methods rank the words of a text alike."""

    words: int
    rho: float | None  # Spearman's rho; None: fewer than three words, or equal values
    p: float | None = None  # Two-sided p-value; None: no rho, or fewer than `LEAST` words

    @property
    def verdict(self) -> Literal["agree", "disagree", "inconclusive"] | None:
        """Return whether two attribution methods agree, disagree or neither (inconclusive); None without a p-value."""
        if self.p is None or self.rho is None:
            return None
        return "inconclusive" if self.p > LEVEL else "agree" if self.rho > 0 else "disagree"

    def describe(self, first: str, second: str, brief: bool = False) -> str:
        """Describe in words whether two attribution methods rank words alike, or why this was not tested."""
        if self.words < LEAST_TESTED:
            return f"{first} and {second}: no verdict below {LEAST_TESTED} words"
        if self.p is None or self.rho is None:
            return f"{first} and {second}: no verdict, one gives all words the same number"
        p = "p < 0.001" if self.p < 0.001 else f"p = {number(self.p)}"
        said = ": no clear relation" if self.verdict == "inconclusive" else f" {self.verdict}"
        more = "" if brief else f", {p}, {count(self.words)} words"
        return f"{first} and {second}{said} (ρ = {number(self.rho, 2)}{more})"


def compare_ranks(first: np.ndarray, second: np.ndarray) -> RankTest:
    """Test Spearman's rho of two attributions (W,) against random orders, the observed one among them.

    The p-value is twice the smaller tail. Ranks are multiples of 0.5, so products are exact.
    """
    words, rho = len(first), compute_agreement(first, second)
    if rho is None or words < LEAST_TESTED:
        return RankTest(words, rho)
    ours, theirs = rank_attributions(first), rank_attributions(second)
    if words == LEAST_TESTED:
        null, extra = theirs[_list_orders()] @ ours, 0
    else:
        drawn = np.random.default_rng(SEED).permuted(np.tile(theirs, (DRAWS, 1)), axis=1)
        null, extra = drawn @ ours, 1
    seen = ours @ theirs
    tails = [int((null >= seen).sum()), int((null <= seen).sum())]
    return RankTest(words, rho, min(1.0, 2 * (min(tails) + extra) / (len(null) + extra)))


@cache
def _list_orders() -> np.ndarray:
    """Return all orders of 8 words as permutations of their indices, (40 320, 8)."""
    return np.array(list(permutations(range(LEAST_TESTED))), np.int8)
