import json
import shutil

import pytest
from refused import check_raises

from core import api
from core.exceptions import InputError, RunDamaged
from core.interpret.faithfulness_verdict import THRESHOLDS
from core.runs import faithfulness_files
from core.runs.faithfulness_files import BeliefFiles
from core.runs.store import RunStore


@pytest.fixture(scope="module")
def measured(finished, tmp_path_factory):
    """A store with `mine`, and measurements of deletion and of all methods on its validation split."""
    folder = tmp_path_factory.mktemp("measured") / "runs"
    shutil.copytree(finished, folder)
    store = RunStore(folder)
    return store, api.believe("mine", method="deletion", limit=8, store=store)


@pytest.mark.slow
def test_measurements_are_stored_and_read(measured):
    store, found = measured
    again = api.believe("mine", method="deletion", limit=8, store=store)
    assert (found["computed"], again["computed"]) == (True, False)
    assert {**found, "computed": False} == again == json.loads(json.dumps(again))
    assert found["file"].startswith(str(store.get_path("mine") / "belief"))
    assert (found["split"], found["limit"], found["seed"]) == ("validation", 8, 0)
    (only,) = found["methods"]
    assert found["sentences"] + found["left_out"] == 8 and only["verdict"] in ("evidence", "illustration", "neither")
    assert set(only["tests"]) == {"insertion", "pairs", "stability", "control"}
    assert set(only["curves"]) == {"insertion", "random"} and len(only["curves"]["random"]["values"]) == 11
    assert found["thresholds"]["insertion"]["evidence"] == THRESHOLDS["insertion"].evidence


def test_settings_and_weights_determine_the_file_name(measured, monkeypatch):
    store, _ = measured
    stems = {BeliefFiles.from_run(store, "mine", *given).stem for given in ((), ("deletion",), ("deletion", 8))}
    monkeypatch.setattr(faithfulness_files, "hash_weights", lambda path, version: "other weights")
    stems.add(BeliefFiles.from_run(store, "mine").stem)
    assert len(stems) == 4 and BeliefFiles.from_run(store, "mine").words == ("believe", "mine", "--limit=200")
    words = BeliefFiles.from_run(store, "mine", "shapley", 50).words
    assert words == ("believe", "mine", "--limit=50", "--method=shapley")


def test_single_methods_are_combined_until_all_are_measured(measured):
    store, _ = measured
    assert faithfulness_files.read_stored(store, "mine", ("deletion",)) is None
    found = faithfulness_files.read_stored(store, "mine", ("shapley", "deletion"), 8)
    assert [each.method for each in found.methods] == ["deletion"]


@pytest.mark.slow
def test_damaged_measurements_are_reported_and_repeated(measured):
    store, _ = measured
    here = BeliefFiles.from_run(store, "mine", "deletion", 8)
    kept = here.get_path("json").read_text()
    for damage in (kept[:50], kept.replace('"sentences": ', '"sentences": -'), kept.replace('"curves"', '"curve"')):
        here.get_path("json").write_text(damage)
        check_raises(RunDamaged, "cannot be read", here.read)
    assert api.believe("mine", method="deletion", limit=8, store=store)["computed"]
    after, before = json.loads(here.get_path("json").read_text()), json.loads(kept)
    assert after["belief"] == before["belief"]


def test_impossible_measurements_are_refused_without_files(measured, monkeypatch):
    store, _ = measured
    before = sorted((store.get_path("mine") / "belief").iterdir())
    check_raises(InputError, "method 'lime': one of deletion", api.believe, "mine", method="lime", store=store)
    for limit in (0, -1, 2001):
        with pytest.raises(InputError, match=f"--limit {limit}: a number of sentences from 1 to 2000"):
            BeliefFiles.from_run(store, "mine", limit=limit)
    monkeypatch.setattr("core.interpret.faithfulness.LEAST", 99)
    with pytest.raises(InputError, match="of 9 sentences none has 99 words"):
        BeliefFiles.from_run(store, "mine", "shapley", 9).find(lambda what, share: None)
    assert sorted((store.get_path("mine") / "belief").iterdir()) == before


@pytest.mark.slow
def test_single_texts_have_numbers_and_no_verdict(measured):
    store, _ = measured
    found = api.believe("mine", "word1 good word2 bad", store=store)
    assert [each["method"] for each in found["methods"]] == [
        "deletion", "shapley", "gradient", "integrated", "attention", "collapse",
    ]  # fmt: skip
    for each in found["methods"]:
        assert each["words"] == 4 and set(each) == {"method", "target", "words", "tests", "edits", "completeness"}
        assert (each["completeness"] is not None) == (each["method"] == "integrated")
    assert found["methods"][0]["tests"]["deletion"] is None
    check_raises(InputError, "class 'nice'", api.believe, "mine", "good", target="nice", store=store)
