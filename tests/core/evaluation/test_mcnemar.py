"""McNemar's exact test against SciPy and statsmodels; its interval and its plan against the test itself."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from studies import agrees

from core.evaluation.mcnemar import McNemar

COUNTS = [(0, 0), (1, 0), (5, 0), (6, 0), (12, 3), (3, 12), (30, 12), (161, 101), (40, 40), (1200, 1000)]


@pytest.mark.parametrize(("first", "second"), COUNTS)
def test_p_is_that_of_scipy(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert McNemar(first, second, 5000).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), COUNTS[1:])
def test_p_is_that_of_statsmodels(first, second):
    from statsmodels.stats.contingency_tables import mcnemar  # slow to import

    found = mcnemar([[2000, first], [second, 100]], exact=True)
    assert McNemar(first, second, 5000).p == pytest.approx(found.pvalue, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.05 / 6, 0.001])
def test_the_interval_leaves_out_0_exactly_where_p_is_below_its_level(alpha):
    random = np.random.default_rng(0)
    for apart in (*range(25), 60, 150, 400):
        for first in {0, apart, *random.integers(0, apart + 1, 6).tolist(), apart * 2 // 3}:
            found = McNemar(int(first), int(apart - first), 500)
            low, high = found.interval(alpha)
            assert low <= found.difference <= high
            assert (found.p < alpha) == (not low <= 0 <= high), found


def test_of_many_rows_the_interval_is_nearly_walds_and_never_narrower():
    low, high = McNemar(120, 80, 1000).interval(0.05)
    half = norm.isf(0.025) * math.sqrt(200 - 40**2 / 1000) / 1000
    assert (low, high) == pytest.approx((0.04 - half, 0.04 + half), abs=0.0025)
    assert high - low >= 2 * half


def test_swapping_the_two_mirrors_everything():
    one, other = McNemar(30, 12, 400), McNemar(12, 30, 400)
    assert one.p == other.p and one.difference == -other.difference and one.effect == -other.effect
    assert one.interval(0.05) == pytest.approx(tuple(-end for end in reversed(other.interval(0.05))))
    assert one.rows_needed(0.05) == other.rows_needed(0.05)


def test_two_that_never_differ_are_bounded_by_their_rows():
    """Score interval of a share of 0: z² / (n + z²)."""
    z2 = norm.isf(0.025) ** 2
    assert McNemar(0, 0, 1000).interval(0.05)[1] == pytest.approx(z2 / (1000 + z2))
    assert McNemar(0, 0, 1000).rows_needed(0.05) is None


def test_one_that_is_always_right_against_one_that_never_is():
    assert McNemar(10, 0, 10).interval(0.05)[1] == 1.0
    assert McNemar(0, 10, 10).interval(0.05)[0] == -1.0
    assert McNemar(0, 0, 0).interval(0.05) == (-1.0, 1.0)


def test_cohens_g():
    assert McNemar(161, 101, 3202).effect == pytest.approx(161 / 262 - 0.5)
    assert McNemar(0, 0, 10).effect == 0.0


def test_rows_needed_without_continuity_is_connors_formula():
    """Connor (1987) with δ = 0.1 and ψ = 0.3; the continuity adds about 2 / δ."""
    psi, delta = 0.3, 0.1
    plain = ((norm.isf(0.025) * math.sqrt(psi) + norm.isf(0.2) * math.sqrt(psi - delta**2)) / delta) ** 2
    assert plain < McNemar(200, 100, 1000).rows_needed(0.05) < plain + 1.1 * 2 / delta


@pytest.mark.study
@pytest.mark.parametrize(("first", "second"), [(0.05, 0.03), (0.2, 0.1), (0.0425, 0.0334), (0.1, 0.05)])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_with_the_rows_needed_a_difference_is_found_in_80_percent_of_studies(studies, first, second, alpha):
    rows = McNemar(round(first * 1e6), round(second * 1e6), 10**6).rows_needed(alpha)
    count, chances = studies(4000), [first, second, 1 - first - second]
    drawn = np.random.default_rng(0).multinomial(rows, chances, count)
    assert agrees(sum(McNemar(int(b), int(c), rows).p < alpha for b, c, _ in drawn), count, 0.795, 0.82)


@pytest.mark.study
@pytest.mark.parametrize(
    ("rows", "first", "second"), [(50, 0.3, 0.1), (200, 0.1, 0.1), (1000, 0.05, 0.03), (1000, 0.4, 0.0005)]
)
def test_the_interval_misses_the_true_difference_in_5_percent_of_studies_at_most(studies, rows, first, second):
    count, chances = studies(2000), [first, second, 1 - first - second]
    drawn = np.random.default_rng(1).multinomial(rows, chances, count)
    intervals = [McNemar(int(b), int(c), rows).interval(0.05) for b, c, _ in drawn]
    assert agrees(sum(not low <= first - second <= high for low, high in intervals), count, 0.0)
