"""Which test, Holm's steps, and verdicts that agree with the intervals; studies of equally good models."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.evaluation.comparison import finding, holm, judge, rough, verdict
from core.evaluation.scores import Multi, Single
from core.evaluation.significance import Both, Draws, compare
from core.evaluation.swapping import swapped_variance
from core.metrics import METRICS

CLASSES = 3


def models(random, rows, *, several=2, hardness=1.0):
    """Equally good ones: sentences differ in how hard they are, for all alike and for each in its own way."""
    labels = random.integers(0, CLASSES, rows)
    shared = random.normal(0, 1, rows)
    found = []
    for _ in range(several):
        logits = random.normal(0, 1, (rows, CLASSES))
        logits[np.arange(rows), labels] += 1.2 + hardness * shared
        odds = np.exp(logits)
        found.append(Single(labels, odds / odds.sum(1, keepdims=True)))
    return found


def both(first, second):
    return Both(first, second, first.answers != second.answers)


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


STUDIES = 2000


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "low", "high"), [(200, 0.015, 0.06), (1000, 0.025, 0.06)])
def test_mcnemar_calls_chance_in_6_percent_of_studies_at_most_and_is_conservative(rows, low, high):
    random = np.random.default_rng(rows)
    found = np.mean(
        [judge({(0, -1): both(*models(random, rows))}, METRICS["accuracy"]).p < 0.05 for _ in range(STUDIES)]
    )
    print(f"McNemar, {rows} rows: {found:.4f}")
    assert low <= found <= high


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [
        "f1_macro",
        "loss",
        "brier",
        "precision_weighted",
        "ece",
        "mae",
        "quadratic_kappa",
        "roc_auc",
        "average_precision",
    ],
)
def test_all_other_metrics_call_chance_in_3_5_to_6_percent_of_studies(metric):
    random = np.random.default_rng(7)
    draws = [Draws(METRICS[metric], 200, seed) for seed in range(STUDIES)]
    found = np.mean(
        [judge({(0, -1): all_apart(*models(random, 400))}, METRICS[metric], each).p < 0.05 for each in draws]
    )
    print(f"{metric}: {found:.4f}")
    assert 0.035 <= found <= 0.06


def all_apart(first, second):
    return Both(first, second, (first.probabilities != second.probabilities).any(1))


def with_scales(random, rows, *scales):
    """Models that know exactly how sure they may be, and then scale their logits."""
    labels = random.integers(0, CLASSES, rows)
    found = []
    for scale in scales:
        logits = random.normal(0, 1, (rows, CLASSES)) + 1.2 * np.eye(CLASSES)[labels]
        odds = np.exp(1.2 * scale * logits)
        found.append(Single(labels, odds / odds.sum(1, keepdims=True)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.25, 1.8])
def test_equal_calibration_errors_are_told_apart_by_chance_only(scale):
    """Both calibrated, a little or much too sure: 8,000 studies, as the swaps themselves cost little."""
    random, parts, found = np.random.default_rng(3), METRICS["ece"].parts, []
    for seed in range(4 * STUDIES):
        tables = [parts(each) for each in with_scales(random, 400, scale, scale)]
        first, second = (np.abs(each.mean(0)).sum() for each in tables)
        variance = swapped_variance(tables[:1], tables[1:], seed)
        found.append(variance is not None and abs(first - second) > 1.96 * variance**0.5)
    print(f"ece, scale {scale}: {np.mean(found):.4f}")
    assert 0.035 <= np.mean(found) <= 0.06


@pytest.mark.slow
def test_one_too_sure_and_one_as_much_too_timid_are_told_apart_by_chance_only():
    """Swaps would mix the two and call 8 to 11 %; rows are drawn."""
    random = np.random.default_rng(3)
    draws = [Draws(METRICS["ece"], 200, seed) for seed in range(STUDIES)]
    pairs = (all_apart(*with_scales(random, 400, 1.8, 0.5846)) for _ in range(STUDIES))
    found = np.mean([compare({(0, -1): pair}, each).p < 0.05 for pair, each in zip(pairs, draws, strict=True)])
    print(f"ece, too sure and too timid: {found:.4f}")
    assert 0.035 <= found <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_after_holm_a_family_of_four_equally_good_models_has_a_false_better_in_6_percent_at_most(metric):
    random, wrong = np.random.default_rng(11), 0
    for seed in range(STUDIES):
        several = models(random, 400, several=4)
        draws = Draws(METRICS[metric], 200, seed)
        draws.together(several)
        pairs = itertools.combinations(several, 2)
        ps = [judge({(0, -1): both(a, b)}, METRICS[metric], draws).p for a, b in pairs]
        wrong += min(step.p for step in holm(ps)) < 0.05
    print(f"family, {metric}: {wrong / STUDIES:.4f}")
    assert wrong <= 0.06 * STUDIES


def weakened(random, rows, metric, kept):
    """The second model hesitates (Brier score), or answers another class in some rows."""
    first, second = models(random, rows)
    if metric == "brier":
        return all_apart(first, Single(second.labels, kept * second.probabilities + (1 - kept) / CLASSES))
    chances, other = second.probabilities.copy(), random.random(rows) >= kept
    chances[other] = np.roll(chances[other], 1, 1)
    return both(first, Single(second.labels, chances))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "kept"), [("brier", 0.3), ("brier", 0.15), ("brier", 0.4), ("f1_macro", 0.6), ("f1_macro", 0.8)]
)
def test_with_the_rows_needed_the_bootstrap_finds_a_difference_in_80_percent_of_studies(metric, kept):
    random, of = np.random.default_rng(5), METRICS[metric]
    rows = judge({(0, -1): weakened(random, 60_000, metric, kept)}, of, Draws(of, 50)).rows_needed(0.05)
    found = [
        judge({(0, -1): weakened(random, rows, metric, kept)}, of, Draws(of, 200, seed)).p < 0.05 for seed in range(400)
    ]
    print(f"bootstrap, {metric}, {rows} rows: power {np.mean(found):.3f}")
    assert 0.75 <= np.mean(found) <= 0.87
