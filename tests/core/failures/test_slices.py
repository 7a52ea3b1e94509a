"""Slices: kept for the data of a run under a name, with their sentences, and refused where they cannot be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.exceptions import InputError, RunDamaged
from core.failures import chosen, slices
from core.failures.chosen import Group, keep
from core.failures.selection import Selection
from core.failures.slices import find_slice, remove_slice, rename_slice, save_slice
from core.runs.store import RunStore


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    labels = np.arange(40) % 2
    for name in ("one", "two"):
        answering(store, name, right_where(np.arange(40) > 9, labels), texts(labels))
    answering(store, "other-data", right_where(np.arange(30) > 9, labels[:30]), texts(labels[:30]), data__name="sst2")
    return store


def test_every_run_on_the_data_has_it_and_no_other(store):
    record = store.read("one")
    save_slice(store, record, "  bad \n ones ", Selection(("truth=bad",), "test"))
    assert [(each.name, each.select) for each in slices.slices(store, store.read("two"))] == [
        ("bad ones", "split=test;truth=bad")
    ]
    assert find_slice(store, store.read("two"), "bad ones") == Selection(("truth=bad",), "test")
    assert slices.slices(store, store.read("other-data")) == []
    assert {path.name for path in store.folder.iterdir()} - {"one", "two", "other-data"} == {slices.FOLDER}
    assert {each.run for each in store.list()} == {"one", "two", "other-data"}


def test_a_run_with_more_training_rows_has_the_slices_too(store):
    save_slice(store, store.read("one"), "bad ones", Selection(("truth=bad",)))
    store.write(dataclasses.replace(store.read("two"), data_fingerprint="with counter-examples"))
    assert [each.name for each in slices.slices(store, store.read("two"))] == ["bad ones"]


def test_a_slice_of_what_is_wrong_holds_what_is_right_too(store):
    record = store.read("one")
    assert (
        save_slice(store, record, "bad ones", Selection(("wrong", "truth=bad"), "test")).select
        == "split=test;truth=bad"
    )
    assert save_slice(store, record, "all that is wrong", Selection(("wrong",))).select == "wrong"


def test_the_same_again_is_the_same_and_another_is_refused(store):
    record = store.read("one")
    first = save_slice(store, record, "x", Selection(("wrong",)))
    assert save_slice(store, record, "x", Selection(("wrong",))) == first
    with pytest.raises(InputError, match="a slice x already, of wrong"):
        save_slice(store, record, "x", Selection(("right",)))
    remove_slice(store, record, "x")
    save_slice(store, record, "x", Selection(("right",)))


def test_its_sentences_outlive_what_is_kept_of_links(store):
    record, group = store.read("one"), Group(("a", "b"), "drawn on the map")
    rule = keep(store, group)
    save_slice(store, record, "drawn", Selection((rule,)))
    for path in (store.folder / chosen.FOLDER).iterdir():
        path.unlink()
    assert find_slice(store, record, "drawn") == Selection((rule,))
    assert chosen.recall(store, rule.removeprefix("ids:")) == group


def test_another_name_leaves_all_else_as_it_was(store):
    record, rule = store.read("one"), keep(store, Group(("a", "b"), "drawn on the map"))
    save_slice(store, record, "other", Selection(("right",)))
    made = save_slice(store, record, "drawn", Selection((rule,)))
    assert rename_slice(store, record, "drawn", " drawn  anew ") == dataclasses.replace(made, name="drawn anew")
    assert [each.name for each in slices.slices(store, store.read("two"))] == ["drawn anew", "other"]
    assert find_slice(store, record, "drawn anew") == Selection((rule,))
    assert rename_slice(store, record, "other", "other").name == "other"
    for name, to, said in (
        ("drawn", "x", "no slice drawn"),
        ("other", "drawn anew", "already"),
        ("other", " ", "is no"),
    ):
        with pytest.raises(InputError, match=said):
            rename_slice(store, record, name, to)
    assert [each.name for each in slices.slices(store, record)] == ["drawn anew", "other"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x00b"])
def test_names_that_cannot_be(store, name):
    with pytest.raises(InputError, match="is no name for a slice"):
        save_slice(store, store.read("one"), name, Selection(("wrong",)))


def test_refusals_say_what_there_is(store, monkeypatch):
    record = store.read("one")
    with pytest.raises(InputError, match="no slice x of the data of run 'one'; there are none yet"):
        remove_slice(store, record, "x")
    save_slice(store, record, "../y", Selection(("wrong",)))
    with pytest.raises(InputError, match=r"there are \.\./y"):
        find_slice(store, record, "x")
    monkeypatch.setattr(slices, "MOST", 1)
    with pytest.raises(InputError, match="there are 1 slices"):
        save_slice(store, record, "z", Selection(("wrong",)))
    [file] = (store.folder / slices.FOLDER).rglob("*.json")
    file.write_text("{}")
    with pytest.raises(RunDamaged, match=file.name):
        slices.slices(store, record)
