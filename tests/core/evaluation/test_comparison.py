"""Which test, Holm's steps, and verdicts that agree with the intervals."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from studies import both, models

from core.evaluation.comparison import finding, holm, judge, rough, verdict
from core.evaluation.scores import Multi, Single
from core.evaluation.significance import Both, Draws, compare
from core.metrics import METRICS


def test_accuracy_of_one_seed_is_mcnemars_and_all_else_a_bootstrap():
    first, second = models(np.random.default_rng(0), 60)
    one, two = {(0, -1): both(first, second)}, {(seed, -1): both(first, second) for seed in (0, 1)}
    assert judge(one, METRICS["accuracy"]).test == "McNemar, exact"
    assert judge(two, METRICS["accuracy"]).test == judge(one, METRICS["f1_macro"]).test == "paired bootstrap"


def test_all_labels_right_of_several_labels_is_mcnemars_too():
    random = np.random.default_rng(0)
    labels, chances = random.integers(0, 2, (80, 3)), random.random((2, 80, 3))
    first, second = (Multi(labels, each) for each in chances)
    found = judge({(0, -1): Both(first, second, np.ones(80, bool))}, METRICS["subset_accuracy"])
    right = [(each.predicted == (labels > 0)).all(1) for each in (first, second)]
    assert (found.only_first, found.only_second) == ((right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum())


def test_from_six_folds_on_it_is_wilcoxons():
    random = np.random.default_rng(0)
    folds = {(seed, fold): both(*models(random, 40)) for fold in range(6) for seed in (0, 1)}
    found = judge(folds, METRICS["accuracy"])
    means = [
        np.mean([folds[seed, fold].first.correct.mean() - folds[seed, fold].second.correct.mean() for seed in (0, 1)])
        for fold in range(6)
    ]
    assert found.test == "Wilcoxon over folds" and found.differences == pytest.approx(means)
    assert (
        judge({run: each for run, each in folds.items() if run[1] < 5}, METRICS["accuracy"]).test == "paired bootstrap"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_holm_is_statsmodels(seed):
    from statsmodels.stats.multitest import multipletests  # slow to import

    ps = np.random.default_rng(seed).random(8) ** 4
    assert [step.p for step in holm(ps)] == pytest.approx(multipletests(ps, method="holm")[1])


def test_holm_by_hand():
    steps = holm([0.04, 0.001, 0.03, 0.012])
    assert [step.p for step in steps] == pytest.approx([0.06, 0.004, 0.06, 0.036])
    assert [0.05 / step.alpha for step in steps] == pytest.approx([2, 4, 2, 3])


def test_what_comes_after_the_first_failure_stands_at_its_level():
    """0.04 alone would pass its own step; after 0.03 has failed at 0.025 it must not."""
    steps = holm([0.03, 0.04])
    assert [step.alpha for step in steps] == [0.025, 0.025] and [step.p for step in steps] == [0.06, 0.06]


@pytest.mark.parametrize("seed", range(20))
def test_p_after_holm_is_below_5_percent_exactly_where_p_is_below_the_level_of_its_step(seed):
    ps = np.random.default_rng(seed).random(7) ** 5
    assert [step.p < 0.05 for step in holm(ps)] == [p < step.alpha for p, step in zip(ps, holm(ps), strict=True)]


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_intervals_at_the_level_of_their_step_and_verdicts_agree(metric):
    random = np.random.default_rng(3)
    several = [*models(random, 150, several=3), *models(random, 150, several=1, hardness=0.2)]
    several[3] = Single(several[0].labels, several[3].probabilities)
    draws = Draws(METRICS[metric], 200)
    found = [judge({(0, -1): both(a, b)}, METRICS[metric], draws) for a, b in itertools.combinations(several, 2)]
    steps = holm([each.p for each in found])
    told_apart = 0
    for each, step in zip(found, steps, strict=True):
        low, high = each.interval(step.alpha)
        given = {"difference": each.difference, "interval": [low, high], "p_holm": step.p, "rows_needed": None}
        assert ("better" in verdict(PAIR | given)) == (not low <= 0 <= high)
        told_apart += "better" in verdict(PAIR | given)
    assert 0 < told_apart < len(found)


PAIR = {"first": "X", "second": "Y", "metric": "accuracy", "difference": 0.02, "interval": [0.01, 0.03]}
PAIR |= {"p_holm": 0.01, "rows_needed": 900}
TIE = PAIR | {"p_holm": 0.05, "interval": [-0.01, 0.03]}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (PAIR, "X is better"),
        (PAIR | {"metric": "loss"}, "Y is better"),
        (PAIR | {"difference": -0.02}, "Y is better"),
        (TIE, "cannot be told apart; about 900 rows needed"),
        (TIE | {"rows_needed": None}, "cannot be told apart"),
        (TIE | {"interval": [-0.01, 0.01]}, "the same within 0.01"),
        (TIE | {"interval": None, "rows_needed": None}, "cannot be told apart"),
    ],
)
def test_verdicts(pair, words):
    assert verdict(pair) == words
    assert verdict(pair, {"X": "A", "Y": "B"}) == words.replace("X", "A").replace("Y", "B")


def test_a_pair_is_told_in_one_sentence():
    assert finding([PAIR]) == "X is better than Y."
    assert finding([TIE]) == "X and Y cannot be told apart; about 900 rows needed."
    assert finding([TIE | {"interval": [-0.004, 0.01]}]) == "X and Y are the same within 0.01."


def test_every_winner_is_named():
    """A and B beat C and D, B beats E alone."""
    wins = [PAIR | {"first": one, "second": other} for one in "AB" for other in "CD"]
    ties = [TIE | {"first": "A", "second": "B"}, TIE | {"first": "A", "second": "E"}]
    assert finding([*wins, *ties]) == "A and B are better than C and D; 2 of 6 pairs cannot be told apart."
    assert finding([*wins, PAIR | {"first": "B", "second": "E"}, *ties]) == (
        "B is better than C, D and E; A is better than C and D; 2 of 7 pairs cannot be told apart."
    )


def test_several_pairs_are_told_in_one_sentence():
    pairs = [PAIR, PAIR | {"second": "Z"}, TIE | {"first": "Y", "second": "Z"}]
    assert finding(pairs) == "X is better than Y and Z; 1 of 3 pairs cannot be told apart."
    assert finding([TIE | {"first": one, "second": two} for one, two in ("XY", "XZ", "YZ")]) == (
        "No two of the 3 models can be told apart."
    )


@pytest.mark.parametrize(("rows", "words"), [(7264, "7\u202f300"), (95, "95"), (104, "100"), (3, "3")])
def test_rows_needed_are_told_to_two_digits(rows, words):
    assert rough(rows) == words


def test_a_model_of_several_comparisons_is_drawn_once():
    asked = []

    def measure(scores, weights):
        asked.append(id(scores))
        return METRICS["f1_macro"].measure(scores, weights)

    several = models(np.random.default_rng(0), 50, several=4)
    draws = Draws(replace(METRICS["f1_macro"], measure=measure), 20)
    draws.together(several)
    pairs = [judge({(0, -1): both(a, b)}, METRICS["f1_macro"], draws) for a, b in itertools.combinations(several, 2)]
    assert len(pairs) == 6 and all(asked.count(id(each)) == 2 for each in several)  # of all rows, and of the draws
    alone = compare({(0, -1): both(several[0], several[1])}, Draws(METRICS["f1_macro"], 20))
    assert pairs[0].p == alone.p
