import json
import os

import numpy as np
import pytest
from answering import answering, texts
from refused import check_raises

from core.error_analysis import query, selection
from core.error_analysis.predictions_table import hash_texts, read_table
from core.error_analysis.selection import (
    ORDERS,
    PickedRows,
    Selection,
    describe_selection,
    parse_selection,
    read_picked,
    select_rows,
    store_picked,
)
from core.error_analysis.tags import TableTags
from core.exceptions import InputError, RunDamaged
from core.runs.store import RunStore


@pytest.fixture
def table(store):
    random = np.random.default_rng(2)
    rows = texts(random.integers(0, 3, 60), source=["web", "paper"] * 30)
    answering(store, "one", random.dirichlet(np.ones(3), 60), rows, classes=("bad", "so so", "good"))
    return read_table(store, "one")


@pytest.mark.parametrize(
    "selection",
    [
        Selection(("wrong", "true=bad", "predicted=good")),
        Selection(("text~a;b", "text~c\\", "text~\\;;"), "validation"),
        Selection(("ids:0123456789abcdef", "margin<0.2")),
        Selection(()),
        Selection(("text~two\nlines",)),
    ],
)
def test_a_selection_survives_a_link(selection):
    assert parse_selection(str(selection)) == selection


def test_rules_equal_typed_ones_and_pandas_and_the_most_confident_row_comes_first(store, table):
    assert str(Selection(("wrong", "true=bad"), "challenge")) == "split=challenge;wrong;true=bad"
    assert parse_selection(" wrong ;; truth=bad; ") == Selection(("wrong", "true=bad"))
    found = select_rows(Selection(("wrong", "source=web")), table, None, store)
    frame = table.frame
    expected = frame[(frame["true"] != frame["predicted"]) & (frame["source"] == "web")]
    assert len(expected) > 5
    assert found.places.tolist() == expected.sort_values("p_predicted", ascending=False, kind="stable").index.tolist()
    clauses, has = selection.match_selection(Selection(("wrong", "source=web")), table, None, store)
    assert np.flatnonzero(has).tolist() == expected.index.tolist() and str(clauses[1]) == "source=web"


def test_picked_sentences_keep_their_order_and_can_be_filtered(store, table):
    keys = table.frame["key"].tolist()
    rule = store_picked(store, PickedRows((keys[9], keys[4], keys[30]), "drawn on the map"))
    found = select_rows(Selection((rule,)), table, None, store)
    assert found.places.tolist() == [9, 4, 30] and describe_selection(found.clauses, found.group) == "drawn on the map"
    narrowed = select_rows(Selection((rule, "row=5..40")), table, None, store)
    assert narrowed.places.tolist() == [9, 30]
    assert describe_selection(narrowed.clauses, narrowed.group) == "drawn on the map, row 5 to 40"
    assert store_picked(store, PickedRows((keys[9], keys[4], keys[30]), "drawn on the map")) == rule
    assert PickedRows(("a",), "drawn on the map").digest == "5218d47e4bb063c8", (
        "of groups in links of before `by_outcome`"
    )
    assert store_picked(store, PickedRows((keys[9], keys[30], keys[4]), "drawn on the map")) != rule


@pytest.mark.parametrize(
    ("rules", "fixed"),
    [
        (["wrong"], True),
        (["right", "source=web"], True),
        (["true=bad", "predicted=good"], True),
        (["true=good", "predicted=good"], True),
        (["tag=sure and wrong"], True),
        (["true=bad"], False),
        (["true!=bad", "predicted!=bad"], False),
        (["source=web"], False),
    ],
)
def test_rules_on_outcomes_fix_the_outcome(store, table, rules, fixed):
    assert (
        selection.has_fixed_outcome(select_rows(Selection(tuple(rules)), table, TableTags(store, table), store), table)
        is fixed
    )


def test_samples_of_errors_fix_the_outcome_but_other_runs_errors_do_not(store, table):
    keys = table.frame["key"].to_numpy()
    wrong = np.flatnonzero(table.wrong)

    def fixed(places, **given) -> bool:
        rule = store_picked(store, PickedRows(tuple(keys[places]), "drawn", **given))
        return selection.has_fixed_outcome(select_rows(Selection((rule,)), table, None, store), table)

    assert fixed(wrong[:5], by_outcome=True) and not fixed(range(20), by_outcome=True)
    assert not fixed(wrong[:5]), "a group on a map that happens to be wrong is news"


def test_sentences_without_a_table_are_restored_and_missing_ones_reported(store, table):
    with pytest.raises(InputError, match=r"ids:0123456789abcdef are not stored here.*select them again$"):
        select_rows(Selection(("ids:0123456789abcdef",)), table, None, store)
    for rule in ("ids:../../etc/pass", "ids:", "ids:0123456789ABCDEF"):
        with pytest.raises(InputError, match="write 16 digits from 0 to f after ids:"):
            select_rows(Selection((rule,)), table, None, store)
    check_raises(InputError, "names no sentences", read_picked, store, "../one/record")
    check_raises(InputError, "take 1 to", store_picked, store, PickedRows(()))
    group = PickedRows(
        tuple(hash_texts(["not bad", "not bad"])), "fails", ("not bad", "not bad"), ("positive", "positive")
    )
    rule = store_picked(store, group)
    assert read_picked(store, rule.removeprefix("ids:")) == group and len(set(group.keys)) == 2


@pytest.mark.parametrize("harm", ["other", "cut", "uneven"])
def test_changed_files_are_refused(store, harm):
    digest = store_picked(store, PickedRows(("a", "b"))).removeprefix("ids:")
    path = store.folder / selection.FOLDER / f"{digest}.json"
    uneven = PickedRows(("a", "b"), texts=("only one",))
    if harm == "uneven":
        path = path.with_stem(uneven.digest)
        digest = uneven.digest
        path.write_text(json.dumps({"keys": ["a", "b"], "about": "", "texts": ["only one"], "labels": []}))
    else:
        path.write_text(path.read_text().replace('"b"', '"c"') if harm == "other" else path.read_text()[:9])
    check_raises(RunDamaged, f"{digest}.json", read_picked, store, digest)


def test_the_least_recently_used_list_is_deleted_first(store, monkeypatch):
    monkeypatch.setattr(selection, "MOST_KEPT", 3)
    kept = [store_picked(store, PickedRows((name,))) for name in "abc"]
    for number, rule in enumerate(kept):
        os.utime(store.folder / selection.FOLDER / f"{rule.removeprefix('ids:')}.json", (number, number))
    store_picked(store, PickedRows(("a",)))  # used again
    store_picked(store, PickedRows(("d",)))
    assert read_picked(store, kept[0].removeprefix("ids:")).keys == ("a",)
    check_raises(InputError, "not stored here", read_picked, store, kept[1].removeprefix("ids:"))


def test_stored_selections_are_limited(store, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_SELECTED_MB", "1")
    kept = [store_picked(store, PickedRows((name,), texts=(name * 400_000,))) for name in "abc"]
    for rule in kept[1:]:
        assert read_picked(store, rule.removeprefix("ids:")).texts
    check_raises(InputError, "not stored here", read_picked, store, kept[0].removeprefix("ids:"))
    with pytest.raises(InputError, match=r"at most 1 MB of sentences.* \(SENTISCOPE_SELECTED_MB\)"):
        store_picked(store, PickedRows(("d",), texts=("d" * 1_000_001,)))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["wrong", "true=bad", "predicted=so so"], "wrong, label bad, predicted so so"),
        (
            ["predicted!=good", "margin<0.2", "p_predicted=0.5..0.9"],
            "predicted not good, margin < 0.2, P(predicted class) 0.5 to 0.9",
        ),
        (["text~not", "text!~a b"], "with “not”, without “a b”"),
        (["source=web", "source!=", "source~ap"], "source web, source not missing, source with “ap”"),
        (["tag=negation", "tag!=question"], "negation, no question"),
        ([], "all"),
    ],
)
def test_selections_are_described_in_words(table, typed, said):
    assert describe_selection(query.parse_rules(typed, table)) == said


BY = {
    "sure": ([("p_predicted", False)]),
    "wrong": ([("wrong", False), ("p_predicted", False)]),
    "margin": ([("margin", True)]),
    "unsure": ([("p_predicted", True)]),
    "file": ([("row", True)]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_sort_orders_equal_pandas(tmp_path, order):
    store, random = RunStore(tmp_path / "runs"), np.random.default_rng(0)
    chances = random.integers(1, 10, (60, 3)).astype(float)  # whole numbers: many are equal
    answering(store, "one", chances / chances.sum(1, keepdims=True), texts(np.arange(60) % 3), classes=("a", "b", "c"))
    table, places = read_table(store, "one"), random.permutation(60)[:40]
    columns, ascending = zip(*BY[order], strict=True)
    rows = table.frame.iloc[np.sort(places)].sort_values(list(columns), ascending=list(ascending), kind="stable")
    assert selection.sort_rows(table, places, order).tolist() == rows["row"].tolist()
    assert selection.sort_rows(table, places, "").tolist() == places.tolist()
    with pytest.raises(InputError, match="no order x; there are sure, wrong, margin, unsure, file"):
        selection.sort_rows(table, places, "x")
