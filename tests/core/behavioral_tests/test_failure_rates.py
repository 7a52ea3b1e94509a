"""Failure rates and their intervals, against closed formulas, scipy and simulation."""

import numpy as np
import pytest
from scipy import stats

from core.behavioral_tests.report import count_consistent, count_failures, estimate_agreement, judge_interval


def marks(failed, n, template="t"):
    """Return n cases of a template, of which the first ones fail."""
    return [(template, number >= failed) for number in range(n)]


@pytest.mark.parametrize(("failed", "n"), [(0, 12), (3, 40), (40, 40)])
def test_with_zero_agreement_the_interval_is_wilsons(failed, n):
    wilson = stats.binomtest(failed, n).proportion_ci(method="wilson")
    found = count_failures(marks(failed, n))
    assert (found.total, found.n, found.rate) == (failed, n, failed / n)
    assert found.compute_interval(0.0) == pytest.approx((wilson.low, wilson.high))


def test_fully_dependent_sentences_count_as_one():
    found = count_failures(marks(10, 10, "a") + marks(0, 10, "b"))
    assert found.compute_effective_n(1.0) == pytest.approx(2)
    wilson = stats.binomtest(1, 2).proportion_ci(method="wilson")
    assert found.compute_interval(1.0) == pytest.approx((wilson.low, wilson.high))
    alone = count_failures([(str(number), number > 2) for number in range(9)])
    assert alone.compute_effective_n(1.0) == pytest.approx(9), "a sentence each is independent"
    found = count_failures([("a", None), ("a", False), ("b", True)])
    assert (found.n, found.total) == (2, 1)
    assert count_failures([("a", None)]).compute_interval(0.0) == (0.0, 1.0)


def test_agreement_equals_the_analysis_of_variance_within_capabilities():
    random = np.random.default_rng(3)
    rows = random.random((8, 5)) < random.beta(1, 1, (8, 1))
    f = stats.f_oneway(*rows.astype(float)).statistic
    pairs = [(str(number), not failed) for number, row in enumerate(rows) for failed in row]
    assert estimate_agreement([count_failures(pairs)]) == pytest.approx((f - 1) / (f + 4))
    one = count_failures([pair for number in range(6) for pair in marks(2, 5, f"a{number}")])
    two = count_failures([pair for number in range(6) for pair in marks(3, 5, f"b{number}")])
    assert estimate_agreement([one, two]) == 0.0


@pytest.mark.parametrize("found", [[], [("a", True), ("b", False)], marks(0, 5, "a") + marks(0, 5, "b")])
def test_agreement_is_one_if_it_cannot_be_estimated(found):
    assert estimate_agreement([count_failures(found)]) == 1.0


@pytest.mark.slow
def test_intervals_have_their_coverage_for_different_templates():
    """800 suites of 20 templates with 4 sentences each, whose rates follow Beta(0.6, 1.4): mean 0.3, ρ = 1/3."""
    random, held = np.random.default_rng(0), []
    for _ in range(800):
        counts = random.binomial(4, random.beta(0.6, 1.4, 20))
        pairs = [pair for number, failed in enumerate(counts) for pair in marks(failed, 4, str(number))]
        found = count_failures(pairs)
        low, high = found.compute_interval(estimate_agreement([found]))
        held.append(low <= 0.3 <= high)
    assert 0.93 < np.mean(held) < 0.975


def test_verdicts_need_the_whole_interval_and_contrast_sets_all_cases():
    assert [judge_interval(each) for each in ((0.31, 0.9), (0.0, 0.29), (0.2, 0.4))] == ["fails", "passes", "open"]
    marked = [("a", True), ("a", True), ("b", True), ("b", False), ("", False), ("c", None)]
    assert count_consistent(marked) == (2, 1)
