import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.stats.proportion import test_proportions_2indep as reference

from core.error_analysis.facets import Facet, Filter
from core.error_analysis.query import Clause
from core.error_analysis.report import LEAST, Risk, build_risk_table, measure_risk, search_slices

CASES = [Risk(60, 21, 500, 60), Risk(40, 1, 300, 99), Risk(200, 80, 31, 3), Risk(45, 44, 45, 1), Risk(30, 15, 30, 15)]


@pytest.mark.parametrize("each", CASES)
def test_risk_ratio_p_and_interval_equal_statsmodels(each):
    given = each.wrong, each.n, each.rest_wrong, each.rest_n
    table = [[each.wrong, each.n - each.wrong], [each.rest_wrong, each.rest_n - each.rest_wrong]]
    assert each.ratio == pytest.approx(Table2x2(table).riskratio)
    score = {"compare": "ratio", "method": "score", "correction": False}
    assert each.p == pytest.approx(reference(*given, **score).pvalue, rel=1e-9)
    for alpha in (0.05, 0.004):
        expected = confint_proportions_2indep(*given, alpha=alpha, **score)
        assert each.compute_interval(alpha) == pytest.approx(expected, rel=1e-4)


def test_few_rows_have_no_ratio_and_intervals_without_errors_are_open_on_a_side():
    none, rest_none = Risk(50, 0, 100, 20), Risk(50, 10, 100, 0)
    assert none.ratio == 0 and none.compute_interval(0.05)[0] == 0 and none.compute_interval(0.05)[1] < 1
    assert math.isinf(rest_none.ratio)
    assert math.isinf(rest_none.compute_interval(0.05)[1])
    assert rest_none.compute_interval(0.05)[0] > 1
    wrong = np.arange(100) < 20
    few, many = np.arange(100) < LEAST - 1, np.arange(100) < LEAST
    by_name = {row["tag"]: row for row in build_risk_table({"few": few, "many": many}, wrong)}
    assert by_name["few"]["n"] == LEAST - 1 and by_name["few"]["ratio"] is None and by_name["few"]["p_holm"] is None
    assert by_name["many"]["p_holm"] == by_name["many"]["p"]
    wrong = np.arange(100) < 40
    rows = build_risk_table({"sure": wrong, "half": np.arange(100) % 2 == 0}, wrong, frozenset(("sure",)))
    assert [row["tag"] for row in rows] == ["half", "sure"] and rows[1]["excess"] is None and rows[1]["p"] is None
    assert measure_risk(wrong, wrong).rate == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_excludes_1_exactly_if_p_is_significant(seed):
    random = np.random.default_rng(seed)
    m, k = random.integers(30, 400, 2)
    each = Risk(int(m), int(random.integers(1, m)), int(k), int(random.integers(1, k)))
    for alpha in (0.05, 0.01, each.p * 1.001, each.p * 0.999):
        low, high = each.compute_interval(alpha)
        assert (low > 1 or high < 1) == (each.p < alpha)


@pytest.mark.slow
def test_counts_and_excess_equal_pandas_and_are_sorted():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"t{n}": random.random(2000) < (n + 1) / 10 for n in range(6)})
    frame["wrong"] = random.random(2000) < 0.1 + 0.2 * frame["t1"] - 0.05 * frame["t4"]
    rows = build_risk_table(
        {name: frame[name].to_numpy() for name in frame if name != "wrong"}, frame["wrong"].to_numpy()
    )
    for row in rows:
        inside, rest = frame[frame[row["tag"]]]["wrong"], frame[~frame[row["tag"]]]["wrong"]
        assert (row["n"], row["wrong"], row["rate"]) == (len(inside), inside.sum(), inside.mean())
        assert row["rest"] == {"n": len(rest), "wrong": rest.sum()}
        assert row["excess"] == pytest.approx(inside.sum() - len(inside) * rest.mean())
        assert row["ratio"] == pytest.approx(inside.mean() / rest.mean())
    assert [row["excess"] for row in rows] == sorted((row["excess"] for row in rows), reverse=True)
    assert [row["p_holm"] for row in rows] == pytest.approx(multipletests([row["p"] for row in rows], method="holm")[1])
    for row in rows:
        low, high = row["ratio_interval"]
        assert (low > 1 or high < 1) == row["differs"] == (row["p_holm"] < 0.05)


@pytest.mark.parametrize("wrong", [np.zeros(100, bool), np.ones(100, bool), np.zeros(0, bool)])
def test_degenerate_tables_give_counts_only(wrong):
    (row,) = build_risk_table({"half": np.arange(len(wrong)) < 50}, wrong)
    assert row["ratio"] is None and row["excess"] == 0 and row["wrong"] == wrong[:50].sum()


def facet(name, values):
    column = np.asarray(values, object)
    options = tuple(Filter(Clause(name, "=", value), value, column == value) for value in dict.fromkeys(values))
    return Facet(name, options)


@pytest.fixture
def columns():
    """A thousand rows with three independent columns."""
    random = np.random.default_rng(0)
    return [facet(name, random.choice(list("xyz"), 1000).tolist()) for name in ("a", "b", "c")]


def test_all_column_pairs_are_tested_and_a_planted_one_is_found_without_its_parts(columns):
    parts = [each.has for name, label in ((0, "x"), (1, "y")) for each in columns[name].options if each.label == label]
    planted = np.all(parts, axis=0)
    wrong = np.random.default_rng(1).random(1000) < np.where(planted, 0.7, 0.1)
    found = search_slices(columns, wrong)
    pair = next(each for each in found.slices if {str(clause) for clause in each.clauses} == {"a=x", "b=y"})
    assert (pair.risk.n, pair.risk.wrong) == (planted.sum(), (planted & wrong).sum())
    assert pair.risk == measure_risk(planted, wrong) and pair.interval[0] > 1 and pair.p_holm < 0.05
    assert not any("c=" in str(clause) for each in found.slices for clause in each.clauses)
    assert search_slices(columns, np.arange(1000) % 7 == 0).tried == 9 + 3 * 9
    assert search_slices(columns, np.zeros(1000, bool)).slices == ()
    assert search_slices(columns, np.ones(1000, bool)).tried == 0
    assert search_slices([], np.arange(4) > 2).slices == ()
    for seed in range(5):
        assert search_slices(columns, np.random.default_rng(seed).random(1000) < 0.2).slices == ()
    truth, said = np.tile(["p", "q"], 200), np.repeat(["p", "q"], 200)
    found = search_slices([facet("true", truth.tolist()), facet("predicted", said.tolist())], truth != said)
    assert found.tried == 4 and all(len(each.clauses) == 1 for each in found.slices)
