"""How much likelier an error is where a tag is than where it is not.

Risk ratio R = (a / m) / (c / k): a errors among m tagged rows, c among the other k. Its test is the score test of R = 1
(Pearson's chi-square without correction), its interval the score interval that inverts this test at every R (Koopman,
Biometrics 1984), so that the interval leaves out 1 exactly where p is below its level, also where a or c is 0.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.evaluation.comparison import holm
from core.evaluation.intervals import wilson
from core.evaluation.significance import ALPHA

LEAST = 30
"""Rows with a tag, and without it: below, there are counts and no ratio."""
_NORMAL = statistics.NormalDist()
_FAR = 1e9


@dataclass(frozen=True)
class Risk:
    """Rows with a tag and without it, and the errors among both."""

    n: int
    wrong: int
    rest_n: int
    rest_wrong: int

    @property
    def enough(self) -> bool:
        """Whether a ratio is worth anything: enough rows on both sides, some of them wrong and some right."""
        errors, rows = self.wrong + self.rest_wrong, self.n + self.rest_n
        return min(self.n, self.rest_n) >= LEAST and 0 < errors < rows

    @property
    def rate(self) -> float:
        """Of errors with the tag; 0 without rows."""
        return self.wrong / self.n if self.n else 0.0

    @property
    def rest_rate(self) -> float:
        """Of errors without it."""
        return self.rest_wrong / self.rest_n if self.rest_n else 0.0

    @property
    def ratio(self) -> float:
        """Of the two; infinite where the rest has no errors."""
        return self.rate / self.rest_rate if self.rest_rate else math.inf

    @property
    def excess(self) -> float:
        """Errors beyond those that the tagged rows would have at the rate of the rest; 0 without a rest."""
        return self.wrong - self.n * self.rest_rate if self.rest_n else 0.0

    @property
    def p(self) -> float:
        """Two-sided, of R = 1."""
        return math.erfc(abs(self._score(1.0)) / math.sqrt(2))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Of the ratio, at level 1 − alpha; from 0 where there is no error with the tag, to infinity without others."""
        from scipy.optimize import brentq

        z = -_NORMAL.inv_cdf(alpha / 2)

        def end(target: float) -> float:
            return math.exp(brentq(lambda log: self._score(math.exp(log)) - target, *ends, xtol=1e-12))

        ends = -math.log(_FAR), math.log(_FAR)
        low = 0.0 if self._score(1 / _FAR) <= z else end(z)
        high = math.inf if self._score(_FAR) >= -z else end(-z)
        return low, high

    def _score(self, ratio: float) -> float:
        """How many standard errors the tagged rows lie above `ratio` times the rest, where that is what is true."""
        m, k = self.n, self.rest_n
        # The likeliest rate of the rest, given that ratio: the smaller root of A q² − B q + C = 0.
        a, c = (m + k) * ratio, self.wrong + self.rest_wrong
        b = m * ratio + self.wrong + k + self.rest_wrong * ratio
        rest = 2 * c / (b + math.sqrt(max(0.0, b * b - 4 * a * c)))
        tagged = min(1.0, rest * ratio)
        spread = tagged * (1 - tagged) / m + ratio**2 * rest * (1 - rest) / k
        return (self.rate - ratio * self.rest_rate) / math.sqrt(max(spread, 1e-300))


def risk(has: np.ndarray, wrong: np.ndarray) -> Risk:
    """Of rows (n,) bool with a tag, and those that are wrong."""
    return Risk(int(has.sum()), int((has & wrong).sum()), int((~has).sum()), int((~has & wrong).sum()))


def table(tags: Mapping[str, np.ndarray], wrong: np.ndarray, untested: frozenset[str] = frozenset()) -> list[Any]:
    """A row for each tag, by excess errors, the most first: see `core.api.errors`.

    Args:
        tags: by name, (n,) bool.
        wrong: (n,) bool.
        untested: tags that are wrong by definition, which are counted and no more.
    """
    found = {name: risk(has, wrong) for name, has in tags.items()}
    tested = [name for name, each in found.items() if each.enough and name not in untested]
    steps = dict(zip(tested, holm([found[name].p for name in tested]), strict=True))
    rows = []
    for name, each in found.items():
        row: dict[str, Any] = {"tag": name, "n": each.n, "wrong": each.wrong, "rate": each.rate}
        row |= {"interval": list(wilson(each.wrong, each.n)), "rest": {"n": each.rest_n, "wrong": each.rest_wrong}}
        row |= {"excess": None if name in untested else each.excess}
        row |= dict.fromkeys(("ratio", "ratio_interval", "p", "p_holm", "differs"))
        if step := steps.get(name):
            ends = [_finite(end) for end in each.interval(step.alpha)]
            row |= {"ratio": _finite(each.ratio), "ratio_interval": ends, "p": each.p, "p_holm": step.p}
            row |= {"differs": step.p < ALPHA}
        rows.append(row)
    return sorted(rows, key=lambda row: (row["excess"] is None, -(row["excess"] or 0.0)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
