import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.preprocessing import label_binarize

from core.evaluation import metrics
from core.evaluation.intervals import compute_intervals
from core.exceptions import InputError
from core.metrics import select_metrics, select_thresholded


def draw_cases(most, *kinds):
    """Mark a slow test of so many drawn cases."""
    return lambda test: pytest.mark.slow(given(*kinds)(settings(max_examples=most)(test)))


@st.composite
def scored(draw, every_class=False):
    classes = draw(st.integers(2, 5))
    rows = draw(st.integers(max(1, classes if every_class else 1), 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = random.integers(0, classes, rows)
    if every_class:
        labels[:classes] = np.arange(classes)
    raw = random.integers(1, draw(st.sampled_from([3, 1000])) + 1, (rows, classes)).astype(float)
    return labels, raw / raw.sum(1, keepdims=True)


@draw_cases(60, scored())
def test_counted_metrics_equal_scikit_learn(case):
    labels, probabilities = case
    predicted, found = probabilities.argmax(1), metrics.evaluate(labels, probabilities)
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, predicted))
    for average in ("macro", "weighted"):
        expected = sk.precision_recall_fscore_support(labels, predicted, average=average, zero_division=0)
        names = [f"{name}_{average}" for name in ("precision", "recall", "f1")]
        assert [found[name] for name in names] == pytest.approx(list(expected[:3]))
    classes = range(probabilities.shape[1])
    assert found["loss"] == pytest.approx(sk.log_loss(labels, probabilities, labels=classes))
    assert found["brier"] == pytest.approx(((probabilities - np.eye(len(classes))[labels]) ** 2).sum(1).mean() / 2)
    assert (
        metrics.compute_confusion(labels, predicted, len(classes))
        == sk.confusion_matrix(labels, predicted, labels=classes).tolist()
    )


@draw_cases(60, scored(every_class=True))
def test_ranking_metrics_equal_scikit_learn(case):
    labels, probabilities = case
    found, classes = metrics.evaluate(labels, probabilities), probabilities.shape[1]
    if classes == 2:
        auc = macro = sk.roc_auc_score(labels, probabilities[:, 1])
        precision = sk.average_precision_score(labels, probabilities[:, 1])
    else:
        auc = sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="weighted")
        macro = sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro")
        precision = sk.average_precision_score(label_binarize(labels, classes=range(classes)), probabilities)
    assert found["roc_auc"] == pytest.approx(auc) and found["roc_auc_macro"] == pytest.approx(macro)
    assert found["average_precision"] == pytest.approx(precision) and set(found) == set(select_metrics("single"))


@draw_cases(40, scored(every_class=True))
def test_curves_equal_scikit_learn(case):
    labels, probabilities = case
    found = metrics.compute_roc_curve(labels, probabilities, 1)
    fpr, tpr, _ = sk.roc_curve(labels == 1, probabilities[:, 1], drop_intermediate=False)
    every = set(zip(fpr.round(9), tpr.round(9), strict=True))
    assert set(zip(np.round(found["fpr"], 9), np.round(found["tpr"], 9), strict=True)) <= every
    assert sk.auc(found["fpr"], found["tpr"]) == pytest.approx(sk.auc(fpr, tpr))
    assert found["threshold"] == sorted(found["threshold"], reverse=True)
    found = metrics.compute_pr_curve(labels, probabilities, 1)
    precision, recall, thresholds = sk.precision_recall_curve(labels == 1, probabilities[:, 1])
    np.testing.assert_allclose(found["precision"], precision[-2::-1])
    np.testing.assert_allclose(found["recall"], recall[-2::-1])
    np.testing.assert_allclose(found["threshold"], thresholds[::-1])


def test_undefined_metrics_are_left_out_with_a_reason():
    labels, probabilities = np.array([0, 0, 2]), np.full((3, 3), 1 / 3)
    found = metrics.evaluate(labels, probabilities)
    reasons = metrics.explain_left_out(labels, probabilities, "abc")
    assert (
        set(reasons) == {"roc_auc", "roc_auc_macro", "average_precision"} == set(select_metrics("single")) - set(found)
    )
    assert reasons["roc_auc"] == "no row is 'b'" and all(math.isfinite(value) for value in found.values())
    assert metrics.compute_roc_curve(labels, probabilities, 1) == {"fpr": [], "tpr": [], "threshold": []}
    assert metrics.compute_pr_curve(labels, probabilities, 1) == {"precision": [], "recall": [], "threshold": []}
    labels, probabilities = np.zeros(0, int), np.zeros((0, 2))
    assert metrics.evaluate(labels, probabilities) == {}
    assert metrics.explain_left_out(labels, probabilities, "ab")["accuracy"] == "there are no rows"
    nothing = dict.fromkeys(("precision", "recall", "f1", "support"), 0)
    assert metrics.evaluate_classes(labels, probabilities, ["a", "b"])["a"] == nothing
    assert metrics.compute_roc_curve(labels, probabilities, 1)["fpr"] == []
    labels, probabilities = np.array([0, 1, 2]), np.eye(3)
    assert "mae" not in metrics.evaluate(labels, probabilities) and "mae" not in metrics.explain_left_out(
        labels, probabilities, "abc"
    )
    assert metrics.evaluate(labels, probabilities, ordered=True)["quadratic_kappa"] == 1


@draw_cases(60, scored())
def test_ordinal_metrics_equal_scikit_learn(case):
    labels, probabilities = case
    predicted, found = probabilities.argmax(1), metrics.evaluate(labels, probabilities, ordered=True)
    reasons = metrics.explain_left_out(labels, probabilities, range(probabilities.shape[1]), ordered=True)
    if probabilities.shape[1] == 2:
        assert not {"mae", "quadratic_kappa"} & {*found, *reasons}, "of two classes they say what accuracy says"
        return
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(labels, predicted))
    if len({*labels, *predicted}) > 1:
        scale = range(probabilities.shape[1])  # else it ignores missing classes of the scale
        expected = sk.cohen_kappa_score(labels, predicted, weights="quadratic", labels=scale)
        assert found["quadratic_kappa"] == pytest.approx(expected, abs=1e-9)
    else:
        assert reasons["quadratic_kappa"] == "every row is of one class, and predicted so"
    assert set(select_metrics("single", ordered=True)) == {*found, *reasons}


def test_calibration_error_is_the_gap_in_15_bins():
    labels, probabilities = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    # Confidence 0.9: three rows, accuracy 2/3; confidence 0.6: one row, accuracy 1.
    assert metrics.evaluate(labels, probabilities)["ece"] == pytest.approx(0.75 * abs(0.9 - 2 / 3) + 0.25 * 0.4)


@pytest.mark.parametrize(
    ("said", "over", "end"), [([0, 0, 1, 1], 2, ""), ([0, 2, 1, 1], 3, "; 'rare' is predicted and counted as 0")]
)
def test_macro_averages_name_the_classes_without_a_row(said, over, end):
    labels, said = np.array([0, 0, 1, 1]), np.array(said)
    told = metrics.describe_absent(metrics.compute_confusion(labels, said, 3), ("bad", "good", "rare"))
    assert told == f"Macro averages are over {over} of 3 classes: no row is 'rare'{end}."
    f1 = sk.f1_score(labels, said, average=None, labels=range(over), zero_division=0)
    assert metrics.evaluate(labels, np.eye(3)[said])["f1_macro"] == pytest.approx(f1.mean())
    assert metrics.describe_absent(metrics.compute_confusion(labels, labels, 2), ("bad", "good")) == ""


@pytest.mark.parametrize(
    ("labels", "probabilities", "task", "message"),
    [
        ([0], np.ones((2, 2)), "single", "1 labels for 2 rows"),
        ([2], np.ones((1, 2)), "single", "between 0 and 1"),
        ([0], np.ones((1, 1)), "single", "two or more classes"),
        ([0, 0], np.zeros((2, 3)), "multi", r"labels of shape \(2,\) for probabilities of shape \(2, 3\)"),
        ([[0] * 3] * 2, np.zeros((2, 3)), "multi", "2 thresholds for 3 labels"),
    ],
)
def test_inconsistent_arguments_are_refused(labels, probabilities, task, message):
    with pytest.raises(InputError, match=message):
        metrics.evaluate(np.array(labels), probabilities, task, np.array([0.1, 0.2]))


@st.composite
def scored_labels(draw, both_sides=False):
    """Labels, probabilities with ties, and thresholds; `both_sides`: rows with and without every label."""
    classes, rows = draw(st.integers(2, 5)), draw(st.integers(2, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = (random.random((rows, classes)) < draw(st.sampled_from([0.1, 0.5]))).astype(np.float32)
    if both_sides:
        labels[0], labels[1] = 0, 1
    probabilities = random.integers(0, draw(st.sampled_from([4, 1000])), (rows, classes)) / 1000 * 1.001
    return labels, np.clip(probabilities * draw(st.sampled_from([1, 250])), 0, 1), random.random(classes)


@draw_cases(60, scored_labels())
def test_multi_label_counted_metrics_equal_scikit_learn(case):
    labels, probabilities, thresholds = case
    said, found = (probabilities > thresholds).astype(int), metrics.evaluate(labels, probabilities, "multi", thresholds)
    for average in ("macro", "micro", "weighted", "samples"):
        expected = sk.precision_recall_fscore_support(labels, said, average=average, zero_division=0)
        names = [f"{name}_{average}" for name in ("precision", "recall", "f1")]
        assert [found[name] for name in names] == pytest.approx(list(expected[:3]))
    assert found["subset_accuracy"] == pytest.approx(sk.accuracy_score(labels, said))
    assert found["hamming_loss"] == pytest.approx(sk.hamming_loss(labels, said))
    losses = [sk.log_loss(y, p, labels=[0, 1]) for y, p in zip(labels.T, probabilities.T, strict=True)]
    assert found["loss"] == pytest.approx(np.mean(losses))
    assert found["brier"] == pytest.approx(np.mean((labels - probabilities) ** 2))


@draw_cases(60, scored_labels(both_sides=True))
def test_multi_label_ranking_metrics_equal_scikit_learn(case):
    labels, probabilities, _ = case
    found = metrics.evaluate(labels, probabilities, "multi")
    assert found["roc_auc_macro"] == pytest.approx(sk.roc_auc_score(labels, probabilities, average="macro"))
    precision = sk.average_precision_score(labels, probabilities, average="macro")
    assert found["average_precision"] == pytest.approx(precision) and set(found) == set(select_metrics("multi"))


def test_unrankable_labels_are_explained_and_a_probability_at_the_threshold_is_negative():
    labels = np.array([[1, 0, 1], [0, 0, 1]])
    reasons = metrics.explain_left_out(labels, np.full((2, 3), 0.4), "abc", "multi")
    assert reasons.keys() == {"roc_auc_macro", "average_precision"}
    assert reasons["roc_auc_macro"] == "all rows or none are 'b', 'c'"
    assert set(metrics.evaluate(labels, np.full((2, 3), 0.4), "multi")) == set(select_metrics("multi")) - set(reasons)
    assert set(metrics.explain_left_out(np.zeros((0, 3)), np.zeros((0, 3)), "abc", "multi")) == set(
        select_metrics("multi")
    )
    found = metrics.evaluate(np.array([[1, 0]]), np.array([[0.5, 0.5]]), "multi")
    assert found["recall_micro"] == 0 and found["hamming_loss"] == 0.5


@draw_cases(80, scored_labels())
def test_no_threshold_has_a_higher_f1_than_the_tuned_one(case):
    labels, probabilities, _ = case
    tuned = metrics.tune_thresholds(labels, probabilities)
    for number, column in enumerate(probabilities.T):
        said = column > np.array([tuned[number], 0.5, 0, *column])[:, None]
        right = (said * labels[:, number]).sum(1)
        f1 = 2 * right / np.maximum(said.sum(1) + labels[:, number].sum(), 1)  # scikit-learn's are compared above
        assert f1[0] >= f1.max() - 1e-12
        if f1[1] == pytest.approx(f1[0]):
            assert tuned[number] == 0.5


def test_tuned_thresholds_are_those_by_hand_and_used_by_intervals():
    labels = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    probabilities = np.array([[0.3, 0.9], [0.2, 0.1], [0.1, 0.2], [0.05, 0.3]])
    # Between 0.1 and 0.2 exactly both rows are predicted; a label without rows keeps 0.5.
    assert metrics.tune_thresholds(labels, probabilities) == pytest.approx([0.15, 0.5])
    random = np.random.default_rng(3)
    labels = random.random((200, 3)) < 0.4
    probabilities = np.clip(0.3 * labels + 0.6 * random.random((200, 3)), 0, 1)
    values, ranges = metrics.evaluate(labels, probabilities, "multi"), compute_intervals(labels, probabilities, "multi")
    assert ranges.keys() == values.keys()
    for name, (low, high) in ranges.items():
        assert low <= values[name] <= high and high - low < 0.3
    assert ranges == compute_intervals(labels, probabilities, "multi")
    lower = compute_intervals(labels, probabilities, "multi", np.array([0.2, 0.2, 0.2]))
    assert {name for name in ranges if ranges[name] != lower.get(name)} == set(select_thresholded())


def assert_each(found, true, said, probabilities):
    """Class metrics equal scikit-learn's; areas need rows with and without the class."""
    expected = sk.precision_recall_fscore_support(true, said, average=None, zero_division=0)
    for number, row in enumerate(found.values()):
        numbers = [row[part] for part in ("precision", "recall", "f1", "support")]
        assert numbers == pytest.approx([column[number] for column in expected])
        own, column = true[:, number], probabilities[:, number]
        assert ("roc_auc" in row) == ("average_precision" in row) == (0 < own.sum() < len(own))
        if "roc_auc" in row:
            assert row["roc_auc"] == pytest.approx(sk.roc_auc_score(own, column))
            assert row["average_precision"] == pytest.approx(sk.average_precision_score(own, column))


@draw_cases(40, scored(), scored_labels())
def test_class_metrics_equal_scikit_learn(one, several):
    labels, probabilities = one
    kinds = np.arange(probabilities.shape[1])
    true, said = (each[:, None] == kinds for each in (labels, probabilities.argmax(1)))
    assert_each(metrics.evaluate_classes(labels, probabilities, list("abcde"[: len(kinds)])), true, said, probabilities)
    labels, probabilities, thresholds = several
    names, said = list("abcde"[: labels.shape[1]]), probabilities > thresholds
    found = metrics.evaluate_classes(labels, probabilities, names, "multi", thresholds)
    assert_each(found, labels, said, probabilities)
    assert [row["threshold"] for row in found.values()] == pytest.approx(thresholds)
    matrices = sk.multilabel_confusion_matrix(labels, said).tolist()
    assert list(metrics.count_confusions(labels, probabilities, names, thresholds).values()) == matrices
