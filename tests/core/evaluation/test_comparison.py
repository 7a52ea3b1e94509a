import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, norm, wilcoxon
from studies import agrees, both, models

from core.evaluation.comparison import (
    LEAST,
    McNemar,
    Wilcoxon,
    apply_holm,
    describe_pair,
    round_rows,
    run_test,
    summarize_pairs,
)
from core.evaluation.metrics import MultiLabelScores, SingleLabelScores
from core.evaluation.significance import Draws, ScorePair, compare_classifiers
from core.metrics import METRICS

COUNTS = [(0, 0), (1, 0), (5, 0), (6, 0), (12, 3), (3, 12), (30, 12), (161, 101), (40, 40), (1200, 1000)]


@pytest.mark.parametrize(("first", "second"), COUNTS)
def test_mcnemar_p_equals_scipy(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert McNemar(first, second, 5000).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.05 / 6, 0.001])
def test_the_interval_excludes_0_exactly_if_p_is_below_alpha(alpha):
    random = np.random.default_rng(0)
    for apart in (*range(25), 60, 150, 400):
        for first in {0, apart, *random.integers(0, apart + 1, 6).tolist(), apart * 2 // 3}:
            found = McNemar(int(first), int(apart - first), 500)
            low, high = found.compute_interval(alpha)
            assert low <= found.difference <= high
            assert (found.p < alpha) == (not low <= 0 <= high), found


def test_intervals_and_rows_needed_follow_closed_formulas_and_are_walds_for_large_samples():
    low, high = McNemar(120, 80, 1000).compute_interval(0.05)
    half = norm.isf(0.025) * math.sqrt(200 - 40**2 / 1000) / 1000
    assert (low, high) == pytest.approx((0.04 - half, 0.04 + half), abs=0.0025) and high - low >= 2 * half
    one, other = McNemar(30, 12, 400), McNemar(12, 30, 400)
    assert one.p == other.p and one.difference == -other.difference and one.effect == -other.effect
    assert one.compute_interval(0.05) == pytest.approx(tuple(-end for end in reversed(other.compute_interval(0.05))))
    assert one.count_rows_needed(0.05) == other.count_rows_needed(0.05)
    assert one.effect == pytest.approx(30 / 42 - 0.5) and McNemar(0, 0, 10).effect == 0.0
    z2 = norm.isf(0.025) ** 2  # for a share of 0 the score interval ends at z² / (n + z²)
    assert McNemar(0, 0, 1000).compute_interval(0.05)[1] == pytest.approx(z2 / (1000 + z2))
    assert McNemar(0, 0, 1000).count_rows_needed(0.05) is None
    assert McNemar(10, 0, 10).compute_interval(0.05)[1] == 1.0
    assert McNemar(0, 10, 10).compute_interval(0.05)[0] == -1.0
    assert McNemar(0, 0, 0).compute_interval(0.05) == (-1.0, 1.0)
    # Connor (1987) with δ = 0.1 and ψ = 0.3: the first n with n·δ − 1 ≥ wanted·√n
    psi, delta, needed = 0.3, 0.1, McNemar(200, 100, 1000).count_rows_needed(0.05)
    wanted = norm.isf(0.025) * math.sqrt(psi) + norm.isf(0.2) * math.sqrt(psi - delta**2)
    assert [n * delta - 1 >= wanted * math.sqrt(n) for n in (needed - 1, needed)] == [False, True]


@pytest.mark.study
@pytest.mark.parametrize(("first", "second"), [(0.05, 0.03), (0.2, 0.1), (0.0425, 0.0334), (0.1, 0.05)])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_rows_needed_give_80_percent_power(studies, first, second, alpha):
    rows = McNemar(round(first * 1e6), round(second * 1e6), 10**6).count_rows_needed(alpha)
    count, chances = studies(4000), [first, second, 1 - first - second]
    drawn = np.random.default_rng(0).multinomial(rows, chances, count)
    assert agrees(sum(McNemar(int(b), int(c), rows).p < alpha for b, c, _ in drawn), count, 0.795, 0.82)


@pytest.mark.study
@pytest.mark.parametrize(
    ("rows", "first", "second"), [(50, 0.3, 0.1), (200, 0.1, 0.1), (1000, 0.05, 0.03), (1000, 0.4, 0.0005)]
)
def test_intervals_miss_the_true_difference_in_at_most_5_percent(studies, rows, first, second):
    count, chances = studies(2000), [first, second, 1 - first - second]
    drawn = np.random.default_rng(1).multinomial(rows, chances, count)
    intervals = [McNemar(int(b), int(c), rows).compute_interval(0.05) for b, c, _ in drawn]
    assert agrees(sum(not low <= first - second <= high for low, high in intervals), count, 0.0)


@pytest.mark.parametrize("folds", [2, 5, 6, 8, 10, 20])
def test_wilcoxon_p_equals_scipys_exact_p(folds):
    random = np.random.default_rng(folds)
    for shift in (0, 0.5, 1):
        differences = random.normal(shift, 1, folds)
        assert Wilcoxon(tuple(differences)).p == pytest.approx(wilcoxon(differences, method="exact").pvalue)


def test_wilcoxon_with_ten_folds_by_hand_and_too_few_folds():
    for folds in range(2, 12):
        assert (Wilcoxon((1.0,) * folds).p < 0.05) == (folds >= LEAST)
    assert Wilcoxon((1.0,) * (LEAST - 1)).compute_interval(0.05) is None
    # Differences 1 … 10: two of 1,024 sign patterns are as extreme; the interval drops 8 means at each end.
    found = Wilcoxon(tuple(map(float, range(1, 11))))
    assert found.p == 2 / 1024 and found.effect == 1.0 and found.difference == 5.5
    means = sorted((i + j) / 2 for i in range(1, 11) for j in range(i, 11))
    assert found.compute_interval(0.05) == (means[8], means[-9])
    tie = Wilcoxon((0.0,) * 8)
    assert (tie.p, tie.difference, tie.effect, tie.count_rows_needed(0.05)) == (1.0, 0.0, 0.0, None)


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.05 / 6])
def test_the_fold_interval_excludes_0_exactly_if_p_is_below_alpha(alpha):
    random = np.random.default_rng(0)
    for _ in range(200):
        found = Wilcoxon(tuple(random.normal(random.uniform(0, 1), 1, int(random.integers(2, 13))).round(1)))
        interval = found.compute_interval(alpha)
        assert (found.p < alpha) == (interval is not None and not interval[0] <= 0 <= interval[1])
        assert interval is None or interval[0] <= found.difference <= interval[1]


@pytest.mark.study
@pytest.mark.parametrize("folds", [6, 8, 10])
def test_equally_good_models_are_significant_in_at_most_5_percent(studies, folds):
    random, count = np.random.default_rng(folds), studies(2000)
    assert agrees(sum(Wilcoxon(tuple(random.normal(0, 1, folds))).p < 0.05 for _ in range(count)), count, 0.0)


def test_mcnemar_tests_accuracy_of_one_seed_wilcoxon_many_folds_and_the_bootstrap_the_rest():
    first, second = models(np.random.default_rng(0), 60)
    one, two = {(0, -1): both(first, second)}, {(seed, -1): both(first, second) for seed in (0, 1)}
    assert run_test(one, METRICS["accuracy"]).test == "McNemar, exact"
    assert run_test(two, METRICS["accuracy"]).test == run_test(one, METRICS["f1_macro"]).test == "paired bootstrap"
    random = np.random.default_rng(0)
    labels, chances = random.integers(0, 2, (80, 3)), random.random((2, 80, 3))
    first, second = (MultiLabelScores(labels, each) for each in chances)
    found = run_test({(0, -1): ScorePair(first, second, np.ones(80, bool))}, METRICS["subset_accuracy"])
    right = [(each.predicted == (labels > 0)).all(1) for each in (first, second)]
    assert (found.only_first, found.only_second) == ((right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum())
    random = np.random.default_rng(0)
    folds = {(seed, fold): both(*models(random, 40)) for fold in range(6) for seed in (0, 1)}
    found = run_test(folds, METRICS["accuracy"])
    gained = {run: each.first.correct.mean() - each.second.correct.mean() for run, each in folds.items()}
    means = [(gained[0, fold] + gained[1, fold]) / 2 for fold in range(6)]
    assert found.test == "Wilcoxon over folds" and found.differences == pytest.approx(means)
    five = {run: each for run, each in folds.items() if run[1] < 5}
    assert run_test(five, METRICS["accuracy"]).test == "paired bootstrap"


@pytest.mark.slow
def test_holm_equals_statsmodels():
    from statsmodels.stats.multitest import multipletests  # slow to import

    for ps in np.random.default_rng(0).random((5, 8)) ** 4:
        assert [step.p for step in apply_holm(ps)] == pytest.approx(multipletests(ps, method="holm")[1])


def test_holm_by_hand_and_levels_agree_with_corrected_p():
    steps = apply_holm([0.04, 0.001, 0.03, 0.012])
    assert [step.p for step in steps] == pytest.approx([0.06, 0.004, 0.06, 0.036])
    assert [0.05 / step.alpha for step in steps] == pytest.approx([2, 4, 2, 3])
    steps = apply_holm([0.03, 0.04])  # 0.04 would be significant at its own step, but not after 0.03 failed at 0.025
    assert [step.alpha for step in steps] == [0.025, 0.025] and [step.p for step in steps] == [0.06, 0.06]
    for ps in np.random.default_rng(0).random((20, 7)) ** 5:
        assert [step.p < 0.05 for step in apply_holm(ps)] == [
            p < step.alpha for p, step in zip(ps, apply_holm(ps), strict=True)
        ]


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_intervals_and_conclusions_agree(metric):
    random = np.random.default_rng(3)
    several = [*models(random, 150, several=3), *models(random, 150, several=1, hardness=0.2)]
    several[3] = SingleLabelScores(several[0].labels, several[3].probabilities)
    draws = Draws(METRICS[metric], 200)
    found = [run_test({(0, -1): both(a, b)}, METRICS[metric], draws) for a, b in itertools.combinations(several, 2)]
    steps = apply_holm([each.p for each in found])
    told_apart = 0
    for each, step in zip(found, steps, strict=True):
        low, high = each.compute_interval(step.alpha)
        given = {"difference": each.difference, "interval": [low, high], "p_holm": step.p, "rows_needed": None}
        assert ("better" in describe_pair(PAIR | given)) == (not low <= 0 <= high)
        told_apart += "better" in describe_pair(PAIR | given)
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
def test_comparisons_are_described_in_words(pair, words):
    assert describe_pair(pair) == words
    assert describe_pair(pair, {"X": "A", "Y": "B"}) == words.replace("X", "A").replace("Y", "B")


def test_pairs_are_summarized_with_every_winner():
    assert summarize_pairs([PAIR]) == "X is better than Y."
    assert summarize_pairs([TIE]) == "X and Y show no clear difference; detecting one would take about 900 sentences."
    assert summarize_pairs([TIE | {"interval": [-0.004, 0.01]}]) == "X and Y are the same within 0.01."
    pairs = [PAIR, PAIR | {"second": "Z"}, TIE | {"first": "Y", "second": "Z"}]
    assert summarize_pairs(pairs) == "X is better than Y and Z; 1 of 3 pairs show no clear difference."
    ties = [TIE | {"first": one, "second": two} for one, two in ("XY", "XZ", "YZ")]
    assert summarize_pairs(ties) == "No two of the 3 models show a clear difference."
    # A and B beat C and D, B beats E alone.
    wins = [PAIR | {"first": one, "second": other} for one in "AB" for other in "CD"]
    ties = [TIE | {"first": "A", "second": "B"}, TIE | {"first": "A", "second": "E"}]
    assert summarize_pairs([*wins, *ties]) == "A and B are better than C and D; 2 of 6 pairs show no clear difference."
    assert summarize_pairs([*wins, PAIR | {"first": "B", "second": "E"}, *ties]) == (
        "B is better than C, D and E; A is better than C and D; 2 of 7 pairs show no clear difference."
    )


@pytest.mark.parametrize(("rows", "words"), [(7264, "7\u202f300"), (95, "95"), (104, "100"), (3, "3")])
def test_rows_needed_are_rounded_to_two_digits(rows, words):
    assert round_rows(rows) == words


def test_models_in_several_comparisons_are_resampled_once():
    asked = []

    def measure(scores, weights):
        asked.append(id(scores))
        return METRICS["f1_macro"].measure(scores, weights)

    several = models(np.random.default_rng(0), 50, several=4)
    draws = Draws(replace(METRICS["f1_macro"], measure=measure), 20)
    draws.resample_scores(several)
    pairs = [run_test({(0, -1): both(a, b)}, METRICS["f1_macro"], draws) for a, b in itertools.combinations(several, 2)]
    assert len(pairs) == 6 and all(
        asked.count(id(each)) == 2 for each in several
    )  # once for all rows, once for the resamples
    assert pairs[0].p == compare_classifiers({(0, -1): both(several[0], several[1])}, Draws(METRICS["f1_macro"], 20)).p
