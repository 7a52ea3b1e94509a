"""Linear classifiers that scikit-learn solves in one go, and how one of several is chosen on validation."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.exceptions import DataError
from core.training.temperature import ABSENT, best_temperature

log = logging.getLogger(__name__)

Features = Any
"""(n, V): a numpy or a sparse array."""

MOST_STEPS = 6
"""By how many values a range may grow: a larger C than 65,536 or a smaller one than 0.00006 is never tried."""


@dataclass(frozen=True)
class Columns:
    """Weights of linear classifiers: logits x W + b, whose softmax, or the sigmoid of each label, are probabilities."""

    weight: np.ndarray
    bias: np.ndarray

    def logits(self, features: Features) -> np.ndarray:
        """(n, V) → (n, C)."""
        return np.asarray(features @ self.weight) + self.bias


@dataclass(frozen=True)
class Solver:
    """One kind of classifier."""

    setting: str
    values: tuple[float, ...]
    """What is tried at first, the weakest model first, each the same factor from the one before; see `choose`."""
    make: Callable[[], Any]
    """A fresh scikit-learn estimator; imports it."""
    read: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    """Its weights (V, K) and biases (K,), of the K classes it has seen."""
    decisions: bool = False
    """Whether its logits are only decisions, of which a factor makes probabilities (`core.training.temperature`)."""


@dataclass(frozen=True)
class Chosen:
    """The best of the values on validation, of the first list the weakest of equals."""

    columns: Columns
    settings: dict[str, float]
    """The value by the name of its setting, and `scale`, where decisions became probabilities."""
    score: float
    """Validation accuracy; of several labels per text the mean over labels of F1 at 0.5. 0 without validation rows."""


def choose(
    solver: Solver, features: Features, labels: np.ndarray, held: Features, held_labels: np.ndarray, *, classes: int
) -> Chosen:
    """Fit values of the solver's setting and keep the best on the validation split `held`.

    While the best is the weakest or the strongest that was tried, the range grows by one value at that end, by
    `MOST_STEPS` values at most: the answer does not hang on where a list of values happens to end. Labels are (n,)
    int64 class numbers, or (n, C) zeros and ones: then each is a problem of its own, all with one value of the setting.
    Raises DataError if the training split holds one class only, or no label, or validation cannot turn decisions into
    probabilities.
    """
    if labels.ndim == 1 and len(np.unique(labels)) < 2:
        raise DataError("the training split holds one class only; a classifier needs at least two")
    if labels.ndim == 2 and not labels.any():
        raise DataError("no training text has a label")
    # Kept over the values: where an estimator can, it starts from the weaker fit before, and is done sooner.
    estimators = [solver.make() for _ in range(classes if labels.ndim == 2 else 1)]
    fit = _one_of_many if labels.ndim == 1 else _one_vs_rest

    def tried(value: float) -> Chosen:
        for estimator in estimators:
            estimator.set_params(**{solver.setting: value})
        columns = fit(solver, estimators, features, labels, classes)
        score = _score(columns.logits(held), held_labels)
        log.info("%s=%g: validation score %.4f", solver.setting, value, score)
        return Chosen(columns, {solver.setting: value}, score)

    best = _best(tried, solver)
    if not solver.decisions:
        return best
    scale = 1 / best_temperature(best.columns.logits(held), held_labels)
    fixed = np.abs(best.columns.bias) == -ABSENT
    columns = Columns(best.columns.weight * scale, np.where(fixed, best.columns.bias, best.columns.bias * scale))
    return Chosen(columns, {**best.settings, "scale": scale}, best.score)


def _best(tried: Callable[[float], Chosen], solver: Solver) -> Chosen:
    if len(solver.values) == 1:  # chosen beforehand
        return tried(solver.values[0])
    factor = solver.values[1] / solver.values[0]
    weakest, strongest = solver.values[0], solver.values[-1]
    reached = operator.attrgetter("score")
    best = max(map(tried, solver.values), key=reached)
    for _ in range(MOST_STEPS):
        value = best.settings[solver.setting]
        if value == strongest:
            further = strongest = strongest * factor
        elif value == weakest:
            further = weakest = weakest / factor
        else:
            break
        best = max(best, tried(further), key=reached)
    return best


def _one_of_many(
    solver: Solver, estimators: list[Any], features: Features, labels: np.ndarray, classes: int
) -> Columns:
    (estimator,) = estimators
    estimator.fit(features, labels)
    weight, bias = np.zeros((features.shape[1], classes)), np.full(classes, ABSENT)
    weight[:, estimator.classes_], bias[estimator.classes_] = solver.read(estimator)
    return Columns(weight, bias)


def _one_vs_rest(
    solver: Solver, estimators: list[Any], features: Features, labels: np.ndarray, classes: int
) -> Columns:
    """Fit each label; one that no or every training text has gets a bias alone, which says so."""
    # Own: OneVsRestClassifier begins every fit anew, 7.1 s for four C on 987 texts with several labels in place of 3.2.
    weight, bias = np.zeros((features.shape[1], classes)), np.where(labels.all(0), -ABSENT, ABSENT)
    for label in np.flatnonzero(labels.any(0) & ~labels.all(0)):
        columns, biases = solver.read(estimators[label].fit(features, labels[:, label] != 0))
        weight[:, label], bias[label] = columns[:, 1] - columns[:, 0], biases[1] - biases[0]
    return Columns(weight, bias)


def _score(logits: np.ndarray, labels: np.ndarray) -> float:
    if not len(labels):
        return 0.0
    if labels.ndim == 1:
        return float(np.mean(logits.argmax(1) == labels))
    predicted, positive = logits > 0, labels != 0
    return float(np.mean(2 * (positive & predicted).sum(0) / np.maximum(positive.sum(0) + predicted.sum(0), 1)))


def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression  # a second, which no other training shall wait for

    # lbfgs at its usual tolerance of 1e-4 took the weaker fit for the answer: from the solution of C=4 it made no step
    # for C=16. Newton's method reaches 1e-6 sooner: six C from 0.25 to 256, one thread, took 1.7 s on Twitter Financial
    # (lbfgs 9.8 to the same tolerance, 2.4 to 1e-4), on the built-in corpus 0.95 (3.5, 0.24), on TweetEval emotion 0.6
    # (5.3, 1.4), for a label of CAVES 0.6 (1.3, 0.5).
    return LogisticRegression(solver="newton-cg", tol=1e-6, max_iter=1000, warm_start=True)


def _naive_bayes() -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB()


def _support_vectors() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(max_iter=5000, random_state=0)


def _coefficients(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    weight, bias = estimator.coef_.T, estimator.intercept_
    if len(estimator.classes_) == 2:
        weight, bias = np.concatenate([-weight, weight], 1) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


def _log_likelihood(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Read log P(class) + sum_g x_g log P(g | class), which is linear in x."""
    return estimator.feature_log_prob_.T, estimator.class_log_prior_


LOGISTIC = Solver("C", (0.25, 1.0, 4.0, 16.0), _logistic_regression, _coefficients)
NAIVE_BAYES = Solver("alpha", (10.0, 1.0, 0.1, 0.01), _naive_bayes, _log_likelihood)
SUPPORT_VECTORS = Solver("C", (0.0625, 0.25, 1.0, 4.0), _support_vectors, _coefficients, decisions=True)
