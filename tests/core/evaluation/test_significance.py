"""Tests of a difference against closed values."""

import math

import numpy as np
import pytest

from core.evaluation import weighted
from core.evaluation.significance import mcnemar, paired_bootstrap, wilcoxon
from core.exceptions import InputError


def test_wilcoxon_of_ten_pairs_with_one_sign_is_two_of_all_signs():
    assert wilcoxon(np.arange(1, 11) / 100).p == pytest.approx(2 / 2**10) == 0.001953125
    assert wilcoxon(-np.arange(1, 11) / 100).p == 0.001953125


def test_wilcoxon_with_a_rank_sum_of_two_counts_the_three_sums_up_to_it():
    differences = np.arange(1, 11) / 100
    differences[1] *= -1  # rank 2 alone is negative; sums of at most 2: {}, {1}, {2}
    assert wilcoxon(differences).p == pytest.approx(2 * 3 / 2**10) == 0.005859375


def test_wilcoxon_of_equal_runs_finds_nothing():
    found = wilcoxon([0.0] * 6)
    assert (found.p, found.n, found.significant) == (1.0, 6, False)


def test_wilcoxon_with_too_few_pairs_to_find_anything_is_refused():
    with pytest.raises(InputError, match="5 pairs"):
        wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5])
    assert wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).p == 2 / 2**6


@pytest.mark.parametrize(("one", "other"), [(8, 1), (5, 5), (0, 6), (30, 12)])
def test_mcnemar_is_the_binomial_test_of_the_rows_on_which_they_differ(one, other):
    first = np.array([True] * one + [False] * other + [True, False] * 7)
    second = np.array([False] * one + [True] * other + [True, False] * 7)
    tail = sum(math.comb(one + other, k) for k in range(min(one, other) + 1)) / 2 ** (one + other)
    found = mcnemar(first, second)
    assert found.p == pytest.approx(min(1.0, 2 * tail), rel=1e-9) and found.n == one + other + 14


def test_mcnemar_of_classifiers_that_never_differ_is_1():
    same = np.array([True, False, True])
    assert mcnemar(same, same).p == 1.0


def test_mcnemar_of_other_rows_is_refused():
    with pytest.raises(InputError, match="3 and 2 rows"):
        mcnemar(np.ones(3, bool), np.ones(2, bool))


def scores(correct):
    """Two classes, all rows of the first; the most probable class is right where `correct` says so."""
    sure = np.where(correct, 0.9, 0.1)
    return weighted.Scores(np.zeros(len(correct), int), np.stack([sure, 1 - sure], 1))


def test_the_paired_bootstrap_sees_a_difference_that_each_interval_alone_would_hide():
    worse = np.random.default_rng(0).random(1000) < 0.8
    better = worse | (np.arange(1000) % 50 == 0)  # the same but for some rows more
    found = paired_bootstrap(scores(better), scores(worse), weighted.accuracy, 1000)
    difference = better.mean() - worse.mean()
    assert 0 < difference < 0.01 and found.significant and found.low <= difference <= found.high and found.low >= 0


def test_the_paired_bootstrap_of_one_classifier_with_itself_finds_nothing():
    one = scores(np.arange(100) % 3 > 0)
    found = paired_bootstrap(one, one, weighted.accuracy, 100)
    assert (found.p, found.low, found.high) == (1.0, 0.0, 0.0)


def test_the_width_of_the_paired_bootstrap_is_that_of_the_differences_of_rows():
    random = np.random.default_rng(1)
    first, second = random.random(2000) < 0.7, random.random(2000) < 0.7
    found = paired_bootstrap(scores(first), scores(second), weighted.accuracy, 2000)
    spread = (first.astype(float) - second).std() / math.sqrt(2000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.1)
    assert paired_bootstrap(scores(second), scores(first), weighted.accuracy, 2000).low == pytest.approx(-found.high)
