"""How far a difference goes by chance where each row's two answers might as well change sides.

For metrics that are sums of absolute gaps, such as the calibration error. Chance makes a gap larger, whichever its
sign, and a draw of rows adds chance to chance: where gaps are near 0 a bootstrap spreads further than the metric itself
(Andrews, Econometrica 2000, on parameters at a boundary). Swapping adds none.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from core.evaluation.intervals import LEVEL, RESAMPLES

_CELLS = 1_000_000
"""Signs held at once."""

_NORMAL = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)

Parts = Sequence[np.ndarray]
"""(n, K) of each seed: what every row adds to n times each gap. The metric is the sum of the absolute means."""


def swapped_variance(first: Parts, second: Parts, seed: int = 0) -> float | None:
    """Variance of the metric's difference, mean over seeds, while rows change sides by chance.

    The paired randomisation of Fisher (1935): of equally good models each row's answers, of all seeds at once, belong
    to either with the same chance. That is more than an equal metric says: one may be too sure where the other is too
    timid. So the gaps of the two are compared first: less alike than in every one of 1,000 swaps, they are not swapped.

    Args:
        first: of one model, a table for each seed.
        second: of the other, paired with these.
        seed: of the swaps.

    Returns:
        That of the normal distribution which 5 % of the swaps leave as well: their own has shorter tails, since no gap
        can shrink below nothing, so that at 5 % the test is the randomisation itself and beyond rather careful.
        None where the gaps are not alike: then the swaps would mix what does not mix, and rows must be drawn.
    """
    rows = len(first[0])
    middle = [(one + two) / 2 for one, two in zip(first, second, strict=True)]
    half = np.concatenate([(one - two) / 2 for one, two in zip(first, second, strict=True)], 1)
    spread = np.sqrt((half**2).sum(0))
    spread[spread == 0] = np.inf  # nothing falls into this bin
    centre = np.stack([each.mean(0) for each in middle])
    found, unlike = [], []
    for signs in _signs(rows, seed):
        moved = signs @ half
        unlike.append(((moved / spread) ** 2).sum(1))
        gaps = moved.reshape(len(moved), *centre.shape) / rows
        found.append((np.abs(centre + gaps) - np.abs(centre - gaps)).sum(2).mean(1))
    if ((half.sum(0) / spread) ** 2).sum() > np.concatenate(unlike).max():
        return None
    return float(np.quantile(np.abs(np.concatenate(found)), LEVEL) / _NORMAL) ** 2


def _signs(rows: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks (R, rows) of −1 and 1, RESAMPLES of R in all."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // rows)
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        bits = np.frombuffer(random.bytes(size * rows // 8 + 1), np.uint8)
        yield np.unpackbits(bits, count=size * rows).reshape(size, rows) * 2.0 - 1.0
