"""Earlier names in rules, links and files: each opens what today's name opens, and only today's name is written."""

import json
import shutil
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pandas as pd
import pytest
from answering import answering, texts

from core.error_analysis import query, slices
from core.error_analysis.annotations_csv import format_annotations, import_annotations
from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.counter_examples import keep_example, read_examples
from core.error_analysis.facets import parse_search
from core.error_analysis.label_errors import LabelErrors
from core.error_analysis.predictions_table import ALIASES, read_table, rename_rule
from core.error_analysis.selection import FOLDER, Selection, parse_selection, select_rows
from core.error_analysis.tags import TableTags
from core.fingerprint import hash_value
from core.runs.store import RunStore

TRAINED = Path(__file__).resolve().parents[3] / "trained"
PAIRS = [
    ("truth=bad", "true=bad"),
    ("said != good", "predicted!=good"),
    ("p_truth>=.4", "p_true>=.4"),
    (" p_said=0.4..0.6 ", "p_predicted=0.4..0.6"),
]


@pytest.fixture
def store(tmp_path):
    store, random = RunStore(tmp_path / "runs"), np.random.default_rng(4)
    rows = texts(random.integers(0, 2, 60), source=["web", "paper"] * 30)
    answering(store, "one", random.dirichlet(np.ones(2), 60), rows)
    return store


def select(store, table, link):
    return select_rows(parse_selection(link), table, None, store).places.tolist()


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_old_rules_select_the_same_rows_and_are_renamed(store, old, new):
    table = read_table(store, "one")
    [clause] = query.parse_rules([old], table)
    assert [clause] == [*query.parse_rules([new], table)] == [parse_search(table, (), old.strip())]
    assert str(clause) == new and 0 < len(select(store, table, old)) < 60
    assert select(store, table, f"split=test;wrong;{old}") == select(store, table, f"split=test;wrong;{new}")
    assert Selection((old,)) == Selection((rename_rule(old),))


def test_old_links_are_read_and_rewritten():
    found = parse_selection(r"wrong;truth=a\;truth=b;said!=c;p_said<0.5;text~truth=d;truths=e")
    assert str(found) == r"wrong;true=a\;truth=b;predicted!=c;p_predicted<0.5;text~truth=d;truths=e"


def test_own_columns_with_reserved_names_are_prefixed(store):
    own = {name: ["x", "y"] for name in ("said", "truth", "predicted", "true", "p_said", "truths", "data:true")}
    answering(store, "own", [[0.2, 0.8], [0.3, 0.7]], texts([1, 0], **own))
    table = read_table(store, "own")
    names = {"data:said", "data:truth", "data:predicted", "data:true", "data:p_said", "truths"}
    assert set(table.own) == {*names, "data:true (2)"}  # the one that was called so
    for name in table.own:
        assert select(store, table, f"{name}=y") == [1], name
    assert select(store, table, "truth=good") == select(store, table, "true=good") == [0]


def test_slices_and_selections_of_earlier_versions_open(store):
    record, table = store.read("one"), read_table(store, "one")
    slices.save_slice(store, record, "sure", Selection(("source=web",), "test"))
    [path] = (store.folder / slices.FOLDER).glob("*/*.json")
    content = json.loads(path.read_text()) | {"select": "split=test;truth=bad;p_said>0.6"}
    path.write_text(json.dumps(content))
    [one] = slices.read_slices(store, record)
    assert one.select == "split=test;true=bad;p_predicted>0.6"
    found = slices.report_slice(store, table, TableTags(store, table), one)
    assert found["where"] == ["true=bad", "p_predicted>0.6"] and found["problem"] == ""
    assert found["n"] == len(select(store, table, one.select)) > 0
    again = slices.save_slice(store, record, "sure", parse_selection("split=test;truth=bad;p_said>0.6"))
    assert again == one and slices.find_slice(store, record, "sure") == parse_selection(one.select)
    keys = table.frame["key"].iloc[[5, 2]].tolist()
    kept = {"keys": keys, "about": "true bad, said good", "texts": [], "labels": []}
    name = hash_value(kept)[:16]
    (store.folder / FOLDER).mkdir()
    (store.folder / FOLDER / f"{name}.json").write_text(json.dumps(kept))
    assert select(store, table, f"ids:{name}") == [5, 2]


def test_old_counterexample_links_open_their_rows(store):
    table, link = read_table(store, "one"), f"errors?run=one&select={quote('truth=bad;said=good')}"
    keep_example(store.folder, "not bad", "bad", link=link)
    [one] = read_examples(store.folder)
    [old] = parse_qs(urlsplit(one.link).query)["select"]
    assert select(store, table, old) == select(store, table, "true=bad;predicted=good") != []


def test_exports_with_old_columns_can_be_imported(store, tmp_path):
    table = read_table(store, "one")
    codes = Codes(store.folder, get_data_name(table.record))
    with codes.ledger.begin_change(codes.data, "ann", "irony") as change:
        codes.add_names(change, ["irony"])
        codes.set_codes(change, table.frame["key"].iat[3], "ann", ["irony"], "one")
    before, file = codes.read_annotations().given, tmp_path / "codes.csv"
    header, _, lines = format_annotations(table, [True] * 60, codes, codes.read_annotations()).partition("\n")
    assert "true,predicted,p_true,p_predicted" in header
    file.write_text(f"{header.replace('true,predicted,p_true,p_predicted', 'truth,said,p_truth,p_said')}\n{lines}")
    assert import_annotations(codes, table, file)["rows"] == 1 and codes.read_annotations().given == before


def test_stored_label_errors_of_earlier_versions_are_read(store):
    row = {"split": "test", "row": 0, "key": "k", "text": "a", "likely": True}
    row |= {"likelier": "good", "p_likelier": 0.9, "margin": -0.8}
    old = row | {"truth": "bad", "p_truth": 0.1}
    conflicts = [{"text": "a", "labels": {"bad": 1, "good": 1}, "rows": [{"split": "test", "row": 0, "truth": "bad"}]}]
    found = LabelErrors.from_run(store, store.read("one"), "test")
    found.folder.mkdir(parents=True, exist_ok=True)
    found.write({"rows": [old], "likely": {}, "n": {}, "left_out": "", "conflicts": conflicts}, 0.0)
    now = found.read()
    assert now["rows"] == [row | {"true": "bad", "p_true": 0.1}]
    assert now["conflicts"][0]["rows"] == [{"split": "test", "row": 0, "true": "bad"}]


def test_a_run_of_an_earlier_version_opens(tmp_path):
    """A starter's predictions were written before the names changed."""
    shutil.copytree(TRAINED / "starter-lexical-last", tmp_path / "starter-lexical-last")
    store = RunStore(tmp_path)
    table = read_table(store, "starter-lexical-last", "challenge")
    stored = pd.read_parquet(tmp_path / "starter-lexical-last/evaluation/challenge/predictions.parquet")
    assert table.frame["true"].tolist() == stored["label"].tolist()
    assert table.frame["predicted"].tolist() == stored["predicted"].tolist()
    places = select(store, table, "truth=positive;said=negative")
    assert len(places) == ((stored["label"] == "positive") & (stored["predicted"] == "negative")).sum() > 0


def test_renamed_json_keys_follow_the_aliases():
    table = json.loads((TRAINED.parent / "tests" / "contracts" / "renamed.json").read_text())
    assert {old: new for old, new in table.items() if old in ALIASES} == {
        k: v for k, v in ALIASES.items() if k in table
    }
    assert {new for old, new in table.items() if old.endswith("said")} == {"predicted", "p_predicted"}
