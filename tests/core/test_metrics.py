import numpy as np
import pytest

from core.evaluation.intervals import compute_intervals
from core.evaluation.metrics import build_scores, evaluate
from core.metrics import METRICS, Metric, format_title, list_metrics, select_metrics, select_thresholded

ONE = np.array([0, 1, 1]), np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
SEVERAL = np.array([[1, 0], [1, 1]]), np.array([[0.9, 0.2], [0.4, 0.8]])


@pytest.fixture
def boldness(monkeypatch):
    measure = lambda scores, weights: scores.compute_mean(scores.probabilities.max(1), weights)  # noqa: E731
    monkeypatch.setitem(METRICS, "boldness", Metric("boldness", "Boldness", measure, "probabilities"))


@pytest.mark.parametrize(("task", "rows", "value"), [("single", ONE, 1.8 / 3), ("multi", SEVERAL, 1.7 / 2)])
def test_a_new_metric_is_measured_with_its_interval_in_both_tasks(boldness, task, rows, value):
    assert evaluate(*rows, task)["boldness"] == pytest.approx(value)
    low, high = compute_intervals(*rows, task)["boldness"]
    assert low <= value <= high


def test_a_new_metric_can_be_compared_in_sweeps(boldness):
    assert "boldness" in list_metrics() and "tuned.boldness" not in list_metrics()
    assert format_title("boldness") == "Boldness"


def test_metrics_depend_only_on_what_they_declare():
    labels, probabilities = SEVERAL
    half, low = (evaluate(labels, probabilities, "multi", limit) for limit in (0.5, 0.1))
    assert {name for name in half if half[name] != low[name]} <= set(select_thresholded())
    others = {name for name, metric in select_metrics("multi").items() if metric.reads != "answers"}
    assert others == {"roc_auc_macro", "average_precision", "loss", "brier"}
    # Small changes of probabilities keep the answers; halving all of them keeps the ranks.
    labels = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    probabilities = np.array([[0.9, 0.2], [0.1, 0.8], [0.7, 0.6], [0.3, 0.4]])
    moved = (probabilities * 2 + 0.5) / 3
    once = np.ones((1, 4))
    for name, metric in select_metrics("multi").items():
        before, after = (metric.measure(build_scores(labels, x, "multi"), once)[0] for x in (probabilities, moved))
        assert (before != after) == (metric.reads == "probabilities"), name


def test_better_is_the_direction_of_a_perfect_classifier():
    labels = np.array([0, 1, 2, 0])
    perfect, hopeless = (evaluate(labels, np.eye(3)[each], ordered=True) for each in (labels, 2 - labels[[1, 0, 3, 2]]))
    for name, metric in select_metrics("single", ordered=True).items():
        assert (perfect[name] > hopeless[name]) == (metric.better == "higher"), name
