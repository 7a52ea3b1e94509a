import json
import shutil
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pandas as pd
import pytest
from answering import answering, texts
from refused import check_raises
from starters import STARTERS

from core.error_analysis import query, slices
from core.error_analysis.annotation_files import format_annotations, import_annotations
from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.counter_examples import keep_example, read_examples
from core.error_analysis.facets import parse_search
from core.error_analysis.label_errors import LabelErrors
from core.error_analysis.predictions_table import (
    ALIASES,
    cut_quarters,
    hash_texts,
    parse_dates,
    parse_span,
    read_table,
    rename_rule,
)
from core.error_analysis.selection import FOLDER, Selection, parse_selection, select_rows
from core.error_analysis.tags import TableTags
from core.exceptions import InputError
from core.fingerprint import hash_value
from core.runs.store import RunStore


def test_row_values_follow_from_the_probabilities(store):
    random = np.random.default_rng(0)
    chances, labels = random.dirichlet(np.ones(4), 50), random.integers(0, 4, 50)
    answering(store, "one", chances, texts(labels), classes=tuple("abcd"))
    frame = read_table(store, "one").frame
    ordered = np.sort(chances, 1)
    assert frame["true"].tolist() == ["abcd"[label] for label in labels]
    assert frame["predicted"].tolist() == ["abcd"[number] for number in chances.argmax(1)]
    np.testing.assert_allclose(frame["p_true"], chances[np.arange(50), labels])
    np.testing.assert_allclose(frame["p_predicted"], ordered[:, -1])
    np.testing.assert_allclose(frame["margin"], ordered[:, -1] - ordered[:, -2])
    assert (frame["wrong"] == (frame["true"] != frame["predicted"])).all()
    assert frame["row"].tolist() == list(range(50)) and frame["key"].is_unique


def test_multi_label_rows_have_missed_and_invented_at_tuned_thresholds(store):
    rows = pd.DataFrame({"text": ["one", "two", "three"], "label": [(0, 1), (), (1,)]})
    answering(store, "many", [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]], rows, classes=("late", "loud"))
    frame = read_table(store, "many").frame
    assert frame["true"].tolist() == ["late, loud", "none of them", "loud"]
    assert frame["predicted"].tolist() == ["late", "loud", "loud"]
    assert frame["missed"].tolist() == ["loud", "none of them", "none of them"]
    assert frame["invented"].tolist() == ["none of them", "loud", "none of them"]
    assert frame["wrong"].tolist() == [True, True, False]
    np.testing.assert_allclose(frame["p_true"], [0.3, 0.2, 0.8])
    np.testing.assert_allclose(frame["p_predicted"], [0.7, 0.8, 0.8])
    np.testing.assert_allclose(frame["margin"], [0.2, 0.3, 0.3])
    rows = pd.DataFrame({"text": ["one"], "label": [(1,)]})
    tuned = {"tuned": {"thresholds": {"late": 0.95, "loud": 0.2}}}
    answering(store, "tuned", [[0.9, 0.3]], rows, classes=("late", "loud"), results=tuned)
    frame = read_table(store, "tuned").frame
    assert frame["predicted"].tolist() == ["loud"] and not frame["wrong"].any()
    np.testing.assert_allclose(frame["margin"], [0.05])


def test_own_columns_are_prefixed_and_the_default_split_is_test(store):
    answering(store, "one", [[0.2, 0.8]], texts([1], id=["t-7"], truth=["mine"], ids=["7"], source=["web"]))
    table = read_table(store, "one")
    assert table.own == ("id", "data:truth", "data:ids", "source")
    assert table.frame.loc[0, list(table.own)].tolist() == ["t-7", "mine", "7", "web"]
    answering(store, "two", [[0.2, 0.8]], texts([1]), split="validation")
    assert read_table(store, "two").split == "validation"
    check_raises(InputError, "no predictions of a split 'test'; it has validation", read_table, store, "two", "test")


def test_keys_depend_only_on_the_text_and_repeats_are_numbered():
    assert hash_texts(["a", "b", "a"])[:2] == hash_texts(["a", "b"])
    assert hash_texts(["b", "a"]) == hash_texts(["a", "b"])[::-1]
    assert hash_texts(["a", "a", "a"]) == [hash_texts(["a"])[0] + end for end in ("", "-2", "-3")]
    assert hash_texts(["\ud800"]) != hash_texts(["?"])


PAIRS = [
    ("truth=bad", "true=bad"),
    ("said != good", "predicted!=good"),
    ("p_truth>=.4", "p_true>=.4"),
    (" p_said=0.4..0.6 ", "p_predicted=0.4..0.6"),
]


@pytest.fixture
def old_store(tmp_path):
    old_store, random = RunStore(tmp_path / "runs"), np.random.default_rng(4)
    rows = texts(random.integers(0, 2, 60), source=["web", "paper"] * 30)
    answering(old_store, "one", random.dirichlet(np.ones(2), 60), rows)
    return old_store


def select(old_store, table, link):
    return select_rows(parse_selection(link), table, None, old_store).places.tolist()


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_old_rules_select_the_same_rows_and_are_renamed(old_store, old, new):
    table = read_table(old_store, "one")
    [clause] = query.parse_rules([old], table)
    assert [clause] == [*query.parse_rules([new], table)] == [parse_search(table, (), old.strip())]
    assert str(clause) == new and 0 < len(select(old_store, table, old)) < 60
    assert select(old_store, table, f"split=test;wrong;{old}") == select(old_store, table, f"split=test;wrong;{new}")
    assert Selection((old,)) == Selection((rename_rule(old),))


def test_old_links_also_of_counterexamples_are_read_and_rewritten(old_store):
    found = parse_selection(r"wrong;truth=a\;truth=b;said!=c;p_said<0.5;text~truth=d;truths=e")
    assert str(found) == r"wrong;true=a\;truth=b;predicted!=c;p_predicted<0.5;text~truth=d;truths=e"
    table, link = read_table(old_store, "one"), f"errors?run=one&select={quote('truth=bad;said=good')}"
    keep_example(old_store.folder, "not bad", "bad", link=link)
    [one] = read_examples(old_store.folder)
    [old] = parse_qs(urlsplit(one.link).query)["select"]
    assert select(old_store, table, old) == select(old_store, table, "true=bad;predicted=good") != []


def test_own_columns_with_reserved_names_are_prefixed(old_store):
    own = {name: ["x", "y"] for name in ("said", "truth", "predicted", "true", "p_said", "truths", "data:true")}
    answering(old_store, "own", [[0.2, 0.8], [0.3, 0.7]], texts([1, 0], **own))
    table = read_table(old_store, "own")
    names = {"data:said", "data:truth", "data:predicted", "data:true", "data:p_said", "truths"}
    assert set(table.own) == {*names, "data:true (2)"}  # the one that was called so
    for name in table.own:
        assert select(old_store, table, f"{name}=y") == [1], name
    assert select(old_store, table, "truth=good") == select(old_store, table, "true=good") == [0]


def test_slices_and_selections_of_earlier_versions_open(old_store):
    record, table = old_store.read("one"), read_table(old_store, "one")
    slices.save_slice(old_store, record, "sure", Selection(("source=web",), "test"))
    [path] = (old_store.folder / slices.FOLDER).glob("*/*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"select": "split=test;truth=bad;p_said>0.6"}))
    [one] = slices.read_slices(old_store, record)
    assert one.select == "split=test;true=bad;p_predicted>0.6"
    found = slices.report_slice(old_store, table, TableTags(old_store, table), one)
    assert found["where"] == ["true=bad", "p_predicted>0.6"] and found["problem"] == ""
    assert found["n"] == len(select(old_store, table, one.select)) > 0
    again = slices.save_slice(old_store, record, "sure", parse_selection("split=test;truth=bad;p_said>0.6"))
    assert again == one and slices.find_slice(old_store, record, "sure") == parse_selection(one.select)
    kept = {"keys": table.frame["key"].iloc[[5, 2]].tolist(), "about": "true bad, said good", "texts": [], "labels": []}
    name = hash_value(kept)[:16]
    (old_store.folder / FOLDER).mkdir()
    (old_store.folder / FOLDER / f"{name}.json").write_text(json.dumps(kept))
    assert select(old_store, table, f"ids:{name}") == [5, 2]


def test_exports_with_old_columns_can_be_imported(old_store, tmp_path):
    table = read_table(old_store, "one")
    codes = Codes(old_store.folder, get_data_name(table.record))
    with codes.ledger.begin_change(codes.data, "ann", "irony") as change:
        codes.add_names(change, ["irony"])
        codes.set_codes(change, table.frame["key"].iat[3], "ann", ["irony"], "one")
    before, file = codes.read_annotations().given, tmp_path / "codes.csv"
    header, _, lines = format_annotations(table, [True] * 60, codes, codes.read_annotations()).decode().partition("\n")
    assert "true,predicted,p_true,p_predicted" in header
    file.write_text(f"{header.replace('true,predicted,p_true,p_predicted', 'truth,said,p_truth,p_said')}\n{lines}")
    assert import_annotations(codes, table, file)["rows"] == 1 and codes.read_annotations().given == before


def test_stored_label_errors_of_earlier_versions_are_read(old_store):
    row = {"split": "test", "row": 0, "key": "k", "text": "a", "likely": True}
    row |= {"likelier": "good", "p_likelier": 0.9, "margin": -0.8}
    old = row | {"truth": "bad", "p_truth": 0.1}
    conflicts = [{"text": "a", "labels": {"bad": 1, "good": 1}, "rows": [{"split": "test", "row": 0, "truth": "bad"}]}]
    found = LabelErrors.from_run(old_store, old_store.read("one"), "test")
    found.folder.mkdir(parents=True, exist_ok=True)
    found.write({"rows": [old], "likely": {}, "n": {}, "left_out": "", "conflicts": conflicts}, 0.0)
    now = found.read()
    assert now["rows"] == [row | {"true": "bad", "p_true": 0.1}]
    assert now["conflicts"][0]["rows"] == [{"split": "test", "row": 0, "true": "bad"}]


def test_a_run_of_an_earlier_version_opens(tmp_path):
    """A starter's predictions were written before the names changed."""
    shutil.copytree(STARTERS / "starter-lexical-last", tmp_path / "starter-lexical-last")
    old_store = RunStore(tmp_path)
    table = read_table(old_store, "starter-lexical-last", "challenge")
    stored = pd.read_parquet(tmp_path / "starter-lexical-last/evaluation/challenge/predictions.parquet")
    assert table.frame["true"].tolist() == stored["label"].tolist()
    assert table.frame["predicted"].tolist() == stored["predicted"].tolist()
    places = select(old_store, table, "truth=positive;said=negative")
    assert len(places) == ((stored["label"] == "positive") & (stored["predicted"] == "negative")).sum() > 0


def test_renamed_json_keys_follow_the_aliases():
    table = json.loads((STARTERS.parent / "tests" / "contracts" / "renamed.json").read_text())
    assert {old: new for old, new in table.items() if old in ALIASES} == {
        k: v for k, v in ALIASES.items() if k in table
    }
    assert {new for old, new in table.items() if old.endswith("said")} == {"predicted", "p_predicted"}


@pytest.mark.parametrize(
    "format",
    [
        *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d %B %Y", "%b %d, %Y", "%d-%m-%Y", "%m/%d/%Y %H:%M"),
        *("%a %b %d %H:%M:%S +0000 %Y", "%a, %d %b %Y %H:%M:%S +0000"),
    ],
)
def test_dates_of_one_format_equal_pandas(format):
    told = pd.Series(pd.date_range("2025-12-28 01:02:03", periods=40, freq="31h")).dt.strftime(format)
    expected = pd.to_datetime(told, format=format, utc=True)
    pd.testing.assert_series_equal(parse_dates(told), expected, check_dtype=False, check_names=False)
    with_gaps = pd.concat([told, pd.Series([None, "not known"])], ignore_index=True)
    assert parse_dates(with_gaps).notna().tolist() == [True] * 40 + [False] * 2


def test_zones_convert_to_utc_and_ambiguous_dates_are_refused():
    (first, second) = parse_dates(pd.Series(["2026-03-31T01:00:00+02:00", "2026-03-31"]))
    assert first == pd.Timestamp("2026-03-30 23:00", tz="UTC") and second == pd.Timestamp("2026-03-31", tz="UTC")
    assert parse_dates(pd.Series(pd.to_datetime(["2026-03-31"])))[0] == second
    with pytest.raises(InputError, match="03/04/2026 may be 4 March or 3 April; write dates as 2026-03-31"):
        parse_dates(pd.Series(["03/04/2026", "05/06/2026"]))
    assert parse_dates(pd.Series(["03/04/2026", "25/06/2026"]))[0] == pd.Timestamp("2026-04-03", tz="UTC")


@pytest.mark.parametrize(
    "values",
    [
        *(["May", "June"], ["2001", "2002"], [2001, 2002], ["a film of 2014"] * 3, ["t1000", "t2015"]),
        *(["2026-13-45"], [None], [], [""]),
    ],
)
def test_words_numbers_and_empty_cells_are_no_dates(values):
    assert parse_dates(pd.Series(values, dtype=object)) is None


@pytest.mark.parametrize(
    ("typed", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        (" 2024-02-29 ", "2024-02-29", "2024-03-01"),
        ("2026-03-31 23:59", "2026-03-31 23:59", "2026-04-01"),
        ("2026-03-31T14:05:09Z", "2026-03-31 14:05:09", "2026-03-31 14:05:10"),
        ("31 March 2026", "2026-03-31", "2026-04-01"),
        ("31/3/2026", "2026-03-31", "2026-04-01"),
    ],
)
def test_typed_dates_are_spans(typed, start, end):
    assert parse_span(typed) == (pd.Timestamp(start, tz="UTC"), pd.Timestamp(end, tz="UTC"))


@pytest.mark.parametrize("typed", ["", "soon", "May", "2026-02-30", "2026-13", "3/4/2026", "12"])
def test_invalid_or_ambiguous_dates_are_none(typed):
    assert parse_span(typed) is None
    assert parse_span("9999-12").end.year == parse_span("9999-12-31 23:59:59").end.year == 9999, (
        "the last year ends with it"
    )


def test_quartiles_are_named_by_days_and_missing_dates_come_last():
    found = cut_quarters(pd.Series([*pd.date_range("2026-01-01", periods=8, tz="UTC"), pd.NaT]))
    ends = ["2026-01-01 to 2026-01-02", "2026-01-03 to 2026-01-04", "2026-01-05 to 2026-01-06"]
    assert list(found.names) == [*ends, "2026-01-07 to 2026-01-08", "(none)"]
    assert found.place.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]
