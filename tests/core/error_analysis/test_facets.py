import numpy as np
import pandas as pd
import pytest
from answering import answering, texts
from refused import check_raises
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from core.error_analysis.facets import Facets, compute_cramer, find_clause, parse_search, rank_features
from core.error_analysis.predictions_table import read_table
from core.exceptions import InputError
from core.runs.store import RunStore


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Sixty rows of three classes with data columns of every kind."""
    store, random = RunStore(tmp_path_factory.mktemp("facets") / "runs"), np.random.default_rng(0)
    own = {
        "id": [f"tweet {row}" for row in range(60)],
        "number": np.arange(60),
        "source": random.choice(["web", "phone", None], 60, p=[0.6, 0.3, 0.1]),
        "likes": random.integers(0, 500, 60) // 3,
        "one": ["same"] * 60,
        "name": [f"name {row % 40}" for row in range(60)],
        "score": random.random(60),
        "date": [None if row == 7 else f"2026-{1 + row % 9:02}-{1 + row % 25:02}" for row in range(60)],
    }
    chances = random.dirichlet(np.ones(3), 60)
    answering(store, "one", chances, texts(random.integers(0, 3, 60), **own), classes=tuple("abc"))
    return read_table(store, "one")


@pytest.mark.slow
def test_facet_options_select_the_same_rows_as_pandas(table):
    frame, facets = table.frame, Facets(table)
    assert [facet.name for facet in facets.found] == [
        "outcome",
        "true",
        "predicted",
        "source",
        "likes",
        "score",
        "date",
    ]
    assert facets.asked == ("id", "number", "name")
    for facet in facets.found:
        for option in facet.options:
            value = option.clause.value
            if facet.name == "outcome":
                by_name = {"wrong": frame["wrong"], "right": ~frame["wrong"], "all": frame["row"] >= 0}
                expected = by_name[option.clause.name]
            elif facet.name in ("likes", "score"):
                expected = frame[facet.name].between(*map(float, value.split("..")))
            elif facet.name == "date" and value:
                expected = pd.to_datetime(frame["date"]).between(*value.split(".."))
            else:
                expected = frame[facet.name].fillna("") == value
            np.testing.assert_array_equal(option.has, expected, err_msg=str(option.clause))
    dates = facets.found[-1].options
    assert len(dates) == 5 and np.sum([option.has for option in dates], axis=0).tolist() == [1] * 60
    source, likes = (facet.options for facet in facets.found[3:5])
    assert [option.label for option in source] == ["web", "phone", "(none)"] and str(source[-1].clause) == "source="
    assert len(likes) == 4 and np.sum([option.has for option in likes], axis=0).tolist() == [1] * 60


@pytest.mark.slow
def test_typed_searches_find_rules_ids_or_text(table):
    asked = Facets(table).asked
    for typed, clause in (
        ("tweet 7", "id=tweet 7"),  # and not tweet 17
        ("weet 1", "id~weet 1"),
        ("12", "number=12"),
        ("name 12", "name=name 12"),
        ("nobody", "id=nobody"),
    ):
        assert str(find_clause(table, asked, typed)) == clause
    for typed, clause in (
        ("id=tweet 7", "id=tweet 7"),
        ("date >= 2026-03", "date>=2026-03"),
        ("tweet 7", "id=tweet 7"),
        ("text 7", "text~text 7"),
        ("weet 7", "id~weet 7"),
        ("right", "text~right"),
        ("a = b", "text~a = b"),
    ):
        assert str(parse_search(table, asked, typed)) == clause
    check_raises(InputError, "'soon' is no date", parse_search, table, asked, "date>=soon")


@pytest.mark.slow
def test_tags_come_between_classes_and_columns(table):
    found = Facets(table).list_facets({"question": np.arange(60) < 4, "emoji": np.zeros(60, bool)})
    assert [facet.name for facet in found] == [
        "outcome",
        "true",
        "predicted",
        "tag",
        "source",
        "likes",
        "score",
        "date",
    ]
    assert [(str(option.clause), int(option.has.sum())) for option in found[3].options] == [("tag=question", 4)]


def test_multi_label_tables_have_missed_and_invented(tmp_path):
    store = RunStore(tmp_path / "runs")
    rows = pd.DataFrame({"text": ["one", "two", "three"], "label": [(0, 1), (), (1,)]})
    answering(store, "many", [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]], rows, classes=("late", "loud"))
    facets = Facets(read_table(store, "many")).found
    assert [facet.name for facet in facets] == ["outcome", "true", "predicted", "missed", "invented"]
    assert [int(option.has.sum()) for option in facets[3].options] == [0, 1]


@pytest.fixture(scope="module")
def mixed_table(tmp_path_factory):
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


def test_dates_are_ranked_by_quartiles(tmp_path):
    days = pd.Series(pd.date_range("2026-01-01", periods=200))
    rows = texts(np.arange(200) % 2, date=days.dt.strftime("%d %B %Y"))
    answering(RunStore(tmp_path), "one", np.full((200, 2), 0.5), rows)
    (found,) = rank_features(read_table(RunStore(tmp_path), "one"), {}, (days >= "2026-05-31").to_numpy())
    assert found["name"] == "date" and found["value"] == f"{days[150]:%Y-%m-%d} to {days[199]:%Y-%m-%d}"
    assert (found["selected"], found["rest"]) == (50, 0) and found["v"] > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_cramers_v_and_p_equal_scipy_and_the_formula(seed):
    counts = np.random.default_rng(seed).integers(20, 90, (2, 2 + seed))
    v, p = compute_cramer(counts)
    found = chi2_contingency(counts, correction=False)
    n, k = counts.sum(), counts.shape[1]
    phi = max(0, found.statistic / n - (k - 1) / (n - 1))
    least = min(2 - 1 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    assert p == pytest.approx(found.pvalue) and v == pytest.approx((phi / least) ** 0.5)
    many = compute_cramer(counts * 10_000)[0]  # the correction vanishes
    assert many == pytest.approx(association(counts, method="cramer"), abs=1e-3)


@pytest.mark.slow
def test_shares_equal_pandas_and_the_strongest_feature_comes_first(mixed_table):
    frame = mixed_table.frame
    chosen = ((frame["source"] == "mail") | (frame["row"] < 20)).to_numpy()
    tags = {"odd": (frame["row"] % 2 == 1).to_numpy(), "early": (frame["row"] < 60).to_numpy()}
    found = rank_features(mixed_table, tags, chosen)
    assert [each["name"] for each in found][:2] == ["source", "early"]
    assert "same" not in {each["name"] for each in found}
    shares = pd.crosstab(frame["source"], chosen, normalize="columns")
    counts = pd.crosstab(frame["source"], chosen)
    assert (found[0]["value"], found[0]["selected"]) == ("mail", counts[True]["mail"])
    assert found[0]["rest"] == counts[False]["mail"] and found[0]["share"] == pytest.approx(shares[True]["mail"])
    assert found[0]["rest_share"] == pytest.approx(shares[False]["mail"])
    by_name = {each["name"]: each for each in found}
    assert by_name["early"]["selected"] == (chosen[:60]).sum() and by_name["early"]["value"] == "yes"
    assert all(each["p_holm"] >= each["p"] for each in found if each["p"] is not None)
    assert "source" not in {each["name"] for each in rank_features(mixed_table, tags, chosen, {"source"})}


def test_few_rows_have_no_p_and_empty_or_full_selections_no_features(mixed_table):
    few = np.arange(400) < 3
    assert all(each["p"] is None for each in rank_features(mixed_table, {"few": np.arange(400) < 4}, few))
    assert (
        rank_features(mixed_table, {}, np.zeros(400, bool)) == rank_features(mixed_table, {}, np.ones(400, bool)) == []
    )
