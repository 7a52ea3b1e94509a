"""What marks a selection: counts against pandas, p against SciPy, V against its formula written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from answering import answering, texts
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from core.failures.marking import cramer, marking
from core.failures.table import read_table
from core.runs.store import RunStore


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(0)
    columns = {
        "source": random.choice(["web", "paper", "mail"], 400),
        "year": random.integers(1990, 2020, 400),
        "same": ["x"] * 400,
        "id": [f"t-{n}" for n in range(400)],
    }
    store = RunStore(tmp_path_factory.mktemp("marking"))
    answering(store, "one", random.dirichlet(np.ones(2), 400), texts(random.integers(0, 2, 400), **columns))
    return read_table(store, "one")


def test_dates_mark_by_quarters(tmp_path):
    days = pd.Series(pd.date_range("2026-01-01", periods=200))
    rows = texts(np.arange(200) % 2, date=days.dt.strftime("%d %B %Y"))
    answering(RunStore(tmp_path), "one", np.full((200, 2), 0.5), rows)
    (found,) = marking(read_table(RunStore(tmp_path), "one"), {}, (days >= "2026-05-31").to_numpy())
    assert found["name"] == "date" and found["value"] == f"{days[150]:%Y-%m-%d} to {days[199]:%Y-%m-%d}"
    assert (found["selected"], found["rest"]) == (50, 0) and found["v"] > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_v_and_p_are_those_of_scipy_and_of_the_formula(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(20, 90, (2, 2 + seed))
    v, p = cramer(counts)
    found = chi2_contingency(counts, correction=False)
    n, k = counts.sum(), counts.shape[1]
    phi = max(0, found.statistic / n - (k - 1) / (n - 1))
    least = min(2 - 1 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    assert p == pytest.approx(found.pvalue) and v == pytest.approx((phi / least) ** 0.5)
    many = cramer(counts * 10_000)[0]  # the correction vanishes
    assert many == pytest.approx(association(counts, method="cramer"), abs=1e-3)


@pytest.mark.slow
def test_shares_are_those_of_pandas_and_what_marks_most_stands_first(table):
    frame = table.frame
    chosen = ((frame["source"] == "mail") | (frame["row"] < 20)).to_numpy()
    tags = {"odd": (frame["row"] % 2 == 1).to_numpy(), "early": (frame["row"] < 60).to_numpy()}
    found = marking(table, tags, chosen)
    assert [each["name"] for each in found][:2] == ["source", "early"]
    assert "same" not in {each["name"] for each in found}
    shares = pd.crosstab(frame["source"], chosen, normalize="columns")
    counts = pd.crosstab(frame["source"], chosen)
    assert (found[0]["value"], found[0]["selected"]) == ("mail", counts[True]["mail"])
    assert found[0]["rest"] == counts[False]["mail"]
    assert found[0]["share"] == pytest.approx(shares[True]["mail"])
    assert found[0]["rest_share"] == pytest.approx(shares[False]["mail"])
    by_name = {each["name"]: each for each in found}
    assert by_name["early"]["selected"] == (chosen[:60]).sum() and by_name["early"]["value"] == "yes"
    assert all(each["p_holm"] >= each["p"] for each in found if each["p"] is not None)
    assert "source" not in {each["name"] for each in marking(table, tags, chosen, {"source"})}


def test_few_rows_have_no_p_and_nothing_or_everything_no_marks(table):
    few = np.arange(400) < 3
    assert all(each["p"] is None for each in marking(table, {"few": np.arange(400) < 4}, few))
    assert marking(table, {}, np.zeros(400, bool)) == marking(table, {}, np.ones(400, bool)) == []
