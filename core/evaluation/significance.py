"""Whether a difference between two classifiers is more than chance, with its interval. SciPy does the statistics."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.evaluation.intervals import LEVEL, RESAMPLES, resamples
from core.metrics import Measure

ALPHA = 0.05
METHOD = (
    "Mean difference of all runs that both have (same seed, same fold). p and 95 % interval: a paired bootstrap over "
    "the test texts, which all seeds share, and with two seeds or more also the spread between seeds (Student's t). Of "
    "one seed it is about these two trained models only."
)
"""What `compare` does, in words that stand beside its numbers."""

Run = tuple[int, int]
"""Seed and fold: two runs of the same are a pair. Runs of one fold have the same test rows."""


@dataclass(frozen=True)
class Compared:
    """A difference of two classifiers; difference, interval and p are of the same runs and rows."""

    difference: float
    """Mean over the pairs of runs."""
    low: float
    """Of the 95 % interval, which always holds the difference, and 0 exactly where p is 5 % or more."""
    high: float
    p: float
    """Two-sided."""
    runs: int
    """Pairs of runs."""
    rows: int
    """Test rows, of all folds together."""

    @property
    def significant(self) -> bool:
        """At the 5 % level."""
        return self.p < ALPHA


@dataclass(frozen=True)
class Both:
    """What two classifiers say of the same rows."""

    first: Any
    """Scores as the measure reads them."""
    second: Any
    differ: np.ndarray
    """(n,) booleans: rows that can tell the two apart."""

    @property
    def rows(self) -> int:
        """n."""
        return len(self.differ)


def compare(pairs: Mapping[Run, Both], measure: Measure, *, draws: int = RESAMPLES, seed: int = 0) -> Compared:
    """Whether a metric differs between two classifiers, trained with several seeds and judged on the same rows.

    The variance of the mean difference has two parts. Test rows: both classifiers and all seeds of a fold see the same
    draws of rows (paired bootstrap, Efron 1979), since seeds share their rows and are no further evidence about other
    texts. Seeds: the variance of the seeds' differences over their number; of one seed it is unknown and counts 0, so
    that the answer is about these two trained models. p and interval are Student's t, the quantiles of both parts
    weighed by their variances (Cochran and Cox 1950): with one degree of freedom less than rows that can tell the two
    apart, and one less than seeds. What seeds and rows have in common counts in both: the test is rather too careful.

    Args:
        pairs: by seed and fold.
        measure: the metric.
        draws: how often rows are drawn, at most 1,000.
        seed: of the draws.
    """
    from scipy import stats
    from scipy.optimize import brentq

    folds = {fold: [both for run, both in pairs.items() if run[1] == fold] for _, fold in pairs}
    apart = {run: float(_apart([both], measure, np.ones((1, both.rows)))[0]) for run, both in pairs.items()}
    difference = statistics.fmean(apart.values())
    of_rows = sum(
        (len(runs) / len(pairs)) ** 2 * _variance_of_rows(runs, measure, draws, seed + place)
        for place, runs in enumerate(folds.values())
    )
    by_seed = [
        statistics.fmean(apart[run] for run in apart if run[0] == number) for number in {run[0] for run in apart}
    ]
    of_seeds = statistics.variance(by_seed) / len(by_seed) if len(by_seed) > 1 else 0.0
    telling = sum(int(np.any([both.differ for both in runs], 0).sum()) for runs in folds.values())
    error = math.sqrt(of_rows + of_seeds)
    found = {"runs": len(pairs), "rows": sum(runs[0].rows for runs in folds.values())}
    if not error:
        return Compared(difference, difference, difference, 0.0 if difference else 1.0, **found)

    def reach(p: float) -> float:
        """How far a difference by chance goes beyond with probability p."""
        of_each = stats.t.isf(p / 2, [max(1, telling - 1), max(1, len(by_seed) - 1)])
        return float(np.average(of_each, weights=[of_rows, of_seeds])) * error

    half, least = reach(1 - LEVEL), 1e-12
    beyond = abs(difference) >= reach(least)
    p = least if beyond else float(brentq(lambda p: reach(p) - abs(difference), least, 1))
    return Compared(difference, difference - half, difference + half, p, **found)


def _variance_of_rows(runs: Sequence[Both], measure: Measure, draws: int, seed: int) -> float:
    """Variance of the mean difference of runs with the same rows, over draws of these rows."""
    found, done = list[np.ndarray](), 0
    for weights in resamples(runs[0].rows, seed):
        found.append(_apart(runs, measure, weights[: draws - done]))
        done += len(found[-1])
        if done == draws:
            break
    drawn = np.concatenate(found)
    drawn = drawn[~np.isnan(drawn)]
    return float(drawn.var(ddof=1)) if len(drawn) > 1 else 0.0


def _apart(runs: Sequence[Both], measure: Measure, weights: np.ndarray) -> np.ndarray:
    """(R, n) weights → (R,) mean difference."""
    return np.mean([measure(both.first, weights) - measure(both.second, weights) for both in runs], axis=0)
