"""Comparison of several models on the same rows: the choice of test, intervals and the conclusion in words.

A family is all tests that are viewed together. Holm (1979) keeps the chance of any wrong "better" among equally good
models at 5 %; each interval has the level of its step, so that it excludes 0 exactly if p after Holm is below 0.05.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.evaluation.significance import ALPHA, POWER, Draws, PairedDifference, Run, ScorePair, compare_classifiers
from core.formatting import count, join_names
from core.lazy_imports import scipy
from core.metrics import Metric, get_metric

_NORMAL = statistics.NormalDist()


@dataclass(frozen=True)
class McNemar:
    """McNemar's exact test (1947, two-sided, doubled tail) of two classifiers on the same rows.

    It is conservative: p is below 0.05 in 3.7 % of 2,000 simulated studies of equal models with 200 rows.
    """

    only_first: int  # rows that only the first classifier has right
    only_second: int
    rows: int  # all rows
    test = "McNemar, exact"

    @property
    def difference(self) -> float:
        """Return the difference of two classifiers' accuracies, first minus second."""
        return (self.only_first - self.only_second) / self.rows if self.rows else 0.0

    @property
    def p(self) -> float:
        """Return the two-sided p-value of the exact McNemar test."""
        apart, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        return min(1.0, 2 * float(scipy.special.bdtr(fewer, apart, 0.5))) if apart else 1.0

    @property
    def effect(self) -> float:
        """Return Cohen's g (−0.5 to 0.5): the share of discordant rows that the first model has right, minus a half."""
        apart = self.only_first + self.only_second
        return self.only_first / apart - 0.5 if apart else 0.0

    def compute_interval(self, alpha: float) -> tuple[float, float]:
        """Return the accuracy difference's interval at level 1 − alpha; it excludes 0 if and only if p is below alpha.

        The score interval of Tango (1998, equations 8 and 9), which inverts the test of each possible difference. The
        normal quantile is replaced by the smallest value that is significant in the exact test, so that both agree on
        a difference of 0.
        """
        if not self.rows:
            return -1.0, 1.0
        z = self._find_critical(alpha)
        return self._find_bound(z), self._find_bound(-z)

    def count_rows_needed(self, alpha: float) -> int | None:
        """Return how many test rows would show this accuracy difference at alpha with 80 % power; None if it is zero.

        Solves n·δ − 1 = (z₁₋α⸝₂·√ψ + z₀.₈·√(ψ − δ²))·√n for n (Connor 1987, equation 2, with the continuity correction
        of the exact test); δ is the difference, ψ the share of discordant rows.
        """
        delta = abs(self.difference)
        if not delta:
            return None
        apart = (self.only_first + self.only_second) / self.rows
        wanted = _NORMAL.inv_cdf(1 - alpha / 2) * math.sqrt(apart)
        wanted += _NORMAL.inv_cdf(POWER) * math.sqrt(max(0.0, apart - delta**2))
        return math.ceil(((wanted + math.sqrt(wanted**2 + 4 * delta)) / (2 * delta)) ** 2)

    def _find_critical(self, alpha: float) -> float:
        """Return the critical value of |b − c| / √(b + c) at level alpha; b, c: rows that only one model has right."""
        normal, apart = _NORMAL.inv_cdf(1 - alpha / 2), self.only_first + self.only_second
        if not apart:
            return normal
        p = 2 * scipy.special.bdtr(np.arange(apart // 2 + 1), apart, 0.5)
        found = int(np.searchsorted(p, alpha))  # number of smaller counts with p below alpha
        critical = (apart - 2 * found + 1) / math.sqrt(apart)
        return critical if found else max(critical, normal)

    def _find_bound(self, z: float) -> float:
        """Return the accuracy difference z standard errors away from the observed one: below for z > 0, else above."""
        end = -1.0 if z > 0 else 1.0
        inside = end * (1 - 1e-12)
        if (self._compute_score(inside) - z) * end >= 0:
            return end
        ends = sorted((inside, self.difference))
        return float(scipy.optimize.brentq(lambda delta: self._compute_score(delta) - z, *ends, xtol=1e-12))

    def _compute_score(self, delta: float) -> float:
        """Return how many standard errors the observed accuracy difference lies above an assumed true difference."""
        b, c, n = self.only_first, self.only_second, self.rows
        middle = (2 * n - b + c) * delta - b - c
        root = math.sqrt(max(0.0, middle**2 + 8 * n * c * delta * (1 - delta)))
        lost = (root - middle) / (4 * n)  # maximum-likelihood share that only the second model has right
        spread = math.sqrt(max(1e-300, n * (2 * lost + delta * (1 - delta))))
        return (b - c - n * delta) / spread


LEAST = 6  # folds that a p below 0.05 needs: with 5 folds the smallest p is 2 / 2⁵ = 0.0625


@dataclass(frozen=True)
class Wilcoxon:
    """Wilcoxon's exact signed-rank test (1945, two-sided) over folds; p is somewhat too small (Dietterich 1998)."""

    differences: tuple[float, ...]
    test = "Wilcoxon over folds"

    @property
    def difference(self) -> float:
        """Return the Hodges-Lehmann estimate of the metric difference over folds: the median of pairwise fold means."""
        return float(np.median(self._means))

    @property
    def p(self) -> float:
        """Return the two-sided p-value of Wilcoxon's test; a fold without a difference counts for both models."""
        return min(1.0, 2 * float(self._below[min((self._means <= 0).sum(), (self._means >= 0).sum())]))

    @property
    def effect(self) -> float:
        """Return the rank-biserial correlation (Kerby 2014): 1 if all folds favour the first model, −1 the second."""
        return float(np.sign(self._means).mean())

    def compute_interval(self, alpha: float) -> tuple[float, float] | None:
        """Return the interval of the metric difference over folds at level 1 − alpha; None: too few folds."""
        out = int(np.searchsorted(2 * self._below, alpha))  # number of significant values of the smaller rank sum
        return (float(self._means[out - 1]), float(self._means[-out])) if out else None

    def count_rows_needed(self, alpha: float) -> int | None:
        """Return None as the number of test rows needed, since more rows would not give more folds."""
        return None

    @cached_property
    def _means(self) -> np.ndarray:
        """Return the sorted means of every two folds' differences, including each with itself (Walsh averages)."""
        values = np.array(self.differences)
        return np.sort((values[:, None] + values)[np.triu_indices(len(values))] / 2)

    @cached_property
    def _below(self) -> np.ndarray:
        """Return the cumulative null distribution of the rank sum: the probability of at most 0, 1, … by chance."""
        ways = np.ones(1)
        for rank in range(1, len(self.differences) + 1):
            ways = np.convolve(ways, np.bincount([0, rank]))
        return ways.cumsum() / ways.sum()


SAME = 0.01  # margin within which two models are equivalent
METHOD = (
    "Accuracy: McNemar's exact test on the rows that only one model has right, with Tango's score interval at its "
    "critical value. Other metrics, and several seeds: a paired bootstrap over the rows, which the seeds share, with "
    "the spread between seeds (Student's t). Calibration error: each row's two answers are swapped at random instead, "
    "unless the two models err in different ways. Below 10 rows that differ there is no interval. Six folds or more: "
    "Wilcoxon's signed ranks. All p are Holm-corrected over the differences shown together, and each interval has the "
    "level of its step."
)
Tested = McNemar | Wilcoxon | PairedDifference


@dataclass(frozen=True)
class HolmStep:
    """The result of one significance test after Holm's correction: its corrected p and its level."""

    p: float  # after the correction
    alpha: float  # the level for the uncorrected p


def run_test(pairs: Mapping[Run, ScorePair], metric: Metric, draws: Draws | None = None) -> Tested:
    """Run the significance test that suits two models on the same rows, paired by seed and fold."""
    draws = draws or Draws(metric)
    folds = sorted({fold for _, fold in pairs if fold >= 0})
    if len(folds) >= LEAST:
        by_fold = ([draws.measure_gap(both) for run, both in pairs.items() if run[1] == fold] for fold in folds)
        return Wilcoxon(tuple(map(statistics.fmean, by_fold)))
    if metric.whole_rows and len(pairs) == 1:
        (both,) = pairs.values()
        return McNemar(*count_discordant(both), both.rows)
    return compare_classifiers(pairs, draws)


def count_discordant(both: ScorePair) -> tuple[int, int]:
    """Count the rows that only the first and only the second classifier predicts correctly."""
    first, second = both.first.correct > 0, both.second.correct > 0
    return int((first & ~second).sum()), int((second & ~first).sum())


def apply_holm(ps: Sequence[float]) -> list[HolmStep]:
    """Return each test's p-value and significance level after Holm (1979): 0.05 / K for the smallest p, and so on."""
    adjusted, steps = adjust_holm(np.array(ps, float)).tolist(), np.argsort(np.argsort(ps, kind="stable")).tolist()
    left = sum(p >= ALPHA for p in adjusted)
    alphas = (ALPHA / (len(ps) - step if p < ALPHA else left) for p, step in zip(adjusted, steps, strict=True))
    return [HolmStep(p, alpha) for p, alpha in zip(adjusted, alphas, strict=True)]


def adjust_holm(p: np.ndarray) -> np.ndarray:
    """Return the (n,) Holm-corrected p-values of n tests; fast for hundreds of thousands."""
    order, found = np.argsort(p, kind="stable"), np.empty(len(p))
    found[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return found


def pick_better(pair: Mapping[str, Any]) -> str:
    """Return the name of the better run of a compared pair; empty if neither is significantly better."""
    if pair["p_holm"] >= ALPHA:
        return ""
    first = (pair["difference"] > 0) == (get_metric(pair["metric"]).better == "higher")
    return str(pair["first" if first else "second"])


def is_equivalent(pair: Mapping[str, Any]) -> bool:
    """Return whether two models are equivalent: the interval of their difference is within a small margin of 0."""
    interval = pair["interval"]
    return not pick_better(pair) and interval is not None and -SAME <= interval[0] and interval[1] <= SAME


TIED, NO_DIFFERENCE = "cannot be told apart", "no clear difference"  # in results and tables; in sentences


def describe_pair(pair: Mapping[str, Any], letters: Mapping[str, str] | None = None) -> str:
    """Describe the comparison of two models in words; letters (A, B …) replace the models' names."""
    if winner := pick_better(pair):
        return f"{(letters or {}).get(winner, winner)} is better"
    if is_equivalent(pair):
        return f"the same within {SAME}"
    rows = pair["rows_needed"]
    return f"{TIED}{f'; about {round_rows(rows)} rows needed' if rows else ''}"


def summarize_pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Describe the comparisons of all pairs of models for one metric in words."""
    wins = Counter(filter(None, map(pick_better, pairs)))
    if len(pairs) == 1 and not wins:
        (pair,) = pairs
        two = f"{pair['first']} and {pair['second']}"
        if is_equivalent(pair):
            return f"{two} are {describe_pair(pair)}."
        rows = pair["rows_needed"]
        more = f"; detecting one would take about {round_rows(rows)} sentences" if rows else ""
        return f"{two} show {NO_DIFFERENCE}{more}."
    if not wins:
        models = {pair[side] for pair in pairs for side in ("first", "second")}
        return f"No two of the {len(models)} models show a clear difference."
    won: dict[tuple[str, ...], list[str]] = {}
    for name, _ in wins.most_common():
        beaten = (
            str(pair["second" if pair["first"] == name else "first"]) for pair in pairs if pick_better(pair) == name
        )
        won.setdefault(tuple(beaten), []).append(name)
    told = [
        f"{join_names(names)} {'is' if len(names) == 1 else 'are'} better than {join_names(beaten)}"
        for beaten, names in won.items()
    ]
    open_pairs = len(pairs) - wins.total()
    rest = [f"{open_pairs} of {len(pairs)} pairs show {NO_DIFFERENCE}"] if open_pairs else []
    return f"{'; '.join([*told, *rest])}."


def round_rows(rows: int) -> str:
    """Format the number of rows that a test needs, rounded to two digits because it is an estimate."""
    return count(round(rows, 2 - len(str(rows))))


def assign_letters(names: Sequence[str]) -> dict[str, str]:
    """Return model name → letter (A, B, C …) for tables of compared pairs; numbers after Z."""
    return {name: chr(65 + place) if place < 26 else str(place + 1) for place, name in enumerate(names)}
