import numpy as np
import pandas as pd
import pytest
from answering import answering

from core.error_analysis import query
from core.error_analysis.predictions_table import read_table
from core.exceptions import InputError
from core.runs.store import RunStore

CLASSES = ("bad", "good", "so so")


class Tagged:
    def match_tag(self, name):
        return np.arange(90) % 2 == 0


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(1)
    rows = pd.DataFrame(
        {
            "text": [f"{('Not', 'very', '100%')[n % 3]} good (no. {n})" for n in range(90)],
            "label": random.integers(0, 3, 90),
            "source": [("web", "paper", None)[n % 3] for n in range(90)],
            "year": [f"{2000 + n % 20}" for n in range(90)],
            "stars": random.integers(1, 6, 90) / 2,
            "a=b": ["x"] * 45 + ["y"] * 45,
            "id": [1234567890123456789 + n for n in range(90)],
            "when": [
                None if n == 4 else f"2026-{1 + n % 12:02}-{1 + n % 28:02}{' 14:05' * (n % 2)}" for n in range(90)
            ],
            "posted": [f"{1 + n % 12}/{1 + n // 12}/2026" for n in range(90)],
        }
    )
    store = RunStore(tmp_path_factory.mktemp("rules") / "runs")
    answering(store, "one", random.dirichlet(np.ones(3), 90), rows, classes=CLASSES)
    return read_table(store, "one")


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("wrong", lambda f: f["true"] != f["predicted"]),
        ("right", lambda f: f["true"] == f["predicted"]),
        ("all", lambda f: f["row"] >= 0),
        ("true=so so", lambda f: f["true"] == "so so"),
        ("predicted != good", lambda f: f["predicted"] != "good"),
        ("margin<0.2", lambda f: f["margin"] < 0.2),
        ("margin=0.1..0.3", lambda f: f["margin"].between(0.1, 0.3)),
        ("margin!=0.1..0.3", lambda f: ~f["margin"].between(0.1, 0.3)),
        ("p_true >= .5", lambda f: f["p_true"] >= 0.5),
        ("row=7", lambda f: f["row"] == 7),
        ("text~NOT GOOD", lambda f: f["text"].str.contains("not good", case=False, regex=False)),
        ("text!~(no.", lambda f: ~f["text"].str.contains("(no.", regex=False)),
        ("source=web", lambda f: f["source"] == "web"),
        ("source=", lambda f: f["source"].isna() | (f["source"] == "None")),
        ("source~AP", lambda f: f["source"] == "paper"),
        ("year>=2010", lambda f: f["year"].astype(int) >= 2010),
        ("year=2003..2004", lambda f: f["year"].isin(["2003", "2004"])),
        ("year=2003", lambda f: f["year"] == "2003"),
        ("stars=1.5", lambda f: f["stars"] == 1.5),
        ("stars=2", lambda f: f["stars"] == 2),
        ("a=b=x", lambda f: f["row"] < 45),
        ("id=1234567890123456790", lambda f: f["row"] == 1),
        ("tag=any", lambda f: f["row"] % 2 == 0),
        ("tag!=any", lambda f: f["row"] % 2 == 1),
        ("source=nowhere", lambda f: f["row"] < 0),
        ("word=not", lambda f: f["text"].str.contains(r"\bnot\b", case=False)),
        ("word = Very GOOD", lambda f: f["text"].str.contains(r"\bvery good\b", case=False)),
        ("word!=ot", lambda f: f["row"] >= 0),
        ("word=good no", lambda f: f["row"] < 0),  # a bracket comes between
        ("when>=2026-03", lambda f: pd.to_datetime(f["when"], format="ISO8601") >= "2026-03-01"),
        ("when<=2026-03-03", lambda f: pd.to_datetime(f["when"], format="ISO8601") < "2026-03-04"),
        ("when>2026-03-04 14:05", lambda f: pd.to_datetime(f["when"], format="ISO8601") >= "2026-03-04 14:06"),
        ("when<5 March 2026", lambda f: pd.to_datetime(f["when"], format="ISO8601") < "2026-03-05"),
        ("when=2026-01-01..2026-03", lambda f: pd.to_datetime(f["when"], format="ISO8601").dt.month <= 3),
        ("when!=2026-02", lambda f: pd.to_datetime(f["when"], format="ISO8601").dt.month != 2),
        ("when=", lambda f: f["row"] == 4),
        ("when~-03-", lambda f: f["when"].str.contains("-03-", na=False)),
        ("posted=3/1/2026", lambda f: f["posted"] == "3/1/2026"),
    ],
)
def test_filter_rules_equal_pandas_queries(table, clause, wanted):
    found = query.match_rows(query.parse_rules([clause], table), table, Tagged())
    np.testing.assert_array_equal(found, wanted(table.frame).to_numpy(bool))


def test_rules_are_combined_and_round_trip(table):
    frame = table.frame
    found = query.match_rows(query.parse_rules(["wrong", "true=good", "text~very"], table), table)
    expected = (frame["true"] == "good") & (frame["predicted"] != "good") & frame["text"].str.contains("very")
    np.testing.assert_array_equal(found, expected)
    assert query.match_rows((), table).all()
    clauses = ["wrong", "true=so so", "margin=0.1..0.3", "text~=a", "a=b=x"]
    assert list(map(str, query.parse_rules(clauses, table))) == clauses
    assert [query.is_code_rule(rule) for rule in ("coded", "uncoded", "code=a", "code!=a")] == [True] * 4
    assert not any(map(query.is_code_rule, ("wrong", "text~code=a", "coder=a", "codes", "noted")))
    assert all(map(query.is_private_rule, ("coded", "code=a", "noted", "unnoted")))
    assert not query.is_private_rule("noted=a")


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("", "write wrong, right, all, coded, uncoded, noted or unnoted, or a name, a sign and a value"),
        ("true", "Names: true, predicted, margin"),
        ("origin=web", "text, word, key, tag, code, source, year"),
        ("true=god", "no class 'god'; the classes are bad, good, so so"),
        ("true<2", "of true there is true!=, true="),
        ("margin=low", "'low' is no number; write margin<0.2, or margin=0.1..0.2"),
        ("margin<0.1..0.2", "is no number"),
        ("margin=0.3..0.1", "the range ends before it begins"),
        ("margin=nan", "is no number"),
        ("source<3", "no value of source is a number or a date; write source= or source~"),
        ("word=", "word takes words, as in not good, without marks; text~ finds any piece"),
        ("word=good!", "word takes words"),
        ("word~good", "of word there is word!=, word="),
        ("when>=soon", "'soon' is no date; write when>=2026-01-31, or when=2026-01-01..2026-03-31 for all between"),
        ("when<3/4/2026", "'3/4/2026' is no date"),
        ("when=2026-04..2026-03", "the range ends before it begins"),
        ("posted>=2026-03-31", "2/1/2026 may be 1 February or 2 January; write dates as 2026-03-31 in the data"),
        ("text~", "write what text is to contain"),
    ],
)
def test_invalid_rules_are_refused_with_the_valid_ones(table, clause, said):
    with pytest.raises(InputError) as refused:
        query.parse_rules([clause], table)
    assert str(refused.value).startswith(f"--where {clause}") and said in str(refused.value)


def test_multi_label_class_rules_match_any_label_of_the_text(tmp_path):
    rows = pd.DataFrame({"text": ["one", "two", "three"], "label": [(0, 1), (), (1,)]})
    store = RunStore(tmp_path)
    answering(store, "many", [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]], rows, classes=("late", "loud"))
    table = read_table(store, "many")

    def chosen(clause):
        return np.flatnonzero(query.match_rows(query.parse_rules([clause], table), table)).tolist()

    assert chosen("true=loud") == [0, 2] and chosen("true=none of them") == [1]
    assert chosen("missed=loud") == [0] and chosen("invented=loud") == [1] and chosen("invented!=loud") == [0, 2]
