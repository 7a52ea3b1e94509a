"""Swapping the two answers of each row: against every swap there is, and where it must not be done."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from core.evaluation.scores import Single
from core.evaluation.significance import BOOTSTRAP, SWAPS, Both, Draws, compare
from core.evaluation.swapping import swapped_variance
from core.metrics import METRICS


def answers(random, rows, shift=0.0):
    """Two classes; the confidence is `shift` above the share that is right."""
    confidence = random.uniform(0.55, 0.8, rows)
    right = random.random(rows) < confidence
    stated = np.clip(confidence + shift, 0.51, 0.99)
    return Single(np.zeros(rows, int), np.where(right, [stated, 1 - stated], [1 - stated, stated]).T)


def compared(first, second, seed=0):
    return compare({(0, -1): Both(first, second, np.ones(len(first), bool))}, Draws(METRICS["ece"], 300, seed))


@pytest.mark.parametrize("seeds", [1, 2])
def test_5_percent_of_all_swaps_go_beyond_the_normal_quantile(seeds):
    """Of 10 rows all 1,024; each swaps a row of every seed at once."""
    random = np.random.default_rng(1)
    tables = random.normal(0, 1, (2, seeds, 10, 3))

    def metric(side):
        return np.abs(side.mean(1)).sum(1).mean()

    all_swaps = [
        metric(np.where(swap, tables[1], tables[0])) - metric(np.where(swap, tables[0], tables[1]))
        for swap in (np.array(each)[:, None] for each in itertools.product([False, True], repeat=10))
    ]
    assert swapped_variance(*map(list, tables)) ** 0.5 == pytest.approx(
        np.quantile(np.abs(all_swaps), 0.95) / norm.isf(0.025), rel=0.06
    )


def test_the_gaps_add_up_to_the_calibration_error():
    scores = answers(np.random.default_rng(2), 80)
    error = METRICS["ece"].measure(scores, np.ones((1, 80)))[0]
    assert np.abs(METRICS["ece"].parts(scores).mean(0)).sum() == pytest.approx(error)


def test_one_too_sure_and_one_too_timid_are_not_swapped():
    random = np.random.default_rng(3)
    sure, timid, other = (answers(random, 1500, shift) for shift in (0.1, -0.1, 0.1))
    assert swapped_variance(*([METRICS["ece"].parts(each)] for each in (sure, timid))) is None
    assert (compared(sure, timid).test, compared(sure, other).test) == (BOOTSTRAP, SWAPS)


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_the_interval_leaves_out_0_exactly_where_p_is_below_its_level(shift, alpha):
    random = np.random.default_rng(4)
    for seed in range(6):
        found = compared(answers(random, 120), answers(random, 120, shift), seed)
        low, high = found.interval(alpha)
        assert low < found.difference < high and (found.p < alpha) == (not low <= 0 <= high)


def test_a_model_and_itself_are_the_same():
    scores = answers(np.random.default_rng(5), 50)
    found = compared(scores, scores)
    assert (found.difference, found.p, found.interval(0.05)) == (0.0, 1.0, None)


def test_the_order_of_the_two_turns_the_sign_alone():
    first, second = (answers(np.random.default_rng(seed), 200) for seed in (6, 7))
    one, other = compared(first, second), compared(second, first)
    assert one.p == pytest.approx(other.p) and one.difference == pytest.approx(-other.difference)
