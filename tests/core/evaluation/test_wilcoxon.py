"""Wilcoxon's signed-rank test over folds, against SciPy."""

import numpy as np
import pytest
from scipy.stats import wilcoxon
from studies import agrees

from core.evaluation.wilcoxon import LEAST, Wilcoxon


@pytest.mark.parametrize("folds", [2, 5, 6, 8, 10, 20])
def test_p_is_scipys_exact_one(folds):
    random = np.random.default_rng(folds)
    for shift in (0, 0.5, 1):
        differences = random.normal(shift, 1, folds)
        assert Wilcoxon(tuple(differences)).p == pytest.approx(wilcoxon(differences, method="exact").pvalue)


def test_fewer_folds_than_the_least_can_never_tell_two_apart():
    for folds in range(2, 12):
        assert (Wilcoxon((1.0,) * folds).p < 0.05) == (folds >= LEAST)
    assert Wilcoxon((1.0,) * (LEAST - 1)).interval(0.05) is None


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.05 / 6])
def test_the_interval_leaves_out_0_exactly_where_p_is_below_its_level(alpha):
    random = np.random.default_rng(0)
    for _ in range(200):
        found = Wilcoxon(tuple(random.normal(random.uniform(0, 1), 1, int(random.integers(2, 13))).round(1)))
        interval = found.interval(alpha)
        assert (found.p < alpha) == (interval is not None and not interval[0] <= 0 <= interval[1])
        assert interval is None or interval[0] <= found.difference <= interval[1]


def test_ten_folds_by_hand():
    """Differences 1 … 10: of 1,024 signs two are as extreme; the interval drops 8 means at either end."""
    found = Wilcoxon(tuple(map(float, range(1, 11))))
    assert found.p == 2 / 1024 and found.effect == 1.0 and found.difference == 5.5
    means = sorted((i + j) / 2 for i in range(1, 11) for j in range(i, 11))
    assert found.interval(0.05) == (means[8], means[-9])


def test_folds_without_any_difference_are_a_tie():
    found = Wilcoxon((0.0,) * 8)
    assert (found.p, found.difference, found.effect) == (1.0, 0.0, 0.0)
    assert found.rows_needed(0.05) is None


@pytest.mark.study
@pytest.mark.parametrize("folds", [6, 8, 10])
def test_of_two_equally_good_procedures_p_is_below_5_percent_in_5_percent_of_studies_at_most(studies, folds):
    random, count = np.random.default_rng(folds), studies(2000)
    assert agrees(sum(Wilcoxon(tuple(random.normal(0, 1, folds))).p < 0.05 for _ in range(count)), count, 0.0)
