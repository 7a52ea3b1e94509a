"""Studies of several models at once, and of how many rows a difference needs."""

import itertools

import numpy as np
import pytest
from studies import CLASSES, agrees, all_apart, both, in_full, models

from core.evaluation.comparison import holm, judge
from core.evaluation.scores import Single
from core.evaluation.significance import Draws
from core.metrics import METRICS

pytestmark = [pytest.mark.study, pytest.mark.slow]


@pytest.mark.parametrize("metric", ["accuracy", *in_full("f1_macro")])
def test_after_holm_a_family_of_four_equally_good_models_has_a_false_better_in_5_percent_at_most(studies, metric):
    random, wrong, count = np.random.default_rng(11), 0, studies(2000)
    for seed in range(count):
        several = models(random, 400, several=4)
        draws = Draws(METRICS[metric], 200, seed)
        draws.together(several)
        pairs = itertools.combinations(several, 2)
        ps = [judge({(0, -1): both(a, b)}, METRICS[metric], draws).p for a, b in pairs]
        wrong += min(step.p for step in holm(ps)) < 0.05
    assert agrees(wrong, count, 0.0)


def weakened(random, rows, metric, kept):
    """The second model hesitates (Brier score), or answers another class in some rows."""
    first, second = models(random, rows)
    if metric == "brier":
        return all_apart(first, Single(second.labels, kept * second.probabilities + (1 - kept) / CLASSES))
    chances, other = second.probabilities.copy(), random.random(rows) >= kept
    chances[other] = np.roll(chances[other], 1, 1)
    return both(first, Single(second.labels, chances))


@pytest.mark.parametrize(
    ("metric", "kept"),
    [("brier", 0.3), ("f1_macro", 0.8), *in_full(("brier", 0.15), ("brier", 0.4), ("f1_macro", 0.6))],
)
def test_with_the_rows_needed_the_bootstrap_finds_a_difference_in_80_percent_of_studies(studies, metric, kept):
    random, of, count = np.random.default_rng(5), METRICS[metric], studies(400, few=100)
    rows = judge({(0, -1): weakened(random, 60_000, metric, kept)}, of, Draws(of, 50)).rows_needed(0.05)
    ps = [judge({(0, -1): weakened(random, rows, metric, kept)}, of, Draws(of, 200, seed)).p for seed in range(count)]
    assert agrees(sum(p < 0.05 for p in ps), count, 0.79, 0.83), rows
