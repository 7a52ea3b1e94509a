"""The verdict on two methods: scipy's permutation test, its size under random orders, ties, and too few words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, permutation_test, spearmanr

from core.interpret import rank_test
from core.interpret.rank_test import LEVEL, RankTest, compare_ranks


def exact(first, second):
    """The two-sided p-value of scipy, over all orders or so many drawn ones."""
    return permutation_test(
        (first,),
        lambda x: spearmanr(x, second).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
        vectorized=False,
    ).pvalue


def by_scipy(first, second, orders):
    """The same over drawn orders, from one matrix product."""
    second = np.argsort(np.argsort(second)).astype(float)
    return permutation_test(
        (np.argsort(np.argsort(first)).astype(float),),
        lambda x, axis: x @ second,
        permutation_type="pairings",
        n_resamples=orders,
        vectorized=True,
        rng=1,
    ).pvalue


A = np.array([0.3, -1.2, 2.2, 0.1, 0.9, -0.4, 1.4, 0.0])
B = np.array([0.1, -0.9, 1.0, 0.3, 0.2, -1.0, 0.8, 0.4])


@pytest.mark.slow
@pytest.mark.parametrize("second", [B, -B, np.roll(A, 2)], ids=["alike", "opposite", "neither"])
def test_of_eight_words_all_orders_are_tried(second):
    found = compare_ranks(A, second)
    assert found.p == pytest.approx(by_scipy(A, second, np.inf), abs=1e-12)
    assert found.rho == pytest.approx(spearmanr(A, second).statistic)


@pytest.mark.slow
def test_ties_have_their_mean_rank_and_the_exact_p_value(monkeypatch):
    first, second = np.array([2.0, 2, 0, 1, 5]), np.array([1.0, 1, 1, 0, 3])
    monkeypatch.setattr(rank_test, "LEAST", 5)
    rank_test._every_order.cache_clear()
    try:
        assert compare_ranks(first, second).p == pytest.approx(exact(first, second), abs=1e-12)
    finally:
        rank_test._every_order.cache_clear()


def test_of_more_words_random_orders_come_as_near_as_their_number_allows():
    random = np.random.default_rng(6)
    first = random.normal(size=13)
    second = 0.5 * first + random.normal(size=13)
    found, near = compare_ranks(first, second), by_scipy(first, second, 40_000)
    assert found.p == pytest.approx(near, abs=4 * np.sqrt(near * (1 - near) / 10_000)) and 0.01 < near < 0.5
    assert found == compare_ranks(first, second), "the same seed, the same p-value"


def test_verdicts_and_their_sentences():
    eight, twelve = np.arange(8.0), np.arange(12.0)
    assert compare_ranks(eight, eight).describe("attention", "deletion") == (
        "attention and deletion agree (ρ = 1.00, p < 0.001, 8 words)"
    )
    assert compare_ranks(twelve, -twelve).verdict == "disagree"
    assert (
        compare_ranks(A, np.roll(A, 2)).describe("attention", "deletion").startswith("attention and deletion: inconcl")
    )
    few = compare_ranks(eight[:7], eight[:7])
    assert few == RankTest(7, 1.0) and few.verdict is None
    assert few.describe("a", "b") == "a and b: no verdict below 8 words"
    assert compare_ranks(eight, np.ones(8)).describe("a", "b").endswith("one gives all words the same number")


@pytest.mark.slow
@pytest.mark.parametrize("words", [8, 12])
def test_of_random_orders_no_more_than_the_level_get_a_verdict(words):
    random, studies = np.random.default_rng(words), 400
    order = np.arange(float(words))
    verdicts = [compare_ranks(order, random.permutation(words)).verdict for _ in range(studies)]
    judged = sum(each != "inconclusive" for each in verdicts)
    assert binom.sf(judged - 1, studies, LEVEL) > 0.001, f"{judged} of {studies}"
    assert judged, "a test that never decides says nothing"
