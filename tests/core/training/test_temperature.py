import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax, softmax

from core.exceptions import DataError
from core.training.temperature import (
    ABSENT,
    LARGEST,
    LEAST,
    UNSCALED,
    Scaling,
    as_trained,
    compute_class_prior,
    fit_scaling,
    fit_temperature,
)

GRID = np.exp(np.linspace(-1.5, 1.5, 601))  # in steps of 0.005
KINDS = ["two classes", "five classes", "several labels"]


def draw_logits(rows, classes, *, too_sure, seed=0):
    random = np.random.default_rng(seed)
    logits = 2 * random.standard_normal((rows, classes))
    return too_sure * logits, (softmax(logits, 1).cumsum(1) < random.random((rows, 1))).sum(1).clip(max=classes - 1)


def draw_multi_label(rows, too_sure, seed=0):
    random = np.random.default_rng(seed)
    logits = 2 * random.standard_normal((rows, 3))
    return too_sure * logits, (random.random((rows, 3)) < expit(logits)).astype(float)


def cross_entropy(logits, labels, temperature, prior=None):
    """Return the mean cross-entropy over rows (and labels) with Platt's targets (n + 1) / (n + C)."""
    n, cooled = len(labels), logits / temperature
    if prior is not None:
        cooled = cooled + (1 - 1 / temperature) * np.log(prior if labels.ndim == 1 else prior / (1 - prior))
    if labels.ndim == 2:
        target = (n * labels + 1) / (n + 2)
        return -(target * log_expit(cooled) + (1 - target) * log_expit(-cooled)).mean()
    target = (n * np.eye(logits.shape[1])[labels] + 1) / (n + logits.shape[1])
    return -(target * log_softmax(cooled, 1)).sum(1).mean()


def draw_case(kind, too_sure):
    return {
        "two classes": lambda: draw_logits(900, 2, too_sure=too_sure),
        "several labels": lambda: draw_multi_label(600, too_sure),
    }.get(kind, lambda: draw_logits(900, 5, too_sure=too_sure))()


@pytest.mark.slow
@pytest.mark.parametrize("too_sure", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_temperature_is_optimal_on_a_fine_grid_also_with_a_prior(kind, too_sure):
    """Logits minus those of the prior are `too_sure` times too large."""
    given = draw_case(kind, too_sure)
    random, several_labels = np.random.default_rng(3), kind == "several labels"
    classes = {"two classes": 2, "five classes": 5}.get(kind, 3)
    prior = np.array([0.9, 0.3, 0.05]) if several_labels else np.arange(1, classes + 1) ** 2 / 5.0
    prior = prior if several_labels else prior / prior.sum()
    odds = np.log(prior / (1 - prior) if several_labels else prior)
    evidence, draws = 1.5 * random.standard_normal((2000, classes)), random.random((2000, classes))
    if several_labels:
        labels = (draws < expit(odds + evidence)).astype(float)
    else:
        labels = (softmax(odds + evidence, 1).cumsum(1) < draws[:, :1]).sum(1).clip(max=classes - 1)
    for about in ((*given, None), (odds + too_sure * evidence, labels, prior)):
        found = fit_temperature(*about[:2], () if about[2] is None else prior)
        best = GRID[np.argmin([cross_entropy(*about[:2], each, about[2]) for each in GRID])]
        assert found == pytest.approx(best, rel=5e-3) and found == pytest.approx(too_sure, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_uniform_prior_has_no_effect(kind):
    logits, labels = draw_case(kind, 2.0)
    alike = np.full(logits.shape[1], 0.5 if labels.ndim == 2 else 1 / logits.shape[1])
    assert fit_temperature(logits, labels, alike) == pytest.approx(fit_temperature(logits, labels), rel=1e-4)


def test_the_class_prior_is_smoothed_and_the_temperature_of_correct_predictions_positive():
    assert compute_class_prior(np.array([0, 2, 2, 2, 2]), 4) == pytest.approx((2 / 9, 1 / 9, 5 / 9, 1 / 9))
    assert compute_class_prior(np.array([[1, 0, 0], [1, 0, 1]]), 3) == pytest.approx((3 / 4, 1 / 4, 2 / 4))
    assert compute_class_prior(np.zeros(0, int), 2) == (0.5, 0.5)
    # Each row's optimal log-odds are log((n + 1) / 1), its own are 2 / T.
    labels = np.tile([0, 1], 100)
    logits = np.where(labels[:, None] == [0, 1], 1.0, -1.0)
    assert fit_temperature(logits, labels) == pytest.approx(2 / np.log(201), rel=1e-3)
    logits = np.random.default_rng(0).standard_normal((400, 2))
    assert fit_temperature(logits, 1 - logits.argmax(1)) == pytest.approx(LARGEST, rel=1e-3), "all are wrong"


def test_absent_classes_do_not_affect_the_temperature_and_few_rows_give_one():
    logits, labels = draw_logits(600, 3, too_sure=2.0)
    more = np.column_stack([logits, np.full(600, ABSENT)])
    rows = np.where(np.arange(600) < 30, 3, labels)
    assert fit_temperature(more, rows) == pytest.approx(fit_temperature(logits[30:], labels[30:]), rel=1e-6)
    with pytest.raises(DataError, match="no class of the training split"):
        fit_temperature(more, np.full(600, 3))
    assert fit_scaling(more, np.full(600, 3)) == UNSCALED
    prior = compute_class_prior(rows[rows < 3], 4)
    alone = fit_temperature(logits[30:], labels[30:], np.array(prior[:3]))
    assert fit_temperature(more, rows, prior) == pytest.approx(alone, rel=1e-6)
    logits, labels = draw_logits(LEAST, 2, too_sure=3.0)
    assert fit_scaling(logits[1:], labels[1:], (0.3, 0.7)) == Scaling(1.0, (0.3, 0.7))
    assert fit_scaling(logits, labels).temperature == fit_temperature(logits, labels) > 1.5
    assert fit_scaling(np.zeros((0, 2)), np.zeros(0, int)) == UNSCALED


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_unscaled_probabilities_are_recovered_from_stored_ones(temperature):
    logits = np.random.default_rng(2).standard_normal((300, 3)) * 3
    for task, of, apart in (("single", lambda x: softmax(x, 1), 1e-6), ("multi", expit, 6e-3)):
        kept = of(logits / temperature).astype(np.float32)
        np.testing.assert_allclose(as_trained(kept, Scaling(temperature), task), of(logits), atol=apart)
        prior = np.array([0.2, 0.3, 0.5])
        odds = np.log(prior / (1 - prior) if task == "multi" else prior)
        kept = of(logits / temperature + (1 - 1 / temperature) * odds).astype(np.float32)
        found = as_trained(kept, Scaling(temperature, tuple(prior)), task)
        # Near 1, float32 loses more with a temperature below 1 and a prior above a half.
        np.testing.assert_allclose(found, of(logits), atol=max(apart, 2e-2 if task == "multi" else 0))
