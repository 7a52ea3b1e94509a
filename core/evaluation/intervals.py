"""How far a metric could have come out otherwise: percentile bootstrap over the rows of a split."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from core.data.table import Task
from core.evaluation.metrics import defined
from core.evaluation.scores import HALF, SIDES, scored
from core.evaluation.weighted import ratio
from core.metrics import METRICS, Metric

LEVEL = 0.95
TAILS = (50 * (1 - LEVEL), 50 * (1 + LEVEL))
"""Percentiles at the ends of an interval."""
METHOD = "95 % percentile bootstrap over the sentences"
"""What an interval of a metric is, wherever one stands; of the share of a group see `wilson`."""
RESAMPLES = 1000
RANKED_RESAMPLES = 200
"""For the metrics that sort all rows (`ranking` in the table): enough for a 95 % interval, five times quicker."""
_CELLS = 1_000_000
"""Weights held at once: they stay in the cache of a common processor, and memory does not grow with the split."""


def over_seeds(values: Sequence[float], ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % interval of the mean of several seeds, of which each has an interval over the same rows.

    The variance over draws of the rows, which the seeds share, and that of their mean over draws of the seeds are
    added; the quantile is the normal one and Student's t of the seeds, weighted by them. Of one seed its own interval.
    """
    if len(values) == 1:
        return ranges[0]
    from scipy.special import stdtrit

    normal = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    rows = statistics.fmean(((high - low) / 2 / normal) ** 2 for low, high in ranges)
    seeds = statistics.variance(values) / len(values)
    if not rows + seeds:
        return values[0], values[0]
    quantile = (rows * normal + seeds * float(stdtrit(len(values) - 1, (1 + LEVEL) / 2))) / (rows + seeds)
    middle, half = statistics.fmean(values), quantile * math.sqrt(rows + seeds)
    return middle - half, middle + half


def intervals(
    labels: np.ndarray,
    probabilities: np.ndarray,
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
    *,
    names: Collection[str] = METRICS.keys(),
    ordered: bool = False,
    seed: int = 0,
) -> dict[str, list[float]]:
    """The 95 % interval [low, high] of every metric that `evaluate` gives (Efron 1979, percentile method).

    All metrics see the same resamples: n rows drawn with replacement. A resample in which a metric is undefined (a rare
    class was not drawn) does not count for it. The interval speaks of the sample of rows only, not of other seeds of
    the training.

    Args:
        labels: (n,) class numbers, of a multi-label task (n, C) zeros and ones.
        probabilities: (n, C).
        task: single or multi.
        thresholds: (C,) or one for all, of a multi-label task.
        names: of the metrics that are wanted.
        ordered: whether the class numbers are places on a scale.
        seed: of the draws; the same seed gives the same intervals.

    Raises:
        InputError: if labels and probabilities do not fit together.
    """
    scores = scored(labels, probabilities, task, thresholds, ordered=ordered)
    wanted = {name: metric for name, metric in defined(scores, task).items() if name in names}
    values: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
    done = 0
    for weights in resamples(len(scores), seed) if values else ():
        for name, found in values.items():
            left = draws_of(wanted[name]) - done
            if left > 0:
                found.append(wanted[name].measure(scores, weights[:left]))
        done += len(weights)
    pooled = {name: np.concatenate(found) for name, found in values.items()}
    return {
        name: [float(end) for end in np.nanpercentile(found, TAILS)]
        for name, found in pooled.items()
        if not np.isnan(found).all()
    }


def draws_of(metric: Metric) -> int:
    """How many resamples an interval of a metric takes."""
    return RANKED_RESAMPLES if metric.reads == "ranking" else RESAMPLES


def share_interval(hits: float, rows: int) -> tuple[float, float]:
    """The bootstrap interval of an accuracy at once: quantiles of Binomial(rows, hits / rows) by the rows."""
    from scipy.special import bdtr

    if not rows:
        return 0.0, 1.0
    below = bdtr(np.arange(rows + 1), rows, hits / rows)
    low, high = np.searchsorted(below, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low / rows), float(high / rows)


def wilson(hits: float, rows: float, level: float = LEVEL) -> tuple[float, float]:
    """The score interval of a share, `hits` of `rows` (Wilson 1927): at once, and sound for few rows too.

    For the shares of small groups (a phenomenon, a bin of confidence), where all rows may be right and a bootstrap
    would then say that nothing is uncertain.
    """
    if not rows:
        return 0.0, 1.0
    share, z = hits / rows, statistics.NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def newcombe(hits: float, rows: float, others: float, of: float) -> tuple[float, float]:
    """The interval of the difference of two shares of different rows, `hits` of `rows` less `others` of `of`.

    Their score intervals put together (Newcombe, Statistics in Medicine 17, 1998, method 10): sound for few rows too.
    """
    (low, high), (below, above) = wilson(hits, rows), wilson(others, of)
    share, other = hits / rows, others / of
    difference = share - other
    return (
        max(-1.0, difference - math.hypot(share - low, above - other)),
        min(1.0, difference + math.hypot(high - share, other - below)),
    )


def resamples(rows: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks (R, rows) float64, RESAMPLES of R in all: how often each row was drawn, with replacement."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // rows)
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        drawn = random.integers(0, rows, (size, rows)) + rows * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(float)


def class_intervals(labels: np.ndarray, predicted: np.ndarray, *, seed: int = 0) -> list[dict[str, list[float]]]:
    """The 95 % intervals of precision, recall and F1 of each class, [low, high] each, in the order of the classes.

    The percentile bootstrap of `intervals`, drawn as counts: what these three measure depends only on how many rows
    are right, missed and wrongly predicted, so a resample of n rows is one draw of a multinomial. A resample in which
    one of them divides by nothing does not count for it; where all do, it has no interval.

    Args:
        labels: (n, C) booleans: what each row has.
        predicted: (n, C) booleans: what is predicted of it.
        seed: of the draws.
    """
    labels, predicted = np.asarray(labels, bool), np.asarray(predicted, bool)
    cells = np.stack([labels & predicted, labels & ~predicted, ~labels & predicted, ~labels & ~predicted]).sum(1).T
    return [_of_counts(each, seed) for each in cells]


def per_class_intervals(
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
) -> dict[str, dict[str, list[float]]]:
    """The intervals of `metrics.per_class`, by class and measure; arguments as there."""
    scores = scored(labels, probabilities, task, thresholds)
    return dict(zip(classes, class_intervals(scores.true, scores.predicted), strict=True))


def _of_counts(cells: np.ndarray, seed: int) -> dict[str, list[float]]:
    """Intervals from the numbers of rows that are right, missed, wrongly predicted, and neither."""
    n = int(cells.sum())
    if not n:
        return {}
    hits, missed, wrong, _ = np.random.default_rng(seed).multinomial(n, cells / n, RESAMPLES).T.astype(float)
    found: dict[str, list[float]] = {}
    for part, (a, b) in SIDES.items():
        values = ratio(hits, a * (hits + missed) + b * (hits + wrong), empty=np.nan)
        if not np.isnan(values).all():
            found[part] = [float(end) for end in np.nanpercentile(values, TAILS)]
    return found
