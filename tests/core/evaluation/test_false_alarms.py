"""Simulated studies: false positives of each test, and power with the rows needed."""

import itertools

import numpy as np
import pytest
from studies import CLASSES, agrees, all_apart, both, in_full, models

from core.evaluation.comparison import apply_holm, run_test
from core.evaluation.metrics import SingleLabelScores
from core.evaluation.significance import Draws, compare_classifiers, compute_swap_variance
from core.metrics import METRICS

pytestmark = [pytest.mark.study, pytest.mark.slow]
"""One metric per computation: class counts, a mean over rows, swaps, ranks."""
LIKE_THEM = in_full("brier", "precision_weighted", "mae", "quadratic_kappa", "average_precision")


@pytest.mark.parametrize(("rows", "least", "most"), [(200, 0.02, 0.04), (1000, 0.03, 0.05)])
def test_mcnemar_is_conservative_and_less_with_more_rows(studies, rows, least, most):
    random, count = np.random.default_rng(rows), studies(2000)
    ps = [run_test({(0, -1): both(*models(random, rows))}, METRICS["accuracy"]).p for _ in range(count)]
    assert agrees(sum(p < 0.05 for p in ps), count, least, most)


@pytest.mark.parametrize("metric", ["f1_macro", "loss", "ece", "roc_auc", *LIKE_THEM])
def test_other_metrics_have_4_to_5_percent_false_positives(studies, metric):
    random, count = np.random.default_rng(7), studies(2000)
    ps = [
        run_test({(0, -1): all_apart(*models(random, 400))}, METRICS[metric], Draws(METRICS[metric], 200, seed)).p
        for seed in range(count)
    ]
    assert agrees(sum(p < 0.05 for p in ps), count, 0.04)


@pytest.mark.parametrize("rows", [26, 45])
def test_f1_intervals_with_few_differing_rows_exclude_0_in_5_percent(studies, rows):
    """Studies with the ten rows or more that an interval needs."""
    random, count = np.random.default_rng(rows), studies(2000)
    pairs = (both(*models(random, rows)) for _ in range(count))
    found = [compare_classifiers({(0, -1): pair}, Draws(METRICS["f1_macro"], 200, n)) for n, pair in enumerate(pairs)]
    measured = [each for each in found if each.measured]
    assert agrees(sum(not each.low <= 0 <= each.high for each in measured), len(measured), 0.035)


def with_scales(random, rows, *scales):
    """Return calibrated models with scaled logits."""
    labels = random.integers(0, CLASSES, rows)
    drawn = []
    for scale in scales:
        odds = np.exp(1.2 * scale * (random.normal(0, 1, (rows, CLASSES)) + 1.2 * np.eye(CLASSES)[labels]))
        drawn.append(SingleLabelScores(labels, odds / odds.sum(1, keepdims=True)))
    return drawn


@pytest.mark.parametrize("scale", [1.0, *in_full(1.25, 1.8)])
def test_equal_calibration_errors_have_5_percent_false_positives(studies, scale):
    """Both calibrated, or equally overconfident: 8,000 studies, as swaps are fast."""
    random, parts, count, called = np.random.default_rng(3), METRICS["ece"].parts, studies(8000), 0
    for seed in range(count):
        tables = [parts(each) for each in with_scales(random, 400, scale, scale)]
        first, second = (np.abs(each.mean(0)).sum() for each in tables)
        variance = compute_swap_variance(tables[:1], tables[1:], seed)
        called += variance is not None and abs(first - second) > 1.96 * variance**0.5
    assert agrees(called, count, 0.04, 0.055)


def test_over_and_underconfident_models_have_5_percent_false_positives(studies):
    """Swaps would give 8 to 11 % false positives; rows are resampled instead."""
    random, count = np.random.default_rng(3), studies(2000)
    pairs = (all_apart(*with_scales(random, 400, 1.8, 0.5846)) for _ in range(count))
    ps = [compare_classifiers({(0, -1): pair}, Draws(METRICS["ece"], 200, seed)).p for seed, pair in enumerate(pairs)]
    assert agrees(sum(p < 0.05 for p in ps), count, 0.04, 0.06)


@pytest.mark.parametrize("metric", ["accuracy", *in_full("f1_macro")])
def test_holm_keeps_family_errors_at_5_percent(studies, metric):
    random, wrong, count = np.random.default_rng(11), 0, studies(2000)
    for seed in range(count):
        several = models(random, 400, several=4)
        draws = Draws(METRICS[metric], 200, seed)
        draws.resample_scores(several)
        ps = [run_test({(0, -1): both(a, b)}, METRICS[metric], draws).p for a, b in itertools.combinations(several, 2)]
        wrong += min(step.p for step in apply_holm(ps)) < 0.05
    assert agrees(wrong, count, 0.0)


def make_pair(random, rows, metric, kept):
    """The second model is less confident (Brier score), or predicts another class in some rows."""
    first, second = models(random, rows)
    if metric == "brier":
        return all_apart(first, SingleLabelScores(second.labels, kept * second.probabilities + (1 - kept) / CLASSES))
    chances, other = second.probabilities.copy(), random.random(rows) >= kept
    chances[other] = np.roll(chances[other], 1, 1)
    return both(first, SingleLabelScores(second.labels, chances))


@pytest.mark.parametrize(
    ("metric", "kept"),
    [("brier", 0.3), ("f1_macro", 0.8), *in_full(("brier", 0.15), ("brier", 0.4), ("f1_macro", 0.6))],
)
def test_rows_needed_give_the_bootstrap_80_percent_power(studies, metric, kept):
    random, of, count = np.random.default_rng(5), METRICS[metric], studies(400, few=100)
    rows = run_test({(0, -1): make_pair(random, 60_000, metric, kept)}, of, Draws(of, 50)).count_rows_needed(0.05)
    ps = [run_test({(0, -1): make_pair(random, rows, metric, kept)}, of, Draws(of, 200, n)).p for n in range(count)]
    assert agrees(sum(p < 0.05 for p in ps), count, 0.79, 0.83), rows
