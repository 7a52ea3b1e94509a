"""Confidence intervals: Wilson's for shares of rows, one based on it for ECE, a percentile bootstrap for the others."""

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.data.dataset import Task
from core.evaluation.metrics import HALF, SIDES, SingleLabelScores, build_scores, divide_safely, list_defined
from core.lazy_imports import scipy
from core.metrics import METRICS, Metric

LEVEL = 0.95
TAILS = (50 * (1 - LEVEL), 50 * (1 + LEVEL))  # percentiles at the ends of an interval
METHOD = (
    "95 %. Accuracy, and precision and recall of a class: Wilson. Calibration error: corrected for bias. "
    "Other metrics: percentile bootstrap over the sentences, no interval where all resamples agree"
)  # the description of intervals for users
_NORMAL = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
RESAMPLES = 1000
RANKED_RESAMPLES = 200  # for metrics that sort all rows: enough for a 95 % interval, and five times faster
_CELLS = 1_000_000  # weights in memory at once, which fit into the cache of a common processor


def pool_intervals(
    values: Mapping[tuple[int, int], float],
    ranges: Mapping[tuple[int, int], Sequence[float]],
    within: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[float, float]:
    """Return the 95 % interval of a metric's mean over several runs, from each run's interval over its rows.

    On each side of the mean, as intervals may be asymmetric (Donner and Zou 2012), the variance over resamples of the
    rows, which the seeds of a fold share, and the variance between seeds are added. The quantile is the mean of the
    normal one and Student's t of the seeds, weighted by the variances. One run keeps its interval. `values` and
    `ranges` (low, high) are by seed and fold; `within` are the smallest and the largest possible value.
    """
    if len(values) == 1:
        low, high = next(iter(ranges.values()))
        return low, high
    folds, seeds = ({run[place] for run in values} for place in (1, 0))
    by_seed = [statistics.fmean(values[run] for run in values if run[0] == seed) for seed in seeds]
    between = statistics.variance(by_seed) / len(by_seed) if len(by_seed) > 1 else 0.0
    middle, ends = statistics.fmean(values.values()), []
    for side, sign in enumerate((-1, 1)):
        apart = {run: ((ranges[run][side] - values[run]) / _NORMAL) ** 2 for run in values}
        shares = [[apart[run] for run in values if run[1] == fold] for fold in folds]
        rows = sum((len(each) / len(values)) ** 2 * statistics.fmean(each) for each in shares)
        student = float(scipy.special.stdtrit(len(by_seed) - 1, (1 + LEVEL) / 2)) if between else _NORMAL
        quantile = (rows * _NORMAL + between * student) / (rows + between) if rows + between else 0.0
        ends.append(middle + sign * quantile * math.sqrt(rows + between))
    return max(within[0], ends[0]), min(within[1], ends[1])


def compute_intervals(
    labels: np.ndarray,
    probabilities: np.ndarray,
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
    *,
    names: Collection[str] = METRICS.keys(),
    ordered: bool = False,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Return the 95 % interval [low, high] of each metric of predictions on labelled rows; `names` selects metrics.

    Bootstrapped metrics use the same resamples, without those where they are undefined; a constant one has no interval.
    """
    scores = build_scores(labels, probabilities, task, thresholds, ordered=ordered)
    wanted = {name: metric for name, metric in list_defined(scores, task).items() if name in names}
    known = {name: compute_closed_form(metric, scores) for name, metric in wanted.items()}
    values: dict[str, list[np.ndarray]] = {name: [] for name, ends in known.items() if ends is None}
    most, done = max(map(count_draws, wanted.values()), default=0), 0
    for weights in draw_resamples(len(scores), seed, most) if values else ():
        for name, found in values.items():
            left = count_draws(wanted[name]) - done
            if left > 0:
                found.append(wanted[name].measure(scores, weights[:left]))
        done += len(weights)
    known |= {name: compute_percentiles(np.concatenate(found)) for name, found in values.items()}
    return {name: ends for name, ends in known.items() if ends is not None}


def compute_closed_form(metric: Metric, scores: Any) -> list[float] | None:
    """Return the interval of a metric by a closed formula; None if the metric has none and rows must be resampled."""
    if metric.whole_rows:
        return list(compute_wilson(float(scores.correct.sum()), len(scores)))
    return list(compute_ece_interval(scores)) if metric.parts else None


def compute_percentiles(drawn: np.ndarray) -> list[float] | None:
    """Return the 95 % percentile interval of resampled metric values; None if all are equal or none is defined."""
    if np.isnan(drawn).all():
        return None
    low, high = (float(end) for end in np.nanpercentile(drawn, TAILS))
    return [low, high] if high - low > 1e-12 else None


def compute_ece_interval(scores: SingleLabelScores) -> tuple[float, float]:
    """Return the 95 % interval of the expected calibration error (ECE), corrected for its upward bias.

    Noise increases absolute gaps, so the error is biased upwards, most near 0. The standard deviation s of a bin's gap
    is the wider side of Wilson's interval of its accuracy, divided by the normal quantile. The lower end subtracts the
    ECE that gaps of 0 would show, a sum of |N(0, s)|: its mean √(2/π) Σs plus 1.96 standard deviations
    √((1 − 2/π) Σs²). The upper end adds 1.96 √(Σs²). Both include the variance of the bin sizes. The interval is within
    0 and 1, and always contains the error itself.
    """
    n, rows = len(scores), scores.bins.sum(0)
    there = rows > 0
    weight, gaps = rows[there] / n, scores.overconfidence.sum(0)[there] / n
    hits = (scores.correct @ scores.bins)[there]
    ends = np.array([compute_wilson(*each) for each in zip(hits, rows[there], strict=True)])
    noise = weight * np.abs(ends - (hits / rows[there])[:, None]).max(1) / _NORMAL
    error, folded = float(np.abs(gaps).sum()), 2 / math.pi
    moved = float((gaps**2 / weight).sum() - error**2) / n
    chance = math.sqrt(folded) * float(noise.sum()) + _NORMAL * math.sqrt((1 - folded) * (noise**2).sum() + moved)
    return max(0.0, error - chance), min(1.0, error + _NORMAL * math.sqrt((noise**2).sum() + moved))


def count_draws(metric: Metric) -> int:
    """Return how many bootstrap resamples the interval of a metric uses."""
    return RANKED_RESAMPLES if metric.reads == "ranking" else RESAMPLES


def compute_wilson(hits: float, rows: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval (1927) of the share `hits` / `rows`, valid for few rows and shares of 0 or 1."""
    if not rows:
        return 0.0, 1.0
    share, z = hits / rows, statistics.NormalDist().inv_cdf((1 + level) / 2)
    center = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(0.0, min(share, center - half)), min(1.0, max(share, center + half))


def compute_newcombe(hits: float, rows: float, others: float, of: float) -> tuple[float, float]:
    """Return Newcombe's interval (1998, method 10) of a difference of shares, `hits` / `rows` − `others` / `of`."""
    (low, high), (below, above) = compute_wilson(hits, rows), compute_wilson(others, of)
    share, other = hits / rows, others / of
    difference = share - other
    return (
        max(-1.0, difference - math.hypot(share - low, above - other)),
        min(1.0, difference + math.hypot(high - share, other - below)),
    )


def draw_resamples(rows: int, seed: int, most: int = RESAMPLES) -> Iterator[np.ndarray]:
    """Yield blocks (R, rows) float64 of bootstrap resamples: how often each row was drawn; `most` resamples in all."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // rows)
    for start in range(0, most, block):
        size = min(block, most - start)
        drawn = random.integers(0, rows, (size, rows)) + rows * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(float)


def compute_mean_interval(values: Sequence[float] | np.ndarray, seed: int = 0) -> list[float] | None:
    """Return the 95 % percentile bootstrap interval of a mean over rows; None without rows, or if all are equal."""
    rows = np.asarray(values, float)
    if not len(rows):
        return None
    drawn = [weights @ rows / len(rows) for weights in draw_resamples(len(rows), seed)]
    return compute_percentiles(np.concatenate(drawn))


def compute_class_intervals(labels: np.ndarray, predicted: np.ndarray) -> list[dict[str, list[float]]]:
    """Return 95 % intervals of each class's precision and recall (Wilson) and F1 (multinomial bootstrap)."""
    labels, predicted = np.asarray(labels, bool), np.asarray(predicted, bool)
    cells = np.stack([labels & predicted, labels & ~predicted, ~labels & predicted, ~labels & ~predicted]).sum(1).T
    return list(map(_compute_from_counts, cells))


def list_class_intervals(
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    task: Task = "single",
    thresholds: np.ndarray | float = HALF,
) -> dict[str, dict[str, list[float]]]:
    """Return class → 95 % intervals of its precision, recall and F1; arguments as of `metrics.evaluate_classes`."""
    scores = build_scores(labels, probabilities, task, thresholds)
    return dict(zip(classes, compute_class_intervals(scores.true, scores.predicted), strict=True))


def _compute_from_counts(cells: np.ndarray) -> dict[str, list[float]]:
    """Return a class's intervals of precision, recall and F1 from its counts of (TP, FN, FP, TN) rows."""
    n = int(cells.sum())
    if not n:
        return {}
    right, missed, wrong = (int(each) for each in cells[:3])
    shares = {"precision": right + wrong, "recall": right + missed}
    found = {part: list(compute_wilson(right, rows)) for part, rows in shares.items() if rows}
    a, b = SIDES["f1"]
    hits, missing, said = np.random.default_rng(0).multinomial(n, cells / n, RESAMPLES).T[:3].astype(float)
    drawn = compute_percentiles(divide_safely(hits, a * (hits + missing) + b * (hits + said), empty=np.nan))
    return found if drawn is None else {**found, "f1": drawn}


CURVES = 500
POINTS = 100  # of a curve at which it is resampled; more would not be visible


@dataclass(frozen=True)
class Band:
    """A confidence band of a curve: at each x, the range of the middle 95 % of the resampled curves."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Bands:
    """The confidence bands of a class's ROC and precision-recall curves."""

    roc: Band
    pr: Band


def compute_bands(own: np.ndarray, probability: np.ndarray, seed: int = 0) -> Bands | None:
    """Return the bands of a class's ROC (averaged vertically, Fawcett 2006) and PR curves; None: one-sided rows."""
    own = np.asarray(own, bool)
    if not 0 < own.sum() < len(own):
        return None
    hits, alarms = _count_groups(own, np.asarray(probability, float))
    drawn = np.random.default_rng(seed).multinomial(len(own), np.concatenate([hits, alarms]) / len(own), CURVES)
    true, false = (np.cumsum(part, 1) for part in np.split(drawn, 2, axis=1))
    known = (true[:, -1] > 0) & (false[:, -1] > 0)
    true, false = true[known], false[known]
    if not len(true):
        return None
    recall, rate = true / true[:, -1:], false / false[:, -1:]
    precision = true / np.maximum(true + false, 1)
    rates = np.unique(np.append(0, np.cumsum(alarms) / alarms.sum()))
    recalls = np.unique((np.cumsum(hits) / hits.sum())[np.cumsum(hits) > 0])
    roc = [np.interp(rates, np.append(0, x), np.append(0, y)) for x, y in zip(rate, recall, strict=True)]
    pr = [y[np.searchsorted(x, recalls - 1e-12)] for x, y in zip(recall, precision, strict=True)]
    return Bands(_make_band(rates, np.array(roc)), _make_band(recalls, np.array(pr)))


def _make_band(x: np.ndarray, curves: np.ndarray) -> Band:
    low, high = np.percentile(curves, TAILS, axis=0)
    return Band(x, low, high)


def _count_groups(own: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count own and other rows between falling thresholds, thinned at equal distances along the curve if many."""
    order = np.argsort(-probability, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)
    true, false = np.cumsum(own[order])[ends], np.cumsum(~own[order])[ends]
    if len(ends) > POINTS:
        way = true / true[-1] + false / false[-1]
        places = np.searchsorted(way, np.linspace(0, 2, POINTS + 1)[1:] - 1e-12)
        places = np.unique(np.minimum(places, len(ends) - 1))
        true, false = true[places], false[places]
    return np.diff(true, prepend=0), np.diff(false, prepend=0)
