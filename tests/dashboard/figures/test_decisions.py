"""Answers at a threshold, counted by hand and by scikit-learn."""

import numpy as np
import pytest
from answering import THREE, TWO
from sklearn import metrics as sk

from dashboard.figures.decisions import ANSWER, class_table, decide, few


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_two_classes_are_told_apart_at_the_threshold(two, threshold):
    labels, probabilities = two
    decision = decide(labels, probabilities, TWO, "", threshold)
    said = (probabilities[:, 1] > threshold).astype(int)
    assert decision.counts.tolist() == sk.confusion_matrix(labels, said, labels=[0, 1]).tolist()
    assert decision.accuracy[0] == pytest.approx((said == labels).mean())
    assert (decision.total, decision.score_name) == (200, "P(yes)")


def test_more_classes_abstain_below_the_threshold_or_one_stands_against_the_rest(three):
    labels, probabilities = three
    whole, half = (decide(labels, probabilities, THREE, ANSWER, t) for t in (0.0, 0.5))
    assert len(whole.rows) == 150 and (whole.predicted == probabilities.argmax(1)).all()
    assert half.rows.tolist() == np.flatnonzero(probabilities.max(1) > 0.5).tolist()
    assert half.counts.sum() == len(half.rows) < 150
    assert decide(labels, probabilities, THREE, ANSWER, 1.0).accuracy[1:] == (0.0, 1.0)
    labels, probabilities = three
    decision = decide(labels, probabilities, THREE, "even", 0.4)
    assert decision.classes == ("not even", "even")
    expected = sk.confusion_matrix(labels == 1, probabilities[:, 1] > 0.4)
    assert decision.counts.tolist() == expected.tolist()


def test_the_class_table_agrees_with_scikit_learn_and_one_half_with_the_top(two):
    labels, probabilities = two
    table = class_table(decide(labels, probabilities, TWO, "", 0.35))
    precision, recall, f1, n = sk.precision_recall_fscore_support(labels, probabilities[:, 1] > 0.35)
    assert np.allclose(table[["Precision", "Recall", "F1", "n"]], np.stack([precision, recall, f1, n], 1))
    labels, probabilities = two
    assert (decide(labels, probabilities, TWO, "", 0.5).predicted == probabilities.argmax(1)).all()


def test_what_rests_on_few_is_named():
    assert few({"a": 30, "b": 29}) == "b on 29"
    assert few({"a": 30}) == ""
    assert few({str(n): n for n in range(6)}).endswith("3 on 3 and 2 more")
