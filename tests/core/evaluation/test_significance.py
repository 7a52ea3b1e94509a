import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from studies import agrees, in_full

from core.evaluation.metrics import SingleLabelScores
from core.evaluation.significance import BOOTSTRAP, SWAPS, Draws, ScorePair, compare_classifiers, compute_swap_variance
from core.metrics import METRICS

FURTHER = in_full((2, 0.2), (3, 0.0), (5, 0.2))


def scores(correct):
    """Return predictions of two classes, with all rows in the first one, that are right where `correct` is true."""
    sure = np.where(correct, 0.9, 0.1)
    return SingleLabelScores(np.zeros(len(correct), int), np.stack([sure, 1 - sure], 1))


def make_pair(first, second):
    return ScorePair(scores(first), scores(second), first != second)


def accuracy(*pairs, draws=1000):
    """Compare classifiers over seeds 0, 1, … without folds."""
    return compare_classifiers({(seed, -1): pair for seed, pair in enumerate(pairs)}, Draws(METRICS["accuracy"], draws))


def test_paired_tests_find_differences_that_intervals_hide_but_none_of_equal_classifiers():
    worse = np.random.default_rng(0).random(1000) < 0.8
    better = worse | (np.arange(1000) % 25 == 0)  # equal except for some more correct rows
    found = accuracy(make_pair(better, worse))
    assert found.difference == pytest.approx(better.mean() - worse.mean()) and found.rows == 1000
    assert 0 < found.difference < 0.02 and found.significant and found.low is None
    assert accuracy(make_pair(worse | (np.arange(1000) % 15 == 0), worse)).low > 0
    low, high = accuracy(make_pair(np.arange(14) < 12, np.arange(14) >= 13)).compute_interval(1e-4)
    assert low < 0.7 and high == 1.0
    found = accuracy(make_pair(np.ones(12, bool), np.zeros(12, bool)))
    assert (found.difference, found.compute_interval(0.05), found.p) == (1.0, None, binomtest(12, 12).pvalue)
    one = np.arange(100) % 3 > 0
    found = accuracy(make_pair(one, one), make_pair(one, one))
    assert (found.difference, found.low, found.high, found.p, found.runs) == (0.0, None, None, 1.0, 2)
    random = np.random.default_rng(2)
    first, second = random.random(400) < 0.72, random.random(400) < 0.7
    one, many = accuracy(make_pair(first, second)), accuracy(*[make_pair(first, second)] * 5)
    assert (many.runs, many.rows) == (5, 400)
    assert (many.difference, many.high) == pytest.approx((one.difference, one.high))


@pytest.mark.parametrize(("differing", "told"), [(2, False), (9, False), (10, True)])
def test_fewer_than_ten_differing_rows_have_no_interval(differing, told):
    first = np.arange(60) % 3 > 0
    found = accuracy(make_pair(first, first ^ (np.arange(60) < differing)))
    assert (found.compute_interval(0.001) is not None) == told == (found.count_rows_needed(0.05) is not None)


@pytest.mark.slow
def test_intervals_widen_with_row_and_seed_variance():
    random = np.random.default_rng(1)
    first, second = random.random(2000) < 0.7, random.random(2000) < 0.7
    found = accuracy(make_pair(first, second))
    spread = (first.astype(float) - second).std() / math.sqrt(2000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.1)
    assert accuracy(make_pair(second, first)).low == pytest.approx(-found.high)
    base = np.arange(2000) % 10 > 2
    near, far = base.copy(), base.copy()
    near[:60], far[:600] = True, True
    alike = accuracy(*[make_pair(near, base)] * 3)
    apart = accuracy(make_pair(near, base), make_pair(far, base), make_pair(near, base))
    assert alike.significant and not apart.significant
    assert apart.high - apart.low > 5 * (alike.high - alike.low)


@pytest.mark.parametrize(("one", "other"), [(5, 0), (8, 1), (12, 3), (30, 12), (40, 38)])
def test_one_seed_is_not_more_significant_than_the_exact_test(one, other):
    first = np.array([True] * one + [False] * other + [True, False] * 50)
    second = np.array([False] * one + [True] * other + [True, False] * 50)
    exact = binomtest(one, one + other).pvalue
    assert exact / 1.3 - 0.01 < accuracy(make_pair(first, second)).p < exact + 0.06


def test_folds_are_resampled_separately_and_their_rows_add_up():
    random = np.random.default_rng(3)
    folds = {(0, fold): make_pair(random.random(300) < 0.7, random.random(300) < 0.7) for fold in range(4)}
    found = compare_classifiers(folds, Draws(METRICS["accuracy"]))
    alone = compare_classifiers({(0, 0): folds[0, 0]}, Draws(METRICS["accuracy"]))
    assert (found.runs, found.rows) == (4, 1200)
    assert found.high - found.low == pytest.approx((alone.high - alone.low) / 2, rel=0.15)


@pytest.mark.study
@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "between"), [(1, 0.0), (3, 0.2), *FURTHER])
def test_equally_good_models_are_significant_in_at_most_5_percent(studies, seeds, between):
    """Rows differ in difficulty for each procedure; seeds vary at random."""
    random, rows, count = np.random.default_rng(seeds), 200, studies(2000, few=300)

    def procedure(hard):
        own = hard + random.normal(0, 0.5, rows)
        return [own + random.normal(0, between) + random.normal(0, 0.7, rows) > 0 for _ in range(seeds)]

    compared = []
    for _ in range(count):
        hard = random.normal(1, 1, rows)
        pairs = [make_pair(*pair) for pair in zip(procedure(hard), procedure(hard), strict=True)]
        compared.append(accuracy(*pairs, draws=150))
    assert agrees(sum(each.significant for each in compared), count, 0.0)
    measured = [each for each in compared if each.measured]
    assert all(each.low <= each.difference <= each.high for each in measured)
    assert all(each.significant == (not each.low <= 0 <= each.high) for each in measured)


def answers(random, rows, shift=0.0):
    """Return predictions of two classes whose confidence exceeds the accuracy by `shift`."""
    confidence = random.uniform(0.55, 0.8, rows)
    right = random.random(rows) < confidence
    stated = np.clip(confidence + shift, 0.51, 0.99)
    return SingleLabelScores(np.zeros(rows, int), np.where(right, [stated, 1 - stated], [1 - stated, stated]).T)


def compared(first, second, seed=0):
    return compare_classifiers(
        {(0, -1): ScorePair(first, second, np.ones(len(first), bool))}, Draws(METRICS["ece"], 300, seed)
    )


@pytest.mark.parametrize("seeds", [1, 2])
def test_5_percent_of_swaps_exceed_the_normal_quantile(seeds):
    """All 1,024 swaps of 10 rows; each swaps a row in all seeds."""
    tables = np.random.default_rng(1).normal(0, 1, (2, seeds, 10, 3))

    def metric(side):
        return np.abs(side.mean(1)).sum(1).mean()

    all_swaps = [
        metric(np.where(swap, tables[1], tables[0])) - metric(np.where(swap, tables[0], tables[1]))
        for swap in (np.array(each)[:, None] for each in itertools.product([False, True], repeat=10))
    ]
    expected = np.quantile(np.abs(all_swaps), 0.95) / norm.isf(0.025)
    assert compute_swap_variance(*map(list, tables)) ** 0.5 == pytest.approx(expected, rel=0.06)


def test_swapping_models_changes_only_the_sign_and_keeps_over_and_underconfidence_apart():
    first, second = (answers(np.random.default_rng(seed), 200) for seed in (6, 7))
    one, other = compared(first, second), compared(second, first)
    assert one.p == pytest.approx(other.p) and one.difference == pytest.approx(-other.difference)
    found, error = compared(first, first), METRICS["ece"].measure(first, np.ones((1, 200)))[0]
    assert (found.difference, found.p, found.compute_interval(0.05)) == (0.0, 1.0, None)
    assert np.abs(METRICS["ece"].parts(first).mean(0)).sum() == pytest.approx(error), "the gaps add up to it"
    random = np.random.default_rng(3)
    sure, timid, other = (answers(random, 1500, shift) for shift in (0.1, -0.1, 0.1))
    assert compute_swap_variance(*([METRICS["ece"].parts(each)] for each in (sure, timid))) is None
    assert (compared(sure, timid).test, compared(sure, other).test) == (BOOTSTRAP, SWAPS)


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_the_interval_excludes_0_exactly_if_p_is_below_alpha(shift, alpha):
    random = np.random.default_rng(4)
    for seed in range(6):
        found = compared(answers(random, 120), answers(random, 120, shift), seed)
        low, high = found.compute_interval(alpha)
        assert low < found.difference < high and (found.p < alpha) == (not low <= 0 <= high)
