"""Decision thresholds for a cost ratio of false negatives (`ratio`) to false positives (1), found on other rows.

For calibrated probabilities the cheapest threshold is 1 / (1 + ratio) (Elkan 2001, equation 2).
"""

import math
from typing import Any

import numpy as np

from core.evaluation.intervals import RESAMPLES, compute_percentiles
from core.exceptions import InputError


def find_cheapest(own: np.ndarray, probability: np.ndarray, ratio: float) -> float:
    """Return the decision threshold of a class with the lowest cost; rows whose probability is above it get the class.

    It is half way between two neighbouring probabilities; among equal costs, the nearest to 1 / (1 + ratio). `own` (n,)
    marks the rows of the class; `probability` is (n,). Raises InputError for a bad ratio or no rows.
    """
    if not (math.isfinite(ratio) and ratio > 0):
        raise InputError(f"a cost ratio of {ratio:g}: a number above 0; 5: a miss is as bad as 5 false positives")
    if not len(own):
        raise InputError("a threshold at a cost ratio is chosen on labelled rows; there are none")
    values, place = np.unique(np.asarray(probability, float), return_inverse=True)
    hits = np.bincount(place, weights=np.asarray(own, float), minlength=len(values))
    others = np.bincount(place, minlength=len(values)) - hits
    # At threshold k, from -1 to K - 1, rows up to value k do not get the class.
    missed, alarms = np.append(0, hits.cumsum()), np.append(others.sum(), others.sum() - others.cumsum())
    limits = np.concatenate([[values[0] / 2], (values[:-1] + values[1:]) / 2, [(values[-1] + 1) / 2]])
    if values[0] == 0:  # no threshold is below 0, so these rows never get the class
        missed, alarms, limits = missed[1:], alarms[1:], limits[1:]
    costs = ratio * missed + alarms
    best = np.flatnonzero(np.isclose(costs, costs.min(), rtol=1e-12))
    return float(limits[best[np.abs(limits[best] - 1 / (1 + ratio)).argmin()]])


def compute_cost(own: np.ndarray, probability: np.ndarray, ratio: float, thresholds: np.ndarray | float) -> np.ndarray:
    """Compute the mean cost per row at each decision threshold, as an array; a false positive costs 1."""
    own, chance = np.asarray(own, bool), np.asarray(probability, float)
    inside, outside = np.sort(chance[own]), np.sort(chance[~own])
    missed = np.searchsorted(inside, thresholds, side="right")
    alarms = len(outside) - np.searchsorted(outside, thresholds, side="right")
    return (ratio * missed + alarms) / len(own)


def evaluate_threshold(own: np.ndarray, probability: np.ndarray, ratio: float, threshold: float) -> dict[str, Any]:
    """Count false negatives and positives at a threshold, and compute the cost per row with its 95 % interval."""
    own, said = np.asarray(own, bool), np.asarray(probability, float) > threshold
    n, missed, alarms = len(own), int((own & ~said).sum()), int((~own & said).sum())
    shares = np.array([missed, alarms, n - missed - alarms]) / n
    drawn = np.random.default_rng(0).multinomial(n, shares, RESAMPLES)
    return {
        "n": n,
        "false_negatives": missed,
        "false_positives": alarms,
        "cost": (ratio * missed + alarms) / n,
        "interval": compute_percentiles((ratio * drawn[:, 0] + drawn[:, 1]) / n),
        "cost_at_half": float(compute_cost(own, probability, ratio, 0.5)),
    }
