"""Differences of failure rates: Newcombe's interval, a p-value that agrees with it, Holm's correction."""

import math

import numpy as np
import pytest
from scipy import stats

from core.behavioral_tests.report import build_report, compare_failures
from core.behavioral_tests.suite import Suite, SuiteCase, SuiteTest
from core.behavioral_tests.suite_predictions import judge_cases


def test_with_many_cases_it_equals_the_paired_normal_approximation():
    random = np.random.default_rng(1)
    first = random.random(4000) < 0.6
    second = np.where(random.random(4000) < 0.7, first, random.random(4000) < 0.55)
    found = compare_failures(list(~first), list(~second), [str(n) for n in range(4000)], 0.0)
    low, high = found.compute_interval(0.05)
    paired = first.astype(float) - second
    error = paired.std() / math.sqrt(4000)
    assert found.difference == pytest.approx(paired.mean())
    assert (low, high) == pytest.approx((paired.mean() - 1.96 * error, paired.mean() + 1.96 * error), abs=1e-3)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(paired.mean()) / error), rel=0.15)


def test_differences_change_sign_with_the_order_of_runs():
    first, second, templates = [True, False, False, None], [True, True, False, True], list("abcd")
    one, back = compare_failures(first, second, templates, 0.0), compare_failures(second, first, templates, 0.0)
    low, high = one.compute_interval(0.05)
    assert one.difference == pytest.approx(1 / 3) and one.p == pytest.approx(back.p)
    assert (back.difference, *back.compute_interval(0.05)) == pytest.approx((-1 / 3, -high, -low))
    same = compare_failures(first, first, templates, 0.0)
    assert (same.difference, same.p) == (0, 1) and same.compute_interval(0.05)[0] <= 0 <= same.compute_interval(0.05)[1]
    assert compare_failures([None], [True], ["a"], 0.0) is None


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 7, 0.05 / 48])
def test_the_interval_excludes_0_exactly_if_p_is_below_its_level(alpha):
    random = np.random.default_rng(2)
    for _ in range(80):
        cases = int(random.integers(2, 60))
        one, two = (list(random.random(cases) < share) for share in random.random(2))
        found = compare_failures(one, two, [str(n // 3) for n in range(cases)], random.choice([0.0, 0.4, 1.0]))
        low, high = found.compute_interval(alpha)
        assert low <= found.difference <= high and (found.p < alpha) == (not low <= 0 <= high)


def make_result(name, suite, failed):
    """Return a run that fails the first `failed` cases of each test."""
    wrong = {case.texts[0] for test, most in zip(suite.tests, failed, strict=True) for case in test.cases[:most]}
    sides = {"bad": "negative", "good": "positive"}
    return judge_cases(
        name, suite, sides, np.array([[0.9, 0.1] if text in wrong else [0.1, 0.9] for text in suite.texts])
    )


def test_holm_finds_what_bonferroni_finds_and_more():
    """Eight of ten capabilities differ clearly, so the ninth must be below 5 % / 2, not 5 % / 10."""
    cases = [tuple(SuiteCase((f"{t} {n}",), ("positive",), f"{t} {n}") for n in range(40)) for t in range(10)]
    tests = (SuiteTest(f"t{number}", f"c{number}", "minimum", own) for number, own in enumerate(cases))
    suite = Suite("ours", tuple(tests))
    found = build_report([make_result("a", suite, [40] * 8 + [10, 0]), make_result("b", suite, [0] * 8 + [4, 0])])[
        "differences"
    ]
    assert [each["differ"] for each in found] == [True] * 9 + [False]
    assert 0.005 < found[8]["p"] < 0.025 and found[8]["p_holm"] == pytest.approx(2 * found[8]["p"])
    for each in found:
        low, high = each["interval"]
        assert each["differ"] == (each["p_holm"] < 0.05) == (not low <= 0 <= high)
