"""Metrics: equal to scikit-learn where it has them, absent with a reason where undefined."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.preprocessing import label_binarize

from core.evaluation.metrics import (
    calibration_bins,
    confusion,
    describe_absent,
    evaluate,
    left_out,
    per_class,
    pr_points,
    roc_points,
)
from core.exceptions import InputError
from core.metrics import metrics_of


@st.composite
def scored(draw, every_class=False):
    """Labels and probabilities with ties and ordinary values."""
    classes = draw(st.integers(2, 5))
    rows = draw(st.integers(max(1, classes if every_class else 1), 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = random.integers(0, classes, rows)
    if every_class:
        labels[:classes] = np.arange(classes)
    levels = draw(st.sampled_from([3, 1000]))
    raw = random.integers(1, levels + 1, (rows, classes)).astype(float)
    return labels, raw / raw.sum(1, keepdims=True)


@pytest.mark.slow
@given(scored())
@settings(max_examples=60)
def test_counted_metrics_equal_scikit_learn(case):
    labels, probabilities = case
    predicted, found = probabilities.argmax(1), evaluate(labels, probabilities)
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, predicted))
    for average in ("macro", "weighted"):
        expected = sk.precision_recall_fscore_support(labels, predicted, average=average, zero_division=0)
        names = [f"{name}_{average}" for name in ("precision", "recall", "f1")]
        assert [found[name] for name in names] == pytest.approx(list(expected[:3]))
    classes = range(probabilities.shape[1])
    assert found["loss"] == pytest.approx(sk.log_loss(labels, probabilities, labels=classes))
    brier = np.mean(
        [sum((p - (c == y)) ** 2 for c, p in enumerate(row)) / 2 for y, row in zip(labels, probabilities, strict=True)]
    )
    assert found["brier"] == pytest.approx(brier)
    assert confusion(labels, predicted, len(classes)) == sk.confusion_matrix(labels, predicted, labels=classes).tolist()


@pytest.mark.slow
@given(scored(every_class=True))
@settings(max_examples=60)
def test_ranking_metrics_equal_scikit_learn(case):
    labels, probabilities = case
    found, classes = evaluate(labels, probabilities), probabilities.shape[1]
    if classes == 2:
        auc = macro = sk.roc_auc_score(labels, probabilities[:, 1])
        precision = sk.average_precision_score(labels, probabilities[:, 1])
    else:
        auc = sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="weighted")
        macro = sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro")
        precision = sk.average_precision_score(label_binarize(labels, classes=range(classes)), probabilities)
    assert found["roc_auc"] == pytest.approx(auc)
    assert found["roc_auc_macro"] == pytest.approx(macro)
    assert found["average_precision"] == pytest.approx(precision)
    assert set(found) == set(metrics_of("single"))


@pytest.mark.slow
@given(scored())
@settings(max_examples=40)
def test_each_class_equals_scikit_learn(case):
    labels, probabilities = case
    names = [f"class {each}" for each in range(probabilities.shape[1])]
    found = per_class(labels, probabilities, names)
    expected = sk.precision_recall_fscore_support(
        labels, probabilities.argmax(1), labels=range(len(names)), zero_division=0
    )
    for number, name in enumerate(names):
        row = found[name]
        assert [row[key] for key in ("precision", "recall", "f1", "support")] == pytest.approx(
            [column[number] for column in expected]
        )
        positive = labels == number
        assert ("roc_auc" in row) == (0 < positive.sum() < len(labels))
        if "roc_auc" in row:
            assert row["roc_auc"] == pytest.approx(sk.roc_auc_score(positive, probabilities[:, number]))
            assert row["average_precision"] == pytest.approx(
                sk.average_precision_score(positive, probabilities[:, number])
            )


@pytest.mark.slow
@given(scored(every_class=True))
@settings(max_examples=40)
def test_curves_equal_scikit_learn(case):
    labels, probabilities = case
    found = roc_points(labels, probabilities, 1)
    fpr, tpr, _ = sk.roc_curve(labels == 1, probabilities[:, 1], drop_intermediate=False)
    every = set(zip(fpr.round(9), tpr.round(9), strict=True))
    assert set(zip(np.round(found["fpr"], 9), np.round(found["tpr"], 9), strict=True)) <= every
    assert sk.auc(found["fpr"], found["tpr"]) == pytest.approx(sk.auc(fpr, tpr))
    assert found["threshold"] == sorted(found["threshold"], reverse=True)
    found = pr_points(labels, probabilities, 1)
    precision, recall, thresholds = sk.precision_recall_curve(labels == 1, probabilities[:, 1])
    np.testing.assert_allclose(found["precision"], precision[-2::-1])
    np.testing.assert_allclose(found["recall"], recall[-2::-1])
    np.testing.assert_allclose(found["threshold"], thresholds[::-1])


def test_without_a_class_only_the_ranking_metrics_are_left_out_and_say_why():
    labels, probabilities = np.array([0, 0, 2]), np.full((3, 3), 1 / 3)
    found = evaluate(labels, probabilities)
    reasons = left_out(labels, probabilities, "abc")
    assert set(reasons) == {"roc_auc", "roc_auc_macro", "average_precision"} == set(metrics_of("single")) - set(found)
    assert reasons["roc_auc"] == "no row is 'b'"
    assert all(math.isfinite(value) for value in found.values())
    assert roc_points(labels, probabilities, 1) == {"fpr": [], "tpr": [], "threshold": []}
    assert pr_points(labels, probabilities, 1) == {"precision": [], "recall": [], "threshold": []}


@pytest.mark.slow
@given(scored())
@settings(max_examples=60)
def test_measures_of_a_scale_equal_scikit_learn(case):
    labels, probabilities = case
    predicted, found = probabilities.argmax(1), evaluate(labels, probabilities, ordered=True)
    reasons = left_out(labels, probabilities, range(probabilities.shape[1]), ordered=True)
    if probabilities.shape[1] == 2:
        assert not {"mae", "quadratic_kappa"} & {*found, *reasons}, "of two classes they say what accuracy says"
        return
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(labels, predicted))
    if len({*labels, *predicted}) > 1:
        scale = range(probabilities.shape[1])  # else it closes up the scale where a class is missing
        expected = sk.cohen_kappa_score(labels, predicted, weights="quadratic", labels=scale)
        assert found["quadratic_kappa"] == pytest.approx(expected, abs=1e-9)
    else:
        assert reasons["quadratic_kappa"] == "every row is of one class, and predicted so"
    assert set(metrics_of("single", ordered=True)) == {*found, *reasons}


def test_without_an_order_there_is_no_scale():
    labels, probabilities = np.array([0, 1, 2]), np.eye(3)
    assert "mae" not in evaluate(labels, probabilities) and "mae" not in left_out(labels, probabilities, "abc")
    assert evaluate(labels, probabilities, ordered=True)["quadratic_kappa"] == 1


def test_no_rows_have_no_metrics():
    labels, probabilities = np.zeros(0, int), np.zeros((0, 2))
    assert evaluate(labels, probabilities) == {}
    assert left_out(labels, probabilities, "ab")["accuracy"] == "there are no rows"
    assert per_class(labels, probabilities, ["a", "b"])["a"] == {"precision": 0, "recall": 0, "f1": 0, "support": 0}
    assert roc_points(labels, probabilities, 1)["fpr"] == []


def test_calibration_error_is_the_gap_of_confidence_and_accuracy_in_15_bins():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    # Confidence 0.9: three rows, accuracy 2/3; confidence 0.6: one row, accuracy 1.
    assert evaluate(labels, probabilities)["ece"] == pytest.approx(0.75 * abs(0.9 - 2 / 3) + 0.25 * 0.4)
    bins = calibration_bins(labels, probabilities)
    assert len(bins) == 15
    assert sum(each["count"] for each in bins) == 4
    assert bins[13] == {
        "from": 13 / 15, "to": 14 / 15, "count": 3, "confidence": pytest.approx(0.9), "accuracy": pytest.approx(2 / 3),
    }  # fmt: skip
    assert bins[0]["accuracy"] is None


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([0], np.ones((2, 2)), "1 labels for 2 rows"),
        ([2], np.ones((1, 2)), "between 0 and 1"),
        ([0], np.ones((1, 1)), "two or more classes"),
    ],
)
def test_what_does_not_fit_together_is_refused(labels, probabilities, message):
    with pytest.raises(InputError, match=message):
        evaluate(np.array(labels), probabilities)


@pytest.mark.parametrize(
    ("said", "over", "end"), [([0, 0, 1, 1], 2, ""), ([0, 2, 1, 1], 3, "; 'rare' is predicted and counted as 0")]
)
def test_macro_averages_name_the_classes_without_a_row(said, over, end):
    labels, said = np.array([0, 0, 1, 1]), np.array(said)
    told = describe_absent(confusion(labels, said, 3), ("bad", "good", "rare"))
    assert told == f"Macro averages are over {over} of 3 classes: no row is 'rare'{end}."
    f1 = sk.f1_score(labels, said, average=None, labels=range(over), zero_division=0)
    assert evaluate(labels, np.eye(3)[said])["f1_macro"] == pytest.approx(f1.mean())
    assert describe_absent(confusion(labels, labels, 2), ("bad", "good")) == ""
