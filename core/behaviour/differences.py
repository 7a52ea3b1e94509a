"""Whether two runs that were asked the same cases fail differently often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from core.behaviour.rates import Failures, failures


@dataclass(frozen=True)
class Difference:
    """Two failure rates on the same cases; interval and p of their difference are of one thing."""

    first: Failures
    second: Failures
    together: float  # φ: the correlation of both failing a case
    agreement: float  # ρ of failures within a template, the larger of the two runs'

    @property
    def difference(self) -> float:
        """Return first's failure rate less second's."""
        return self.first.rate - self.second.rate

    @cached_property
    def p(self) -> float:
        """Return the two-sided level at which the interval begins to leave out 0; 1e-12 at least."""
        from scipy.optimize import brentq

        least = 1e-12
        if not self.difference:
            return 1.0
        return least if self._beyond(least) > 0 else float(brentq(self._beyond, least, 1.0, xtol=1e-14))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Square and add the two intervals of `Failures` at level 1 − alpha (Newcombe, Stat. Med. 1998, 17:2635).

        His method 10 but for one thing: φ is not corrected for continuity. Since sentences of one template count less,
        two equally good runs are told apart in 1 to 6 % of simulated suites without it.
        """
        (low, high), (low_, high_) = (each.interval(self.agreement, 1 - alpha) for each in (self.first, self.second))
        p, q, gap = self.first.rate, self.second.rate, self.difference
        return gap - self._joined(p - low, high_ - q), gap + self._joined(high - p, q - low_)

    def _joined(self, a: float, b: float) -> float:
        return math.sqrt(max(0.0, a**2 - 2 * self.together * a * b + b**2))

    def _beyond(self, alpha: float) -> float:
        """Return how far 0 lies outside of the interval; below 0 where it lies inside."""
        low, high = self.interval(alpha)
        return low if self.difference > 0 else -high


def difference(
    first: Sequence[bool | None], second: Sequence[bool | None], templates: Sequence[str], agreement: float
) -> Difference | None:
    """Compare two runs on the cases that both were asked; None without any.

    `first` and `second` say whether each case is passed (None: not asked); `agreement` is the larger ρ of the two runs.
    """
    both = [(t, a, b) for t, a, b in zip(templates, first, second, strict=True) if a is not None and b is not None]
    if not both:
        return None
    one, two = failures([(t, a) for t, a, _ in both]), failures([(t, b) for t, _, b in both])
    p, q = one.rate, two.rate
    spread = math.sqrt(p * (1 - p) * q * (1 - q))
    together = (sum(not a and not b for _, a, b in both) / len(both) - p * q) / spread if spread else 0.0
    return Difference(one, two, together, agreement)
