import dataclasses

import numpy as np
import pytest
from answering import answering, right_where, texts
from refused import check_raises
from sklearn.metrics import f1_score

from core.api.evaluation import compare
from core.error_analysis import selection, slices
from core.error_analysis.selection import PickedRows, Selection, store_picked
from core.error_analysis.slices import find_slice, remove_slice, rename_slice, save_slice
from core.exceptions import InputError, RunDamaged
from core.runs.store import RunStore


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    labels = np.arange(40) % 2
    for name in ("one", "two"):
        answering(store, name, right_where(np.arange(40) > 9, labels), texts(labels))
    answering(store, "other-data", right_where(np.arange(30) > 9, labels[:30]), texts(labels[:30]), data__name="sst2")
    return store


def test_slices_belong_to_all_runs_on_the_data(store):
    save_slice(store, store.read("one"), "  bad \n ones ", Selection(("true=bad",), "test"))
    [saved] = slices.read_slices(store, store.read("two"))
    assert (saved.name, saved.select) == ("bad ones", "split=test;true=bad")
    assert find_slice(store, store.read("two"), "bad ones") == Selection(("true=bad",), "test")
    assert slices.read_slices(store, store.read("other-data")) == []
    store.write(dataclasses.replace(store.read("two"), data_fingerprint="with counter-examples"))
    assert [each.name for each in slices.read_slices(store, store.read("two"))] == ["bad ones"]
    assert {path.name for path in store.folder.iterdir()} - {"one", "two", "other-data"} == {slices.FOLDER}
    assert {each.run for each in store.list()} == {"one", "two", "other-data"}


def test_slices_are_saved_without_outcome_rules_and_names_are_unique(store):
    record = store.read("one")
    saved = save_slice(store, record, "bad ones", Selection(("wrong", "true=bad"), "test"))
    assert saved.select == "split=test;true=bad"
    assert save_slice(store, record, "all that is wrong", Selection(("wrong",))).select == "wrong"
    first = save_slice(store, record, "x", Selection(("wrong",)))
    assert save_slice(store, record, "x", Selection(("wrong",))) == first
    check_raises(InputError, "a slice x already, of wrong", save_slice, store, record, "x", Selection(("right",)))
    remove_slice(store, record, "x")
    save_slice(store, record, "x", Selection(("right",)))


def test_slices_keep_their_sentences_after_links_expire(store):
    record, group = store.read("one"), PickedRows(("a", "b"), "drawn on the map")
    rule = store_picked(store, group)
    save_slice(store, record, "drawn", Selection((rule,)))
    for path in (store.folder / selection.FOLDER).iterdir():
        path.unlink()
    assert find_slice(store, record, "drawn") == Selection((rule,))
    assert selection.read_picked(store, rule.removeprefix("ids:")) == group


def test_renaming_a_slice_changes_only_its_name(store):
    record, rule = store.read("one"), store_picked(store, PickedRows(("a", "b"), "drawn on the map"))
    save_slice(store, record, "other", Selection(("right",)))
    made = save_slice(store, record, "drawn", Selection((rule,)))
    assert rename_slice(store, record, "drawn", " drawn  anew ") == dataclasses.replace(made, name="drawn anew")
    assert [each.name for each in slices.read_slices(store, store.read("two"))] == ["drawn anew", "other"]
    assert find_slice(store, record, "drawn anew") == Selection((rule,))
    assert rename_slice(store, record, "other", "other").name == "other"
    for name, to, said in ("drawn", "x", "no slice drawn"), ("other", "drawn anew", "already"), ("other", " ", "is no"):
        check_raises(InputError, said, rename_slice, store, record, name, to)
    assert [each.name for each in slices.read_slices(store, record)] == ["drawn anew", "other"]


def test_refusals_list_the_existing_slices(store, monkeypatch):
    record = store.read("one")
    for name in ("", "   ", "x" * 61, "a\x00b"):
        check_raises(InputError, "is not a name for a slice", save_slice, store, record, name, Selection(("wrong",)))
    with pytest.raises(InputError, match="no slice x of the data of run 'one'; there are none yet"):
        remove_slice(store, record, "x")
    save_slice(store, record, "../y", Selection(("wrong",)))
    check_raises(InputError, r"there are \.\./y", find_slice, store, record, "x")
    monkeypatch.setattr(slices, "MOST", 1)
    check_raises(InputError, "there are 1 slices", save_slice, store, record, "z", Selection(("wrong",)))
    [file] = (store.folder / slices.FOLDER).rglob("*.json")
    file.write_text("{}")
    check_raises(RunDamaged, file.name, slices.read_slices, store, record)


pytestmark = pytest.mark.slow

ROWS = 200
LABELS = np.arange(ROWS) % 2
RANDOM = np.random.default_rng(0)
GOOD, POOR = RANDOM.random(ROWS) < 0.95, RANDOM.random(ROWS) < 0.6
KIND = np.where(np.arange(ROWS) % 4 > 0, "long", "short")


@pytest.fixture
def both(tmp_path):
    store = RunStore(tmp_path / "runs")
    for name, right, preset in (("good", GOOD, "differential"), ("poor", POOR, "vanilla")):
        answering(store, name, right_where(right, LABELS), texts(LABELS, kind=KIND), preset=preset)
    return store


def save_rules(both, **rules):
    for name, rule in rules.items():
        save_slice(both, both.read("good"), name, Selection(tuple(rule.split(";"))))


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_slices_by_column_value_equal_the_column(both, metric):
    save_rules(both, long="kind=long", short="kind=short")
    sliced, column = (compare("good", "poor", by=[by], metrics=[metric], store=both)["by"] for by in ("slice", "kind"))
    assert [{**each, "column": "kind"} for each in sliced] == column and sliced[0]["column"] == "slice"
    first = sliced[0]
    assert first["difference"] == pytest.approx(first["first_value"] - first["second_value"])
    if metric == "f1_macro":
        here, said = KIND == "long", np.where(GOOD, LABELS, 1 - LABELS)
        assert first["first_value"] == pytest.approx(f1_score(LABELS[here], said[here], average="macro"))


def test_refusals_suggest_a_command_and_slices_may_overlap(both):
    with pytest.raises(InputError, match="--by slice: no slice of these data was saved; `sentiscope slices RUN --save"):
        compare("good", "poor", by=["slice"], store=both)
    save_rules(both, lost="wrong")
    with pytest.raises(InputError, match="--by slice: slice lost is left out: its rules"):
        compare("good", "poor", by=["slice"], store=both)
    check_raises(InputError, "leave --data out", compare, "good", "poor", data="x.csv", by=["slice"], store=both)
    save_rules(both, half="kind=long;true=good", long="kind=long", lost="wrong", nobody="text~nobody", odd="true=none")
    found = compare("good", "poor", by=["slice"], store=both)
    assert [(each["value"], each["n"]) for each in found["by"]] == [("half", 100), ("long", 150)]
    assert found["notes"] == [
        "slice lost is left out: its rules select other sentences for each run",
        "slice nobody is left out: there is no sentence of it",
        "slice odd is left out: --where true=none: no class 'none'; the classes are bad, good",
        "TF-IDF is left out: the data of run 'good' have changed since it was trained.",
    ]
