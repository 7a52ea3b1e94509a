"""Whether a difference between two classifiers is more than chance. SciPy does the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from core.evaluation.intervals import LEVEL, RESAMPLES, resamples
from core.evaluation.weighted import Measure
from core.exceptions import InputError

ALPHA = 0.05
LEAST_PAIRS = 6
"""The fewest pairs with which the Wilcoxon test can reach p < 0.05: of five, even all of one sign give 2 / 2⁵."""

Name = Literal["mcnemar", "bootstrap", "wilcoxon"]


@dataclass(frozen=True)
class Verdict:
    """What a test of "there is no difference" says."""

    name: Name
    p: float
    """Two-sided."""
    n: int
    """Rows, or pairs of runs, that it rests on."""
    low: float | None = None
    """Of the 95 % interval of the difference, where the test gives one."""
    high: float | None = None

    @property
    def significant(self) -> bool:
        """At the 5 % level."""
        return self.p < ALPHA


def mcnemar(first: np.ndarray, second: np.ndarray) -> Verdict:
    """Whether two classifiers are right on equally many of the same rows (McNemar 1947, exact binomial form).

    Args:
        first: (n,) booleans: where the one is right.
        second: (n,) the same of the other.

    Raises:
        InputError: they are not of the same rows.
    """
    from scipy.stats import binomtest

    if first.shape != second.shape:
        raise InputError(f"{len(first)} and {len(second)} rows: two classifiers must be judged on the same ones")
    one, other = int((first & ~second).sum()), int((second & ~first).sum())
    p = float(binomtest(one, one + other).pvalue) if one + other else 1.0
    return Verdict("mcnemar", p, len(first))


def wilcoxon(differences: Sequence[float]) -> Verdict:
    """Whether differences between paired runs lie around 0 (Wilcoxon 1945, signed ranks, zeros left out).

    Exact without ties, as SciPy chooses.

    Raises:
        InputError: fewer than six pairs, with which nothing can be significant.
    """
    from scipy import stats

    if len(differences) < LEAST_PAIRS:
        raise InputError(f"{len(differences)} pairs of runs: the Wilcoxon test needs {LEAST_PAIRS}")
    if not np.any(differences):
        return Verdict("wilcoxon", 1.0, len(differences))
    return Verdict("wilcoxon", float(stats.wilcoxon(differences).pvalue), len(differences))


def paired_bootstrap(
    first: Any, second: Any, measure: Measure, rows: int, *, draws: int = RESAMPLES, seed: int = 0
) -> Verdict:
    """Whether a metric differs between two classifiers on the same rows (Efron 1979, both on the same draws of rows).

    p is twice the share of draws in which the difference is not on its side of 0, counted so that it is never 0
    (Davison and Hinkley 1997, section 4.2.5); the interval is that of percentiles.

    Args:
        first: scores of the one classifier, as `measure` reads them.
        second: of the other.
        measure: the metric.
        rows: how many rows both have.
        draws: how often rows are drawn, at most 1,000.
        seed: of the draws.
    """
    blocks, done = [np.zeros(0)], 0
    for weights in resamples(rows, seed):
        drawn = weights[: draws - done]
        blocks.append(measure(first, drawn) - measure(second, drawn))
        done += len(drawn)
        if done == draws:
            break
    found = np.concatenate(blocks)
    found = found[~np.isnan(found)]
    if not len(found):
        return Verdict("bootstrap", 1.0, rows)
    beyond = min(int((found <= 0).sum()), int((found >= 0).sum()))
    low, high = np.percentile(found, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Verdict("bootstrap", min(1.0, 2 * (beyond + 1) / (len(found) + 1)), rows, float(low), float(high))
