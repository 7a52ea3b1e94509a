"""TF-IDF mixed with a network: the formula, and the weight fitted on validation."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from core.evaluation.inference import EnsembleLogits, blend_logits, evaluate_parts, find_weight
from core.evaluation.metrics import evaluate
from core.training.temperature import ABSENT

CHANCE = {"single": lambda logits: softmax(logits, -1), "multi": expit}


def drawn(task, rows=300, noise=(1.0, 1.5)):
    """Return logits of two models that each know some of the labels, and the labels."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, rows) if task == "single" else random.integers(0, 2, (rows, 3))
    truth = 2.0 * (np.eye(3)[labels] if task == "single" else 2 * labels - 1)
    return EnsembleLogits(*(truth + random.normal(0, 2 * each, truth.shape) for each in noise)), labels


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_mixtures_are_weighted_means_of_probabilities(task, weight):
    parts, _ = drawn(task)
    chance = CHANCE[task]
    expected = weight * chance(parts.network) + (1 - weight) * chance(parts.tfidf)
    np.testing.assert_allclose(chance(blend_logits(parts, weight, task)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_temperature_scales_the_mixture(temperature):
    parts, _ = drawn("single")
    together = 0.4 * softmax(parts.network, -1) + 0.6 * softmax(parts.tfidf, -1)
    expected = together ** (1 / temperature)
    found = softmax(blend_logits(parts, 0.4, "single") / temperature, -1)
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), atol=1e-14)


def test_classes_unknown_to_tfidf_keep_the_network_share():
    parts = EnsembleLogits(np.zeros((1, 2)), np.array([[0.0, ABSENT]]))
    np.testing.assert_allclose(softmax(blend_logits(parts, 0.5, "single"), -1), [[0.75, 0.25]])


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("noise", [(1.0, 1.5), (2.0, 1.0), (1.3, 1.3)])
def test_the_weight_equals_a_grid_search(task, noise):
    parts, labels = drawn(task, noise=noise)
    grid = np.linspace(0, 1, 1001)
    true = np.eye(3)[labels] == 1 if task == "single" else labels == 1
    chances = [CHANCE[task](each) for each in parts]
    ours, theirs = (each[true] if task == "single" else np.where(true, each, 1 - each) for each in chances)
    losses = [-np.log(each * ours + (1 - each) * theirs).mean() for each in grid]
    found = find_weight(parts, labels, task)
    assert abs(found - grid[np.argmin(losses)]) <= 0.001
    assert 0.05 < found < 0.95, "a case in which both count"


@pytest.mark.parametrize(("good", "weight"), [("network", 1.0), ("tfidf", 0.0)])
def test_harmful_models_get_weight_zero(good, weight):
    labels = np.arange(40) % 2
    right = 6.0 * np.eye(2)[labels]
    parts = EnsembleLogits(**{"network": -right, "tfidf": -right, good: right})
    assert find_weight(parts, labels, "single") == weight


@pytest.mark.parametrize("task", ["single", "multi"])
def test_each_model_has_its_own_metrics(task):
    parts, labels = drawn(task)
    found = evaluate_parts(parts, labels, task)
    for name, logits in parts._asdict().items():
        assert found[name] == pytest.approx(evaluate(labels, CHANCE[task](logits), task), abs=1e-6)
