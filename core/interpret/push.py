"""How far something pushes an answer: log-odds, what words add to them, and how far two lists of pushes agree.

Here are numbers only; `core.interpret.explain` asks a run for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np

from core.data.table import Task

TINY = float(np.finfo(np.float32).tiny)
HALF_STEP = float(np.finfo(np.float32).epsneg) / 2
"""Where float32 says 0 or 1 there is no log: a probability is at least the one, and at most 1 minus the other."""
DIGITS = 6
"""Behind the point of a push: what differs by less is rounding, and has the same rank."""
LEAST = 3
"""Of fewer words a rank correlation says nothing."""


def log_odds(probabilities: np.ndarray, target: int, task: Task) -> np.ndarray:
    """(…, C) → (…,) float64: log p_t - log of the sum of the others; of several labels log p_t - log(1 - p_t)."""
    p = np.asarray(probabilities, np.float64)
    own, others = p[..., target], np.delete(p, target, -1).sum(-1).clip(TINY)
    if task == "multi":
        others = (1 - own).clip(HALF_STEP)
    return np.log(own.clip(TINY)) - np.log(others)


class Shapley(NamedTuple):
    """Shapley values of n words."""

    pushes: np.ndarray
    """(n,) float64."""
    errors: np.ndarray
    """(n,): standard errors; 0 where every order was asked."""
    alone: float
    """What there is without any of the words."""
    orders: int


def shapley(value: Callable[[np.ndarray], np.ndarray], words: int, orders: int, seed: int) -> Shapley:
    """What each word adds to those before it, mean over orders in which words can come.

    Castro, Gómez and Tejada (2009), "Polynomial calculation of the Shapley value based on sampling": random orders, or
    every order where there are no more than `orders`. The same as Captum's ShapleyValueSampling, which tells no
    standard error and draws from a generator that all threads share.

    Args:
        value: (m, n) bool, which words there are → (m,).
        words: n.
        orders: how many.
        seed: of the orders.
    """
    exact = math.factorial(min(words, orders)) <= orders  # of thousands it would take long to know
    random = np.random.default_rng(seed)
    every = permutations(range(words)) if exact else (random.permutation(words) for _ in range(orders))
    drawn = list(islice(every, orders))
    turn = np.array(drawn, np.int64).reshape(len(drawn), words).argsort(1)  # (orders, n): when each word comes
    there = turn[:, None, :] < np.arange(words + 1)[:, None]  # (orders, n + 1, n)
    distinct, which = np.unique(there.reshape(turn.shape[0] * (words + 1), words), axis=0, return_inverse=True)
    values = value(distinct)[which.reshape(there.shape[:2])]
    added = np.take_along_axis(np.diff(values), turn, 1)
    errors = np.zeros(words) if exact else added.std(0, ddof=1) / math.sqrt(len(added))
    return Shapley(added.mean(0), errors, float(values[0, 0]), len(added))


def agreement(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's rho of two lists of pushes; None where one is too short or all alike."""
    both = ranks(first), ranks(second)
    if len(first) < LEAST or any(np.ptp(each) == 0 for each in both):
        return None
    return float(np.corrcoef(*both)[0, 1])


def ranks(pushes: np.ndarray) -> np.ndarray:
    """Rank pushes from 1, (W,) float64; those that differ by rounding alone share the mean of their ranks."""
    from scipy.stats import rankdata

    found: np.ndarray = rankdata(np.round(pushes, DIGITS))
    return found
