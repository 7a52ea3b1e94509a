"""Rates of positive answers for groups of people: terms, counts, gaps with their intervals, and stored results."""

from itertools import chain, combinations
from pathlib import Path

import pytest
from scipy import stats

from core import api
from core.behavioral_tests import report as groups
from core.behavioral_tests.report import compare_failures
from core.behavioral_tests.suite import find_polarities, judge_cases
from core.data.sources.builtin.corpus_files import GROUP_SLOT, read_groups
from core.runs.store import RunStore

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
