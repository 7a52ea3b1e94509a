"""Answers at a threshold, counted by hand and by scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

from dashboard.figures.calibration import reliability
from dashboard.figures.confusion import outcomes
from dashboard.figures.decisions import ANSWER, class_table, decide, few
from dashboard.figures.phenomena import phenomena
from dashboard.figures.ranking import pr_curves, roc_curves

TWO, THREE = ("no", "yes"), ("bad", "even", "good")


@pytest.fixture
def two():
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200)
    chance = np.clip(0.5 + 0.3 * (labels - 0.5) + 0.25 * random.standard_normal(200), 0.01, 0.99)
    return labels, np.stack([1 - chance, chance], 1)


@pytest.fixture
def three():
    random = np.random.default_rng(2)
    labels = random.integers(0, 3, 150)
    raw = random.random((150, 3)) + 0.8 * np.eye(3)[labels]
    return labels, raw / raw.sum(1, keepdims=True)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_two_classes_are_told_apart_at_the_threshold(two, threshold):
    labels, probabilities = two
    decision = decide(labels, probabilities, TWO, "", threshold)
    said = (probabilities[:, 1] > threshold).astype(int)
    assert decision.counts.tolist() == sk.confusion_matrix(labels, said, labels=[0, 1]).tolist()
    assert decision.accuracy[0] == pytest.approx((said == labels).mean())
    assert (decision.total, decision.score_name) == (200, "P(yes)")


def test_at_one_half_the_answer_is_the_most_probable_class(two):
    labels, probabilities = two
    assert (decide(labels, probabilities, TWO, "", 0.5).said == probabilities.argmax(1)).all()


def test_more_classes_abstain_below_the_threshold(three):
    labels, probabilities = three
    whole, half = (decide(labels, probabilities, THREE, ANSWER, t) for t in (0.0, 0.5))
    assert len(whole.rows) == 150 and (whole.said == probabilities.argmax(1)).all()
    assert half.rows.tolist() == np.flatnonzero(probabilities.max(1) > 0.5).tolist()
    assert half.counts.sum() == len(half.rows) < 150
    assert decide(labels, probabilities, THREE, ANSWER, 1.0).accuracy[1:] == (0.0, 1.0)


def test_one_class_stands_against_the_rest(three):
    labels, probabilities = three
    decision = decide(labels, probabilities, THREE, "even", 0.4)
    assert decision.classes == ("not even", "even")
    expected = sk.confusion_matrix(labels == 1, probabilities[:, 1] > 0.4)
    assert decision.counts.tolist() == expected.tolist()


def test_the_ring_lies_where_the_threshold_puts_it(two):
    labels, probabilities = two
    decision = decide(labels, probabilities, TWO, "", 0.6)
    said = probabilities[:, 1] > 0.6
    (ranking,), (precision,) = roc_curves(decision), pr_curves(decision)
    assert ranking.at == pytest.approx((said[labels == 0].mean(), said[labels == 1].mean()))
    assert precision.at == pytest.approx((sk.recall_score(labels, said), sk.precision_score(labels, said)))
    assert ranking.area == pytest.approx(sk.roc_auc_score(labels, probabilities[:, 1]))
    assert precision.area == pytest.approx(sk.average_precision_score(labels, probabilities[:, 1]))
    assert ranking.positives + ranking.others == 200


def test_every_class_has_its_curve_over_what_is_answered(three):
    labels, probabilities = three
    decision = decide(labels, probabilities, THREE, ANSWER, 0.45)
    rows = probabilities.max(1) > 0.45
    assert [curve.name for curve in roc_curves(decision)] == list(THREE)
    assert roc_curves(decision)[2].area == pytest.approx(sk.roc_auc_score(labels[rows] == 2, probabilities[rows, 2]))


def test_a_split_of_one_class_has_no_roc_curve_and_nothing_answered_none_at_all(two):
    labels, probabilities = two
    assert roc_curves(decide(labels[labels == 0], probabilities[labels == 0], TWO, "", 0.5)) == []
    nothing = decide(np.array([0, 1, 2]), np.full((3, 3), 1 / 3), THREE, ANSWER, 0.9)
    assert (roc_curves(nothing), pr_curves(nothing), reliability(nothing)) == ([], [], [])
    assert phenomena(nothing, ["a", "b", "c"], {}).empty


def test_bins_say_what_was_claimed_and_what_came_true():
    chance = np.array([0.05, 0.08, 0.97, 1.0])
    decision = decide(np.array([0, 1, 1, 1]), np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    low, high = reliability(decision)
    assert (low.low, low.n, low.claimed, low.true) == (0.0, 2, pytest.approx(0.065), 0.5)
    assert (high.high, high.n, high.true) == (1.0, 2, 1.0)
    right, wrong = outcomes(decision)
    assert (right.sum(), wrong.tolist().index(1), right[-1]) == (3, 1, 2)


def test_the_class_table_agrees_with_scikit_learn(two):
    labels, probabilities = two
    table = class_table(decide(labels, probabilities, TWO, "", 0.35))
    precision, recall, f1, n = sk.precision_recall_fscore_support(labels, probabilities[:, 1] > 0.35)
    assert np.allclose(table[["Precision", "Recall", "F1", "n"]], np.stack([precision, recall, f1, n], 1))


def test_phenomena_come_the_worst_first_with_interval_and_yardstick():
    labels, chance = np.array([0, 0, 1, 1]), np.array([0.1, 0.8, 0.9, 0.7])
    decision = decide(labels, np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    table = phenomena(decision, ["plain", "irony", "plain", "irony"], {"irony": 0.25})
    assert table["phenomenon"].tolist() == ["irony", "plain"]
    assert table["accuracy"].tolist() == [0.5, 1.0] and table["n"].tolist() == [2, 2]
    assert table["tfidf"][0] == 0.25 and pd.isna(table["tfidf"][1])
    assert (table["low"] < table["accuracy"]).all()


def test_what_rests_on_few_is_named():
    assert few({"a": 30, "b": 29}) == "b on 29"
    assert few({"a": 30}) == ""
    assert few({str(n): n for n in range(6)}).endswith("3 on 3 and 2 more")
