"""Temperature scaling: calibration of a run's probabilities by a single number. Imports nothing heavy.

Guo et al. 2017, section 4.2, divide the logits by T, which shrinks probabilities towards equal ones. For a run trained
with made-up words they shrink towards the class prior, so that scaling does not undo that training: z becomes
c + (z - c) / T, where c is the log of the prior (with several labels its log-odds), else 0. So P is proportional to
prior^(1 - 1/T) · softmax(z)^(1/T). Only with a prior can a prediction change, from a near-tie to a more frequent class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.data.dataset import Task
from core.exceptions import DataError
from core.lazy_imports import scipy

if TYPE_CHECKING:
    import numpy as np
else:
    from core.lazy_imports import numpy as np

ABSENT = -1e4  # fixed logit of a class or label without training rows: its probability is 0, also after scaling
LEAST = 100  # validation rows that fitting a temperature needs; with fewer it would be too uncertain
LARGEST = 1000.0


class Scaling(NamedTuple):
    """The temperature and class prior that scale a run's logits."""

    temperature: float = 1.0
    prior: tuple[float, ...] = ()
    """(C,), each between 0 and 1: the class probabilities that scaling moves towards; empty: equal ones."""

    def compute_prior_logits(self, task: Task) -> list[float]:
        """Return the logits (C,) of the class prior that scaling moves towards; (1,) zero without a prior."""
        if not self.prior:
            return [0.0]
        return [math.log(share) - (math.log1p(-share) if task == "multi" else 0) for share in self.prior]


UNSCALED = Scaling()


def compute_class_prior(labels: np.ndarray, classes: int) -> tuple[float, ...]:
    """Compute the smoothed share of each class or label, from class numbers (n,) or zeros and ones (n, C)."""
    several = labels.ndim == 2
    counts = labels.sum(0) if several else np.bincount(labels, minlength=classes)
    return tuple(((counts + 1) / (len(labels) + (2 if several else classes))).tolist())


def fit_scaling(logits: np.ndarray, labels: np.ndarray, prior: Sequence[float] = ()) -> Scaling:
    """Fit the temperature of a run on its validation logits; it stays 1 for fewer than `LEAST` rows."""
    found = 1.0
    if len(labels) >= LEAST:
        try:
            found = fit_temperature(logits, labels, prior)
        except DataError:  # no row has a class that occurs in training
            pass
    return Scaling(found, tuple(prior))


def fit_temperature(logits: np.ndarray, labels: np.ndarray, prior: Sequence[float] = ()) -> float:
    """Fit the temperature T for which c + (z - c) / T has the lowest cross-entropy; z: logits, c: prior logits.

    z are (n, C), c is (C,) or 0 without a prior; labels are (n,) class numbers, or (n, C) zeros and ones with one
    temperature for all sigmoids. The loss is convex in 1 / T. As in Platt scaling (1999), a label counts as
    (n + 1) / (n + C) and not as 1, so that T is not 0 if every prediction is correct. Classes with a fixed logit
    (`ABSENT`) are left out; DataError if no row is left.
    """
    # Not scikit-learn's temperature scaling, which takes one label per text and has no smoothing: for four correct
    # rows it finds a scale of 46 and probabilities of 1, this function 0.46.
    logits = np.asarray(logits, np.float64)
    there = np.abs(logits).min(0, initial=np.inf) < -ABSENT / 2
    center = np.broadcast_to(
        Scaling(1.0, tuple(prior)).compute_prior_logits("single" if labels.ndim == 1 else "multi"), len(there)
    )
    if labels.ndim == 1:
        rows = there[labels]
        logits = logits[rows][:, there]
        ours = (np.flatnonzero(there) == labels[rows, None]).astype(float)
    else:
        logits, ours = logits[:, there], labels[:, there].astype(float)
    if not logits.size:
        raise DataError("probabilities are fitted on the validation split, and it holds no class of the training split")
    smooth = (len(ours) * ours + 1) / (len(ours) + (ours.shape[1] if labels.ndim == 1 else 2))
    center = center[there]
    away = logits - center

    def cross_entropy(log_temperature: float) -> float:
        cooled = center + away / np.exp(log_temperature)
        if labels.ndim == 1:
            return -float((smooth * scipy.special.log_softmax(cooled, 1)).sum(1).mean())
        return -float(
            (smooth * scipy.special.log_expit(cooled) + (1 - smooth) * scipy.special.log_expit(-cooled)).mean()
        )

    limit = np.log(LARGEST)
    return float(np.exp(scipy.optimize.minimize_scalar(cross_entropy, bounds=(-limit, limit), method="bounded").x))


def as_trained(probabilities: np.ndarray, scaling: Scaling, task: Task) -> np.ndarray:
    """Return a run's probabilities (n, C) as they were before temperature scaling, recomputed from the scaled ones."""
    given, temperature = np.asarray(probabilities, np.float64), scaling.temperature
    if temperature == 1:
        return given
    logs = np.log(np.maximum(given, np.finfo(np.float64).tiny))
    if task == "multi":
        # Files store float32, in which values very close to 1 are rounded to 1.
        logs -= np.log(np.maximum(1 - given, np.finfo(np.float32).eps / 4))
    center = np.array(scaling.compute_prior_logits(task))
    trained = center + temperature * (logs - center)
    return scipy.special.softmax(trained, 1) if task == "single" else scipy.special.expit(trained)
