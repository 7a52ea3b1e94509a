"""Several labels per text: equal to scikit-learn, absent with a reason where undefined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from core.evaluation.intervals import intervals
from core.evaluation.metrics import evaluate, left_out, per_class
from core.evaluation.scores import confusions, tuned_thresholds
from core.exceptions import InputError
from core.metrics import metrics_of, thresholded

NAMES = ["a", "b", "c", "d", "e"]


@st.composite
def scored(draw, both_sides=False):
    """Labels, probabilities with ties, and thresholds; `both_sides`: rows with and without every label."""
    classes, rows = draw(st.integers(2, 5)), draw(st.integers(2, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = (random.random((rows, classes)) < draw(st.sampled_from([0.1, 0.5]))).astype(np.float32)
    if both_sides:
        labels[0], labels[1] = 0, 1
    probabilities = random.integers(0, draw(st.sampled_from([4, 1000])), (rows, classes)) / 1000 * 1.001
    return labels, np.clip(probabilities * draw(st.sampled_from([1, 250])), 0, 1), random.random(classes)


@pytest.mark.slow
@given(scored())
@settings(max_examples=60)
def test_counted_metrics_equal_scikit_learn(case):
    labels, probabilities, thresholds = case
    said, found = (probabilities > thresholds).astype(int), evaluate(labels, probabilities, "multi", thresholds)
    for average in ("macro", "micro", "weighted", "samples"):
        expected = sk.precision_recall_fscore_support(labels, said, average=average, zero_division=0)
        names = [f"{name}_{average}" for name in ("precision", "recall", "f1")]
        assert [found[name] for name in names] == pytest.approx(list(expected[:3]))
    assert found["subset_accuracy"] == pytest.approx(sk.accuracy_score(labels, said))
    assert found["hamming_loss"] == pytest.approx(sk.hamming_loss(labels, said))
    losses = [sk.log_loss(y, p, labels=[0, 1]) for y, p in zip(labels.T, probabilities.T, strict=True)]
    assert found["loss"] == pytest.approx(np.mean(losses))
    assert found["brier"] == pytest.approx(np.mean((labels - probabilities) ** 2))


@pytest.mark.slow
@given(scored(both_sides=True))
@settings(max_examples=60)
def test_ranking_metrics_equal_scikit_learn(case):
    labels, probabilities, _ = case
    found = evaluate(labels, probabilities, "multi")
    assert found["roc_auc_macro"] == pytest.approx(sk.roc_auc_score(labels, probabilities, average="macro"))
    assert found["average_precision"] == pytest.approx(
        sk.average_precision_score(labels, probabilities, average="macro")
    )
    assert set(found) == set(metrics_of("multi"))


@pytest.mark.slow
@given(scored())
@settings(max_examples=40)
def test_each_label_equals_scikit_learn(case):
    labels, probabilities, thresholds = case
    names = NAMES[: labels.shape[1]]
    said = probabilities > thresholds
    precision, recall, f1, support = sk.precision_recall_fscore_support(labels, said, average=None, zero_division=0)
    table = per_class(labels, probabilities, names, "multi", thresholds)
    matrices = sk.multilabel_confusion_matrix(labels, said)
    for number, name in enumerate(names):
        row = table[name]
        assert (row["precision"], row["recall"], row["f1"], row["support"], row["threshold"]) == pytest.approx(
            (precision[number], recall[number], f1[number], support[number], thresholds[number])
        )
        if 0 < support[number] < len(labels):
            column = probabilities[:, number]
            assert row["roc_auc"] == pytest.approx(sk.roc_auc_score(labels[:, number], column))
            assert row["average_precision"] == pytest.approx(sk.average_precision_score(labels[:, number], column))
        else:
            assert "roc_auc" not in row and "average_precision" not in row
        assert confusions(labels, probabilities, names, thresholds)[name] == matrices[number].tolist()


def test_what_cannot_be_ranked_is_left_out_with_its_reason():
    labels = np.array([[1, 0, 1], [0, 0, 1]])
    reasons = left_out(labels, np.full((2, 3), 0.4), "abc", "multi")
    assert reasons.keys() == {"roc_auc_macro", "average_precision"}
    assert reasons["roc_auc_macro"] == "all rows or none are 'b', 'c'"
    assert set(evaluate(labels, np.full((2, 3), 0.4), "multi")) == set(metrics_of("multi")) - set(reasons)
    assert set(left_out(np.zeros((0, 3)), np.zeros((0, 3)), "abc", "multi")) == set(metrics_of("multi"))


def test_a_probability_of_exactly_the_threshold_is_not_said():
    found = evaluate(np.array([[1, 0]]), np.array([[0.5, 0.5]]), "multi")
    assert found["recall_micro"] == 0 and found["hamming_loss"] == 0.5


@pytest.mark.slow
@given(scored())
@settings(max_examples=80)
def test_no_threshold_has_a_higher_f1_than_the_tuned_one(case):
    labels, probabilities, _ = case
    tuned = tuned_thresholds(labels, probabilities)
    for number, column in enumerate(probabilities.T):
        limits = np.array([tuned[number], 0.5, 0, *column])
        said = column > limits[:, None]
        right = (said * labels[:, number]).sum(1)
        f1 = 2 * right / np.maximum(said.sum(1) + labels[:, number].sum(), 1)  # scikit-learn's are compared above
        assert f1[0] >= f1.max() - 1e-12
        if f1[1] == pytest.approx(f1[0]):
            assert tuned[number] == 0.5


def test_tuned_thresholds_by_hand():
    labels = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    probabilities = np.array([[0.3, 0.9], [0.2, 0.1], [0.1, 0.2], [0.05, 0.3]])
    # Between 0.1 and 0.2 both rows are said and no other; a label without rows keeps 0.5.
    assert tuned_thresholds(labels, probabilities) == pytest.approx([0.15, 0.5])


def test_intervals_hold_the_value_and_know_the_thresholds():
    random = np.random.default_rng(3)
    labels = random.random((200, 3)) < 0.4
    probabilities = np.clip(0.3 * labels + 0.6 * random.random((200, 3)), 0, 1)
    values, ranges = evaluate(labels, probabilities, "multi"), intervals(labels, probabilities, "multi")
    assert ranges.keys() == values.keys()
    for name, (low, high) in ranges.items():
        assert low <= values[name] <= high and high - low < 0.3
    assert ranges == intervals(labels, probabilities, "multi")
    lower = intervals(labels, probabilities, "multi", np.array([0.2, 0.2, 0.2]))
    assert {name for name in ranges if ranges[name] != lower.get(name)} == set(thresholded())


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"labels of shape \(2,\) for probabilities of shape \(2, 3\)"):
        evaluate(np.zeros(2), np.zeros((2, 3)), "multi")
    with pytest.raises(InputError, match="2 thresholds for 3 labels"):
        evaluate(np.zeros((2, 3)), np.zeros((2, 3)), "multi", np.array([0.1, 0.2]))
