"""Significance tests of the difference between two classifiers, with the interval of the difference.

For metrics that are sums of absolute gaps, such as the calibration error, the two models' predictions of random rows
are swapped. Noise increases absolute gaps, and resampling adds noise: if gaps are near 0, a bootstrap varies more than
the metric itself (Andrews, Econometrica 2000, parameters at a boundary); swaps do not.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.evaluation.intervals import LEVEL, RESAMPLES, count_draws, draw_resamples
from core.lazy_imports import scipy
from core.metrics import Metric

_CELLS = 1_000_000  # signs in memory at once
_NORMAL = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
Parts = Sequence[np.ndarray]
"""(n, K) for each seed: each row's contribution to n times each gap. The metric is the sum of the absolute means."""


def compute_swap_variance(first: Parts, second: Parts, seed: int = 0) -> float | None:
    """Return the variance of two models' metric difference if their predictions are swapped on random rows.

    Paired randomisation (Fisher 1935) holds if each row's predictions belong to either model with equal probability. An
    equal metric alone does not imply this, so the models' gaps are compared first: if they differ more than in each of
    1,000 swaps, the result is None, and rows must be resampled instead. The variance is that of the normal distribution
    with the same 95 % quantile of absolute differences; at levels below 5 % the test is conservative.
    """
    rows = len(first[0])
    middle = [(one + two) / 2 for one, two in zip(first, second, strict=True)]
    half = np.concatenate([(one - two) / 2 for one, two in zip(first, second, strict=True)], 1)
    spread = np.sqrt((half**2).sum(0))
    spread[spread == 0] = np.inf  # nothing falls into this bin
    center = np.stack([each.mean(0) for each in middle])
    found, unlike = [], []
    for signs in _draw_signs(rows, seed):
        moved = signs @ half
        unlike.append(((moved / spread) ** 2).sum(1))
        gaps = moved.reshape(len(moved), *center.shape) / rows
        found.append((np.abs(center + gaps) - np.abs(center - gaps)).sum(2).mean(1))
    if ((half.sum(0) / spread) ** 2).sum() > np.concatenate(unlike).max():
        return None
    return float(np.quantile(np.abs(np.concatenate(found)), LEVEL) / _NORMAL) ** 2


def _draw_signs(rows: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks (R, rows) of random signs: two models swap their predictions on rows with −1, not on rows with 1."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // rows)
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        bits = np.frombuffer(random.bytes(size * rows // 8 + 1), np.uint8)
        yield np.unpackbits(bits, count=size * rows).reshape(size, rows) * 2.0 - 1.0


ALPHA = 0.05
POWER = 0.8  # probability of finding a difference with `rows_needed` rows
METHOD = (
    "Mean difference of all runs that both have (same seed, same fold). p and 95 % interval: a paired bootstrap over "
    "the test texts, which all seeds share, and with two seeds or more also the spread between seeds (Student's t); of "
    "the calibration error texts change sides by chance in place of a draw. Of one seed it is about these two trained "
    "models only. Below 10 rows that tell two models apart there is no interval."
)  # the description of `compare_classifiers` that is shown with its numbers
LEAST = 10  # rows on which two classifiers differ that an interval needs
BOOTSTRAP, SWAPS = "paired bootstrap", "paired swaps"
Run = tuple[int, int]  # seed and fold: runs of two classifiers with the same are a pair; a fold has the same rows


@dataclass(frozen=True)
class PairedDifference:
    """The tested metric difference of two classifiers, with its interval and p-value from the same runs and rows."""

    difference: float  # mean over the pairs of runs
    of_rows: float  # variance of the difference over resamples of the rows
    of_seeds: float  # variance between seeds; 0 for one seed
    telling: int  # rows on which the two classifiers differ
    seeds: int
    runs: int  # pairs of runs
    rows: int  # test rows of all folds
    test: str  # the method of `of_rows`; the bootstrap if any fold needs it
    widest: float = math.inf  # the largest possible difference of the metric, which limits intervals

    @property
    def measured(self) -> bool:
        """Return whether a metric difference has an interval: enough rows differ, and its resamples vary."""
        return self.telling >= LEAST and self.error > 0

    @property
    def low(self) -> float | None:
        """Return the low end of a metric difference's 95 % interval; it contains 0 if and only if p is at least 5 %."""
        return (self.compute_interval(1 - LEVEL) or (None, None))[0]

    @property
    def high(self) -> float | None:
        """Return the high end of the 95 % interval of a metric difference."""
        return (self.compute_interval(1 - LEVEL) or (None, None))[1]

    @property
    def significant(self) -> bool:
        """Return whether the p-value of a metric difference is below 5 %."""
        return self.p < ALPHA

    @property
    def error(self) -> float:
        """Return the standard error of the metric difference of two classifiers."""
        return math.sqrt(self.of_rows + self.of_seeds)

    @property
    def effect(self) -> float:
        """Return Cohen's d: a metric difference divided by the standard deviation of the rows' contributions to it."""
        spread = math.sqrt(self.of_rows * self.rows)
        return self.difference / spread if spread else 0.0

    @cached_property
    def p(self) -> float:
        """Return the two-sided p-value of a metric difference; if all resamples are equal, of an exact sign test."""
        least = 1e-12
        if not self.error:
            return float(2.0 ** (1 - self.telling)) if self.difference else 1.0
        if abs(self.difference) >= self._compute_margin(least):
            return least
        return float(scipy.optimize.brentq(lambda p: self._compute_margin(p) - abs(self.difference), least, 1))

    def compute_interval(self, alpha: float) -> tuple[float, float] | None:
        """Return the interval of a metric difference at level 1 − alpha; it excludes 0 exactly if p is below alpha."""
        if not self.measured:
            return None
        half = self._compute_margin(alpha)
        return max(-self.widest, self.difference - half), min(self.widest, self.difference + half)

    def count_rows_needed(self, alpha: float) -> int | None:
        """Return how many test rows would show such a metric difference at level alpha with 80 % power.

        The difference must equal both quantiles times the standard error, whose row part falls with the number of rows.
        None for a difference of 0, without measurement, and if only more seeds would help. For the true difference the
        power is 78 to 85 % in simulations (73 to 958 rows); for a difference that was observed once, the result is 0.4
        to 4 times the right number in 80 % of studies.
        """
        quantile = statistics.NormalDist().inv_cdf
        wanted = (abs(self.difference) / (quantile(1 - alpha / 2) + quantile(POWER))) ** 2 - self.of_seeds
        return math.ceil(self.rows * self.of_rows / wanted) if self.measured and wanted > 0 else None

    def _compute_margin(self, p: float) -> float:
        """Return the absolute metric difference that chance exceeds with probability p."""
        of_each = -scipy.special.stdtrit([max(1, self.telling - 1), max(1, self.seeds - 1)], p / 2)
        return float(np.average(of_each, weights=[self.of_rows, self.of_seeds])) * self.error


@dataclass(frozen=True)
class ScorePair:
    """The labels and predictions of two classifiers on the same rows."""

    first: Any
    second: Any
    differ: np.ndarray  # (n,) booleans: rows on which the two classifiers differ

    @property
    def rows(self) -> int:
        """Return the number of rows that both classifiers have predicted."""
        return len(self.differ)


class Draws:
    """The values of a metric on resampled rows, the same for all scores, cached as models are compared with several."""

    def __init__(self, metric: Metric, draws: int = 0, seed: int = 0) -> None:
        self.metric, self.draws, self.seed = metric, draws or count_draws(metric), seed
        self._kept: dict[int, tuple[Any, float, np.ndarray]] = {}

    def measure_draws(self, scores: Any) -> tuple[float, np.ndarray]:
        """Return a metric on all rows and on each bootstrap resample, (draws,), NaN where it is undefined."""
        self.resample_scores([scores])
        return self._kept[id(scores)][1:]

    def measure_gap(self, both: ScorePair) -> float:
        """Return the metric difference of two classifiers on all rows, first minus second."""
        return self.measure_draws(both.first)[0] - self.measure_draws(both.second)[0]

    def resample_scores(self, several: Sequence[Any]) -> None:
        """Compute a metric of several models on the same bootstrap resamples, which are drawn only once, for speed."""
        new = [each for each in several if id(each) not in self._kept]
        found: list[list[np.ndarray]] = [[] for _ in new]
        for weights in draw_resamples(len(new[0]), self.seed, min(self.draws, RESAMPLES)) if new else ():
            for each, values in zip(new, found, strict=True):
                values.append(self.metric.measure(each, weights))
        for each, values in zip(new, found, strict=True):
            once = float(self.metric.measure(each, np.ones((1, len(each))))[0])
            self._kept[id(each)] = each, once, np.concatenate(values)  # with the scores, so that the id stays unique


def compare_classifiers(pairs: Mapping[Run, ScorePair], draws: Draws) -> PairedDifference:
    """Test the difference in a metric of two classifiers on the same rows, paired by seed and fold.

    The variance of the mean difference has two parts. Test rows: both classifiers and all seeds of a fold get the same
    resamples of rows (paired bootstrap, Efron 1979), since seeds share their rows. Seeds: the variance of the seeds'
    differences divided by their number; for one seed it is unknown and counts as 0, so that the result concerns only
    these two models. p and interval use Student's t: the quantiles of both parts are weighted by their variances
    (Cochran and Cox 1950), with one degree of freedom less than differing rows and than seeds. Variance that rows and
    seeds share counts twice, so the test is conservative. For a sum of absolute gaps see `compute_swap_variance`.
    """
    folds = {fold: [both for run, both in pairs.items() if run[1] == fold] for _, fold in pairs}
    apart = {run: draws.measure_gap(both) for run, both in pairs.items()}
    swapped = {fold: _measure_swapped(runs, draws) for fold, runs in folds.items()}
    of_fold = {fold: _measure_drawn(folds[fold], draws) if found is None else found for fold, found in swapped.items()}
    of_rows = sum((len(runs) / len(pairs)) ** 2 * of_fold[fold] for fold, runs in folds.items())
    by_seed = [
        statistics.fmean(apart[run] for run in apart if run[0] == number) for number in {run[0] for run in apart}
    ]
    return PairedDifference(
        statistics.fmean(apart.values()),
        of_rows,
        statistics.variance(by_seed) / len(by_seed) if len(by_seed) > 1 else 0.0,
        telling=sum(int(np.any([both.differ for both in runs], 0).sum()) for runs in folds.values()),
        seeds=len(by_seed),
        runs=len(pairs),
        rows=sum(runs[0].rows for runs in folds.values()),
        test=BOOTSTRAP if None in swapped.values() else SWAPS,
        widest=draws.metric.range[1] - draws.metric.range[0],
    )


def _measure_swapped(runs: Sequence[ScorePair], draws: Draws) -> float | None:
    """Return the variance of two models' metric difference if predictions are swapped; None: rows must be resampled."""
    parts = draws.metric.parts
    if parts is None:
        return None
    return compute_swap_variance(
        [parts(both.first) for both in runs], [parts(both.second) for both in runs], draws.seed
    )


def _measure_drawn(runs: Sequence[ScorePair], draws: Draws) -> float:
    """Return the variance of two models' metric difference, as a mean over runs, on bootstrap resamples of rows."""
    drawn = np.mean([draws.measure_draws(both.first)[1] - draws.measure_draws(both.second)[1] for both in runs], axis=0)
    drawn = drawn[~np.isnan(drawn)]
    return float(drawn.var(ddof=1)) if len(drawn) > 1 else 0.0
