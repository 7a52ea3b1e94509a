"""How far a curve could have run otherwise: pointwise bootstrap of the ROC and the precision-recall curve.

All resamples of n rows are drawn at once as counts: rows of the same probability (of more than `POINTS`, of the same
stretch of the curve) and truth are one cell of a multinomial. So a band costs the same for 300 rows and for 300 000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.intervals import TAILS

RESAMPLES = 500
POINTS = 100
"""Of a curve at which it is resampled: further ones cannot be told apart where it is drawn."""


@dataclass(frozen=True)
class Band:
    """Between what the middle 95 % of the resampled curves lie at each x; (G,) each, x rising."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Bands:
    """Recall over the false positive rate, and precision over recall."""

    roc: Band
    pr: Band


def bands(own: np.ndarray, probability: np.ndarray, seed: int = 0) -> Bands | None:
    """The bands of a class against the rest; None without a row of either.

    Recall is averaged vertically, at equal false positive rates (Fawcett 2006, "An introduction to ROC analysis",
    section 8.1). A resample without a row of the class, or without another, does not count.

    Args:
        own: (n,) booleans: rows of the class.
        probability: (n,) that the model gives it.
        seed: of the draws.
    """
    own = np.asarray(own, bool)
    if not 0 < own.sum() < len(own):
        return None
    hits, alarms = _groups(own, np.asarray(probability, float))
    cells = np.concatenate([hits, alarms])
    drawn = np.random.default_rng(seed).multinomial(len(own), cells / len(own), RESAMPLES)
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
    return Bands(_band(rates, np.array(roc)), _band(recalls, np.array(pr)))


def _band(x: np.ndarray, curves: np.ndarray) -> Band:
    low, high = np.percentile(curves, TAILS, axis=0)
    return Band(x, low, high)


def _groups(own: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) rows of the class and others between neighbouring thresholds, falling; K is `POINTS` at most.

    Thresholds are kept at equal distances along the curve, so that the steep piece of a rare class has its share.
    """
    order = np.argsort(-probability, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)
    true, false = np.cumsum(own[order])[ends], np.cumsum(~own[order])[ends]
    if len(ends) > POINTS:
        way = true / true[-1] + false / false[-1]
        places = np.searchsorted(way, np.linspace(0, 2, POINTS + 1)[1:] - 1e-12)
        places = np.unique(np.minimum(places, len(ends) - 1))
        true, false = true[places], false[places]
    return np.diff(true, prepend=0), np.diff(false, prepend=0)
