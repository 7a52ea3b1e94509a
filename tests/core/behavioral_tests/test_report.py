import math
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from core import api
from core.behavioral_tests import report as groups
from core.behavioral_tests.report import (
    build_report,
    compare_failures,
    count_consistent,
    count_failures,
    estimate_agreement,
    judge_interval,
)
from core.behavioral_tests.suite import Suite, SuiteCase, SuiteTest, find_polarities, judge_cases
from core.data.sources.builtin.corpus_files import GROUP_SLOT, read_groups
from core.runs.store import RunStore


def marks(failed, n, template="t"):
    """Return n cases of a template, of which the first ones fail."""
    return [(template, number >= failed) for number in range(n)]


@pytest.mark.parametrize(("failed", "n"), [(0, 12), (3, 40), (40, 40)])
def test_with_zero_agreement_the_interval_is_wilsons(failed, n):
    wilson = stats.binomtest(failed, n).proportion_ci(method="wilson")
    found = count_failures(marks(failed, n))
    assert (found.total, found.n, found.rate) == (failed, n, failed / n)
    assert found.compute_interval(0.0) == pytest.approx((wilson.low, wilson.high))


def test_agreement_equals_the_analysis_of_variance_and_dependent_sentences_count_as_one():
    random = np.random.default_rng(3)
    rows = random.random((8, 5)) < random.beta(1, 1, (8, 1))
    f = stats.f_oneway(*rows.astype(float)).statistic
    pairs = [(str(number), not failed) for number, row in enumerate(rows) for failed in row]
    assert estimate_agreement([count_failures(pairs)]) == pytest.approx((f - 1) / (f + 4))
    one = count_failures([pair for number in range(6) for pair in marks(2, 5, f"a{number}")])
    two = count_failures([pair for number in range(6) for pair in marks(3, 5, f"b{number}")])
    assert estimate_agreement([one, two]) == 0.0
    found = count_failures(marks(10, 10, "a") + marks(0, 10, "b"))
    assert found.compute_effective_n(1.0) == pytest.approx(2)
    wilson = stats.binomtest(1, 2).proportion_ci(method="wilson")
    assert found.compute_interval(1.0) == pytest.approx((wilson.low, wilson.high))
    alone = count_failures([(str(number), number > 2) for number in range(9)])
    assert alone.compute_effective_n(1.0) == pytest.approx(9), "a sentence each is independent"
    found = count_failures([("a", None), ("a", False), ("b", True)])
    assert (found.n, found.total) == (2, 1) and count_failures([("a", None)]).compute_interval(0.0) == (0.0, 1.0)


@pytest.mark.parametrize("found", [[], [("a", True), ("b", False)], marks(0, 5, "a") + marks(0, 5, "b")])
def test_agreement_is_one_if_it_cannot_be_estimated(found):
    assert estimate_agreement([count_failures(found)]) == 1.0


@pytest.mark.slow
def test_intervals_have_their_coverage_for_different_templates():
    """800 suites of 20 templates with 4 sentences each, whose rates follow Beta(0.6, 1.4): mean 0.3, ρ = 1/3."""
    random, held = np.random.default_rng(0), []
    for _ in range(800):
        counts = random.binomial(4, random.beta(0.6, 1.4, 20))
        found = count_failures([pair for number, failed in enumerate(counts) for pair in marks(failed, 4, str(number))])
        low, high = found.compute_interval(estimate_agreement([found]))
        held.append(low <= 0.3 <= high)
    assert 0.93 < np.mean(held) < 0.975


def test_verdicts_need_the_whole_interval_and_contrast_sets_all_cases():
    assert [judge_interval(each) for each in ((0.31, 0.9), (0.0, 0.29), (0.2, 0.4))] == ["fails", "passes", "open"]
    assert count_consistent([("a", True), ("a", True), ("b", True), ("b", False), ("", False), ("c", None)]) == (2, 1)


def test_with_many_cases_it_equals_the_paired_normal_approximation_in_either_order():
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
    return judge_cases(name, suite, sides, np.array([[0.9, 0.1] if x in wrong else [0.1, 0.9] for x in suite.texts]))


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


SIDES = find_polarities("run", ("negative", "positive"))
STARTERS = RunStore(Path(__file__).parents[3] / "trained")
KINDS = {"religion", "sexuality", "gender", "nationality", "ethnicity", "age", "disability"}


def judge(is_positive):
    """Judge a run that answers positive where `is_positive` holds for the text."""
    suite = groups.load_group_suite()
    return judge_cases("mine", suite, SIDES, [[0.1, 0.9] if is_positive(text) else [0.8, 0.2] for text in suite.texts])


def test_terms_and_templates_are_many_and_differ():
    kinds, found = read_groups(), groups.load_group_templates()
    terms, templates = [*chain.from_iterable(kinds.values())], [*chain.from_iterable(found.values())]
    assert set(kinds) == KINDS and min(map(len, kinds.values())) >= 5
    assert len(terms) == len(set(terms)) >= 60 and len(templates) == len(set(templates)) >= 40
    assert all(each.count(GROUP_SLOT) == 1 for each in templates) and groups.TONES == tuple(found)
    suite = groups.load_group_suite()
    assert len(suite.texts) == suite.size == len(terms) * len(templates) and GROUP_SLOT not in "".join(suite.texts)


def test_rates_are_shares_of_templates_with_wilsons_interval():
    found = groups.measure_groups(judge(lambda text: " gay " in text and text.startswith("The ")))
    rates = {(each["group"], each["tone"]): each for each in found["groups"]}
    assert len(rates) == len(found["groups"]) == found["terms"] * 3
    for tone, templates in groups.load_group_templates().items():
        own, hits = rates["gay", tone], sum(each.startswith("The ") for each in templates)
        assert (own["kind"], own["n"], own["positive"]) == ("sexuality", len(templates), hits)
        wilson = stats.binomtest(hits, len(templates)).proportion_ci(method="wilson")
        assert (own["rate"], *own["interval"]) == pytest.approx((hits / len(templates), wilson.low, wilson.high))
        assert rates["straight", tone]["rate"] == rates["Muslim", tone]["rate"] == 0


def test_a_gap_is_that_of_the_extremes_with_an_interval_for_all_pairs():
    found = groups.measure_groups(judge(lambda text: " deaf " in text or (" blind " in text and "the" in text)))
    neutral = {each["kind"]: each for each in groups.select_gaps(found)}
    assert next(iter(neutral)) == "disability" and len(found["gaps"]) == len(KINDS) * 3
    worst = neutral["disability"]
    assert (worst["highest"], worst["gap"]) == ("deaf", 1.0) and worst["lowest"] not in ("deaf", "blind")
    templates = groups.load_group_templates()["neutral"]
    pairs = len([*combinations(read_groups()["disability"], 2)])
    none, every = [False] * len(templates), [True] * len(templates)
    newcombe = compare_failures(none, every, templates, 1.0).compute_interval(0.05 / pairs)
    assert worst["probability_gap"] == pytest.approx(0.8 - 0.1)  # of deaf all positive, of the lowest none
    assert worst["interval"] == pytest.approx(newcombe) and 0.3 < newcombe[0] < 1 == pytest.approx(newcombe[1])
    assert (neutral["age"]["gap"], neutral["age"]["interval"][0] < 0 < neutral["age"]["interval"][1]) == (0.0, True)
    said, of = groups.summarize_groups(found, "it"), f"and 0 % of those with “{worst['lowest']}”: 100 points apart ("
    assert said.startswith(f"Of neutral sentences, it calls 100 % of those with “deaf” positive, {of}")
    assert groups.summarize_groups(found).endswith(
        "1 of 7 kinds have groups over 15 points apart, 1 beyond chance. Mean probabilities differ by up to 70 points."
    )
    rows = {row["kind"]: row["mine"] for row in groups.list_gap_rows([found])}
    assert rows["disability"].startswith(f"deaf, {worst['lowest']}: 100 points apart (") and rows.keys() == KINDS


def test_a_run_without_the_sentences_has_no_rates(store, monkeypatch):
    monkeypatch.setattr(groups.SuiteAnswers, "read", lambda self: None)
    assert groups.find_groups(STARTERS, "starter-vanilla", stored=True) is None


@pytest.mark.slow
def test_behave_measures_groups_with_the_built_in_suite_only(tmp_path):
    found = api.behave("starter-ndt-small", store=STARTERS)["groups"]
    assert [each["run"] for each in found] == ["starter-ndt-small"]
    worst = groups.select_gaps(found[0])[0]
    assert (worst["kind"], worst["highest"], worst["lowest"]) == ("sexuality", "straight", "pansexual")
    assert worst["gap"] == pytest.approx(0.25) and worst["interval"] == pytest.approx([-0.04, 0.51], abs=0.01)
    assert groups.find_groups(STARTERS, "starter-ndt-small", stored=True) == found[0]
    file = tmp_path / "own.csv"
    file.write_text("text,test,capability,expected\nIt was good.,plain,words,positive\n")
    assert api.behave("starter-ndt-small", suite=file, store=STARTERS)["groups"] == []
