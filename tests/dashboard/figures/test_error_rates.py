"""Error rates by tag, found and saved slices."""

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts
from knowing import known_of
from sklearn.metrics import f1_score

from core import api
from core.error_analysis.selection import Selection
from core.error_analysis.slices import save_slice
from core.error_analysis.tags import CONSEQUENCES
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.runs.store import RunStore
from dashboard.figures import error_rates as rates
from dashboard.figures.error_rates import CLASS, build_class_table, build_slice_table, draw_slice_table, read_slices
from dashboard.figures.figure import Source
from dashboard.figures.interval_table import Mark, TextCell
from dashboard.figures.row_selection import apply_query
from dashboard.figures.theme import Look
from dashboard.reader import Reader

ROWS = 400


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return web_and_phone(tmp_path_factory.mktemp("web"))


def web_and_phone(tmp_path, rows=ROWS):
    """Rows with more errors if column `source` is `web`; every third row ends with a question mark."""
    random, labels = np.random.default_rng(0), np.arange(rows) % 2
    source = np.where(np.arange(rows) % 4 == 0, "web", "phone")
    right = random.random(rows) > np.where(source == "web", 0.6, 0.1)
    frame = texts(labels, source=source)
    frame["text"] = [f"{text}{'?' * (row % 3 == 0)}" for row, text in enumerate(frame["text"])]
    return known_of(tmp_path, right_where(right, labels), frame)


@pytest.mark.slow
def test_each_number_matches_a_query_and_consequences_come_last(web):
    known, store = web
    shown, frame = rates.count_errors(apply_query(known, "wrong", store)), known.table.frame
    table = rates.build_rates_table(shown).frame.set_index("rule")
    web, asks, wrong = frame["source"] == "web", frame["text"].str.contains("?", regex=False), frame["wrong"]
    for rule, has in (("source=web", web), ("tag=question", asks)):
        row = table.loc[rule]
        assert (row["n"], row["wrong"]) == (has.sum(), (has & wrong).sum())
        assert row["rate"] == pytest.approx(wrong[has].mean())
        assert row["excess"] == pytest.approx((has & wrong).sum() - has.sum() * wrong[~has].mean())
    assert table.loc["source=web", "ratio"] == pytest.approx(wrong[web].mean() / wrong[~web].mean())
    marks = rates.build_rates_table(shown).marks
    assert marks.rows[0].id == "source=web" and not marks.rows[0].cells["ratio"].tie
    assert len(marks.rows) <= rates.SHOWN + 2
    last = marks.rows[-1]
    assert last.id == "tag=sure and wrong" and last.apart and "ratio" not in last.cells
    assert isinstance(last.cells["name"], TextCell) and last.cells["name"].small == "no cause"
    assert CONSEQUENCES == {"neighbours conflict"}
    only = rates.count_errors(apply_query(known, "wrong;source=phone", store))
    assert (only.picked, shown.picked) == ("source=phone", "")


@pytest.mark.slow
def test_exhibit_has_few_rows_and_marks_the_one_of_the_finding(web, monkeypatch):
    known, store = web
    shown = rates.count_errors(apply_query(known, "all", store))
    monkeypatch.setattr(rates, "PRESENTED", 3)
    told = rates.GATHERED.exhibit(shown, Look()).data
    rows = [node[1]["data-id"] for node in told["table"][-1][2:]]
    assert rows == [row["tag"] for row in shown.shown[:3]] and not told["picks"]
    plain = [{**row, "differs": False} for row in shown.shown[:3]]
    negated = {**plain[0], "tag": "tag=negation", "differs": True, "excess": 0.5}
    told = rates.GATHERED.exhibit(rates.ErrorRates(shown.analysis, [*plain, negated]), Look()).data
    assert [node[1]["data-id"] for node in told["table"][-1][2:]] == [*rows[:2], "tag=negation"]
    assert told["picked"] == "tag=negation"


@pytest.mark.slow
def test_command_line_has_the_same_tests_and_slices(web):
    known, store = web
    page = rates.build_rates_table(rates.count_errors(apply_query(known, "wrong", store))).frame.set_index("rule")
    told = api.errors("one", tags=True, store=store)
    rows = {f"tag={row['tag']}": row for row in told["tags"]} | {row["rule"]: row for row in told["values"]}
    assert rows.keys() >= set(page.index) and {"source=web", "source=phone"} <= rows.keys()
    names = ["n", "wrong", "p", "p_holm", "differs"]
    for rule, row in page[names].iterrows():
        assert [rows[rule][name] for name in names] == [None if pd.isna(value) else value for value in row]
    assert rows["source=web"]["selected"] == (known.table.frame["source"].eq("web") & known.table.wrong).sum()
    slices = rates.build_slices_table(rates.find_slices(apply_query(known, "wrong", store))).frame
    assert [each["select"] for each in told["slices"]] == slices["rules"].tolist()
    assert "source=web" in set(slices["rules"])


@pytest.mark.slow
def test_compared_run_has_a_row_but_is_no_slice(tmp_path):
    known, store = web_and_phone(tmp_path)
    labels, rows = known.table.true.argmax(1), known.table.frame[["text", "source"]].assign(label=0)
    other = np.arange(ROWS) % 5 > 0
    answering(store, "two", right_where(other, labels), rows.assign(label=labels), model__width=64)
    source = Source(store.read("one"), Reader(store), others=[store.read("two")])
    rule, apart = "tag=models disagree with two", (other == known.table.wrong)
    (mark,) = (row for row in rates.build_rates_table(rates.GATHERED.read(source)).marks.rows if row.id == rule)
    assert mark.cells["n"] == str(apart.sum()) and mark.cells["name"].small == "with two"
    after = apply_query(known, f"all;{rule}", store)
    np.testing.assert_array_equal(after.rows, apart)
    assert after.description == "all, models disagree with two"
    found = rates.find_slices(apply_query(known.add_peer_run("two"), "all", store))
    slices = rates.build_slices_table(found).marks.rows
    assert not any(rule in each.id for each in slices)


@pytest.mark.slow
def test_few_sentences_have_counts_only(tmp_path):
    known, store = web_and_phone(tmp_path, 20)
    shown = rates.count_errors(apply_query(known, "wrong", store))
    columns = rates.build_rates_table(shown).marks.columns
    assert shown.has_only_counts and [column.key for column in columns] == ["name", "n", "rate", "excess"]


@pytest.mark.slow
def test_axis_has_doublings_on_both_sides_of_one_and_rules_have_names():
    row = {"ratio": 3.0, "ratio_interval": [1.5, 5.0], "p_holm": 0.01, "differs": True}
    axis = rates.build_ratio_axis([rates.mark_ratio(row), Mark()])
    assert axis.ticks == (-1.0, 0.0, 1.0, 2.0, 3.0) and axis.labels == ("½", "1", "2", "4", "8") and axis.zero == 0
    mark = rates.mark_ratio(row)
    assert mark.value == pytest.approx(np.log2(3)) and mark.said == "3.00 (1.50 to 5.00), p after Holm = 0.010"
    far = rates.mark_ratio({"ratio": None, "ratio_interval": [2.0, None], "p_holm": 0.0, "differs": True})
    assert (far.value, far.high, far.said) == (4.0, 4.0, "no errors elsewhere (2.00 and more), p after Holm < 0.001")
    assert [rates.name_rule(rule) for rule in ("tag=negation", "source=web", "source=", "unseen=True")] == [
        *("negation", "source web", "source missing", "unseen")
    ]


@pytest.fixture
def known(tmp_path):
    """600 rows that are wrong where two columns coincide."""
    rows, random = np.arange(600), np.random.default_rng(0)
    one, two = (random.choice(list("xy"), 600) for _ in range(2))
    right = random.random(600) > np.where((one == "x") & (two == "x"), 0.8, 0.05)
    return known_of(tmp_path, right_where(right, rows % 2), texts(rows % 2, one=one, two=two))


@pytest.mark.slow
def test_planted_pair_is_found_with_its_numbers_and_can_be_picked(known):
    shown, frame = rates.find_slices(apply_query(known[0], "wrong", known[1])), known[0].table.frame
    table = rates.build_slices_table(shown).frame.set_index("rules")
    both = (frame["one"] == "x") & (frame["two"] == "x")
    row = table.loc["one=x;two=x"]
    assert (row["n"], row["wrong"]) == (both.sum(), (both & frame["wrong"]).sum())
    assert row["ratio"] == pytest.approx(frame["wrong"][both].mean() / frame["wrong"][~both].mean())
    assert "one=x;two=x" in [each.id for each in rates.build_slices_table(shown).marks.rows]
    assert rates.find_slices(apply_query(known[0], "wrong;two=x;one=x", known[1])).picked == "one=x;two=x"
    assert rates.find_slices(apply_query(known[0], "wrong", known[1])).picked == ""
    found = rates.find_slices(apply_query(known[0], "wrong", known[1])).found
    assert all(rates.format_rules(each) for each in found.slices)


@pytest.fixture
def store(tmp_path):
    store, rows = RunStore(tmp_path / "runs"), np.arange(40)
    answering(store, "one", right_where(rows >= 6, rows % 2), texts(rows % 2))
    return store


def source_of(store):
    return Source(store.read("one"), Reader(store), split="test")


def test_each_slice_has_its_errors_and_unfolds_to_its_classes(store):
    with pytest.raises(NotAvailable, match="no slice of these data was saved"):
        read_slices(source_of(store))
    save_slice(store, store.read("one"), "good", Selection(("true=good",)))
    shown = read_slices(source_of(store))
    whole, good = draw_slice_table(shown).rows
    assert [each.id.split(CLASS) for each in good.children] == [["good", "bad"], ["good", "good"]]
    bad, of_good = good.children
    assert "right" not in bad.cells and not bad.picks and bad.cells["name"].small == "precision 0.00 (0.00 to 0.56)"
    assert of_good.cells["right"].value == 0.85 and of_good.picks
    assert [each.cells["n"] for each in whole.children] == ["20", "20"] and all(each.picks for each in whole.children)
    of_classes = build_class_table(shown).set_index("class")
    assert of_classes.loc["good", "recall"] == 0.85 and np.isnan(of_classes.loc["bad", "recall"])
    record = store.read("one")
    save_slice(store, record, "nobody", Selection(("text~nobody",)))
    save_slice(store, record, "no class", Selection(("true=none",)))
    save_slice(store, record, "elsewhere", Selection(("wrong",), "validation"))
    shown = read_slices(source_of(store))
    table = build_slice_table(shown).set_index("name")
    assert list(table.index) == ["good", "no class", "nobody"]
    assert tuple(table.loc["good", ["n", "wrong", "rate"]]) == (20, 3, 0.15)
    assert table.loc["good", "accuracy"] == 0.85 and np.isnan(table.loc["nobody", "f1_macro"])
    first, good, other, nobody = draw_slice_table(shown).rows
    assert (first.cells["right"].value, first.cells["rate"], first.picks) == (0.85, "0.850", False)
    assert (good.cells["right"].low, good.cells["right"].high) == pytest.approx(compute_wilson(17, 20)) and good.picks
    assert good.cells["f1"].value == pytest.approx(f1_score(np.ones(20), np.arange(20) >= 3, average="macro"))
    assert "no class 'none'" in other.cells["name"].small and not other.picks and "n" not in other.cells
    assert nobody.cells["n"] == "0" and "right" not in nobody.cells and not nobody.picks
    assert nobody.cells["name"].small == "There is no sentence of it, so nothing is measured."
