"""Temperature scaling: one number divides all logits of a run, so that its claims come true (Guo et al. 2017, 4.2).

It changes no order: whatever was the most probable class, and above 0.5, still is.
"""

from __future__ import annotations

import numpy as np

from core.data.table import Task
from core.exceptions import DataError

ABSENT = -1e4
"""Logit of a class or label without training rows, wherever a model fixes one: its probability is 0, and stays 0."""
LEAST = 100
"""Validation rows below which a run keeps its logits as they are: so few say too little about all of its claims."""
LARGEST = 1000.0


def validation_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature of a run, from what it says of its validation split: 1 of fewer than `LEAST` rows.

    Arguments as of `best_temperature`.
    """
    if len(labels) < LEAST:
        return 1.0
    try:
        return best_temperature(logits, labels)
    except DataError:  # no row is of a class that the run knows
        return 1.0


def best_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The T > 0 for which logits / T have the least cross-entropy, from 1 / `LARGEST` to `LARGEST`.

    It is convex in 1 / T. As in Platt scaling (1999) a label counts as (n + 1) / (n + C) of certainty and not as 1, so
    that T is not 0 where every decision is right. Classes whose logit is fixed (`ABSENT`) have no part in this.

    Args:
        logits: (n, C).
        labels: (n,) class numbers, or (n, C) zeros and ones: one temperature for the sigmoids of all labels.

    Raises:
        DataError: no row is left.
    """
    # Own: scikit-learn's temperature scaling knows one label per text only, and has no smoothing: where all decisions
    # of four rows are right it finds a scale of 46 and probabilities of 1, this 0.46.
    from scipy.optimize import minimize_scalar
    from scipy.special import log_expit, log_softmax

    logits = np.asarray(logits, np.float64)
    there = np.abs(logits).min(0, initial=np.inf) < -ABSENT / 2
    if labels.ndim == 1:
        rows = there[labels]
        logits = logits[rows][:, there]
        ours = (np.flatnonzero(there) == labels[rows, None]).astype(float)
    else:
        logits, ours = logits[:, there], labels[:, there].astype(float)
    if not logits.size:
        raise DataError("probabilities are fitted on the validation split, and it holds no class of the training split")
    smooth = (len(ours) * ours + 1) / (len(ours) + (ours.shape[1] if labels.ndim == 1 else 2))

    def cross_entropy(log_temperature: float) -> float:
        cooled = logits / np.exp(log_temperature)
        if labels.ndim == 1:
            return -float((smooth * log_softmax(cooled, 1)).sum(1).mean())
        return -float((smooth * log_expit(cooled) + (1 - smooth) * log_expit(-cooled)).mean())

    limit = np.log(LARGEST)
    return float(np.exp(minimize_scalar(cross_entropy, bounds=(-limit, limit), method="bounded").x))


def as_trained(probabilities: np.ndarray, temperature: float, task: Task) -> np.ndarray:
    """What the probabilities (n, C) of a run with a temperature were without it, so at T = 1; float64."""
    from scipy.special import expit, softmax

    given = np.asarray(probabilities, np.float64)
    if temperature == 1:
        return given
    logs = np.log(np.maximum(given, np.finfo(np.float64).tiny))
    if task == "single":
        return softmax(temperature * logs, 1)
    # Files hold float32, in which what is next to 1 has become 1.
    return expit(temperature * (logs - np.log(np.maximum(1 - given, np.finfo(np.float32).eps / 4))))
