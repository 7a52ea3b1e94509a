"""Choosing among linear classifiers, one label per text or several, and turning decisions into probabilities."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import MultinomialNB

from core.exceptions import DataError
from core.training.linear import (
    ABSENT,
    LOGISTIC,
    MOST_STEPS,
    NAIVE_BAYES,
    SUPPORT_VECTORS,
    Chosen,
    Columns,
    _best,
    choose,
)

SOLVERS = {"logistic": LOGISTIC, "naive Bayes": NAIVE_BAYES, "SVM": SUPPORT_VECTORS}
each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
EASY = np.eye(2)[[1, 0] * 10], np.array([1, 0] * 10)


def problem(rows: int, seed: int, labels: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts of six words; classes 0 to 2, or `labels` labels, that depend on them with some noise."""
    draw = np.random.default_rng(seed)
    features = draw.poisson(1.0, (rows, 6)).astype(float)
    if not labels:
        return features, (features[:, 0] + 2 * features[:, 1] + draw.integers(2, size=rows)).astype(int) % 3
    return features, (features[:, :labels] + draw.normal(0, 0.5, (rows, labels)) > 1.2).astype(np.float32)


@each_solver
def test_the_weakest_of_equals_is_taken(solver):
    chosen = choose(solver, *EASY, *EASY, classes=2)
    assert (chosen.settings[solver.setting], chosen.score) == (solver.values[0], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_every_fit_is_at_its_optimum_although_it_starts_from_the_weaker_one(classes):
    """The gradient of the mean cross-entropy + |W|^2 / (2 n C) is 0, and a fit from nothing says the same."""
    draw = np.random.default_rng(0)
    features = draw.random((400, 60)) * (draw.random((400, 60)) < 0.15)
    labels = (features[:, 0] + features[:, 1] + draw.normal(0, 0.2, 400) > 0.3).astype(int) + (features[:, 2] > 0.5)
    labels, warm = labels % classes, LOGISTIC.make()
    for value in LOGISTIC.values:
        weight, bias = LOGISTIC.read(warm.set_params(C=value).fit(features, labels))
        errors = softmax(features @ weight + bias, 1) - np.eye(classes)[labels]
        shares = 2 if classes == 2 else 1  # one vector of weights w stands as w/2 and -w/2, so that |w|^2 is 2 |W|^2
        gradient = features.T @ errors + shares * weight / value
        assert max(np.abs(gradient).max(), np.abs(errors.sum(0)).max()) / 400 <= 1e-6
        cold = LOGISTIC.make().set_params(C=value).fit(features, labels)
        np.testing.assert_allclose(warm.predict_proba(features), cold.predict_proba(features), atol=1e-4)


def judged_by(best: float) -> Callable[[float], Chosen]:
    """A fit that does the better the nearer its value is to the best one, on a scale of logarithms."""
    return lambda value: Chosen(Columns(np.zeros((1, 2)), np.zeros(2)), {"C": value}, -abs(np.log(value / best)))


@pytest.mark.parametrize("best", [0.25 / 4**3, 0.25 / 4, 0.25, 4.0, 16.0, 64.0, 1024.0])
def test_the_range_grows_until_the_best_lies_within_it_for_some_steps(best):
    tried = []

    def fit(value: float) -> Chosen:
        tried.append(value)
        return judged_by(best)(value)

    assert _best(fit, LOGISTIC).settings == {"C": best}
    assert min(tried) < best < max(tried) and len(tried) <= len(LOGISTIC.values) + 4
    for better, last in ((1e9, 16 * 4.0**MOST_STEPS), (1e-9, 0.25 / 4.0**MOST_STEPS)):
        assert _best(judged_by(better), LOGISTIC).settings == {"C": last}
    equal = _best(lambda value: Chosen(Columns(np.zeros((1, 2)), np.zeros(2)), {"C": value}, 1.0), LOGISTIC)
    assert equal.settings == {"C": LOGISTIC.values[0]}, "an equal beyond the end is not taken"


@pytest.mark.slow
@pytest.mark.parametrize("solver", [LOGISTIC, SUPPORT_VECTORS], ids=["logistic", "SVM"])
def test_a_weak_word_that_decides_asks_for_a_stronger_model_than_any_listed(solver):
    draw = np.random.default_rng(0)
    features = draw.normal(0, 1, (240, 3)) * [0.01, 1, 1]
    labels = (features[:, 0] > 0).astype(int)
    given = features[:120], labels[:120], features[120:], labels[120:]
    listed = [choose(dataclasses.replace(solver, values=(value, value)), *given, classes=2) for value in solver.values]
    chosen = choose(solver, *given, classes=2)
    assert chosen.settings["C"] > max(solver.values) and chosen.score > max(each.score for each in listed)
    assert choose(solver, *given, classes=2).settings == chosen.settings


@each_solver
def test_a_class_without_training_rows_gets_probability_zero(solver):
    features, labels = EASY[0], 2 * EASY[1]
    chosen = choose(solver, features, labels, features, labels, classes=3)
    logits = chosen.columns.logits(features)
    assert chosen.columns.bias[1] == ABSENT
    assert (np.exp(log_softmax(logits, 1))[:, 1] == 0).all()
    assert (logits.argmax(1) == labels).all()


@each_solver
def test_one_class_or_no_label_cannot_be_learned(solver):
    with pytest.raises(DataError, match="one class only"):
        choose(solver, np.ones((3, 1)), np.zeros(3, int), np.ones((0, 1)), np.zeros(0, int), classes=2)
    with pytest.raises(DataError, match="no training text has a label"):
        choose(solver, np.ones((3, 1)), np.zeros((3, 2)), np.ones((0, 1)), np.zeros((0, 2)), classes=2)
    if solver.decisions:
        with pytest.raises(DataError, match="validation split"):
            choose(solver, *EASY, np.ones((0, 2)), np.zeros(0, int), classes=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "known"),
    [(LOGISTIC, lambda C: LogisticRegression(C=C)), (NAIVE_BAYES, lambda alpha: MultinomialNB(alpha=alpha))],
)
def test_several_labels_are_one_problem_each(solver, known):
    features, labels = problem(200, 0, labels=3)
    held, held_labels = problem(80, 1, labels=3)
    chosen = choose(solver, features, labels, held, held_labels, classes=3)
    found = expit(chosen.columns.logits(held))
    expected = [known(**chosen.settings).fit(features, own).predict_proba(held)[:, 1] for own in labels.T]
    np.testing.assert_allclose(found, np.stack(expected, 1), atol=1e-3)
    assert chosen.score == pytest.approx(f1_score(held_labels, found > 0.5, average="macro"))


@each_solver
def test_a_label_that_no_or_every_training_text_has_says_so(solver):
    features, labels = problem(60, 2, labels=3)
    labels[:, 0], labels[:, 2] = 0, 1
    columns = choose(solver, features, labels, features, labels, classes=3).columns
    assert (columns.bias[0], columns.bias[2]) == (ABSENT, -ABSENT)
    assert not columns.weight[:, [0, 2]].any() and columns.weight[:, 1].any()


@pytest.mark.parametrize("labels", [0, 3])
def test_a_scale_minimises_the_cross_entropy_and_changes_no_decision(labels):
    features, truth = problem(300, 3, labels)
    plain = choose(SUPPORT_VECTORS, features, truth, features, truth, classes=3)
    scale, logits = plain.settings["scale"], plain.columns.logits(features)

    def cross_entropy(factor: float) -> float:
        n, stretched = len(features), factor * logits
        if labels:
            target = (n * truth + 1) / (n + 2)
            return -(target * log_expit(stretched) + (1 - target) * log_expit(-stretched)).mean()
        return -((n * np.eye(3)[truth] + 1) / (n + 3) * log_softmax(stretched, 1)).sum(1).mean()

    assert cross_entropy(1) < min(cross_entropy(0.99), cross_entropy(1.01))
    raw = logits / scale
    assert (raw.argmax(1) == logits.argmax(1)).all() and ((raw > 0) == (logits > 0)).all()
