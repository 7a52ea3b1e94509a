import shutil

import pytest

from core.exceptions import RunDamaged, RunNotFound
from core.runs.load import load_run
from core.runs.record import TOKENIZER, WEIGHTS
from core.runs.worker import execute


@pytest.fixture
def run(store, finished):
    shutil.copytree(finished, store.folder)
    return "mine"


@pytest.mark.parametrize("name", [TOKENIZER, WEIGHTS])
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
        lambda file: file.write_bytes(b"\xff" * 500),
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=["missing", "empty", "cut off", "junk", "a folder"],
)
def test_a_damaged_file_is_named_and_the_run_can_still_be_listed(store, run, name, damage):
    damage(store.path(run) / name)
    with pytest.raises(RunDamaged, match=name):
        load_run(store, run)
    assert [(record.run, record.status) for record in store.list()] == [("mine", "done")]
    assert store.read(run).results["metrics"]["test"]


def test_weights_of_another_model_are_told(store, run, tiny):
    other = store.create(tiny("vanilla", **{"training.epochs": 1, "model.layers": 1}), "vanilla", "other").run
    execute(store, other)
    (store.path(run) / WEIGHTS).write_bytes((store.path(other) / WEIGHTS).read_bytes())
    with pytest.raises(RunDamaged, match=rf"{WEIGHTS}: cannot be read"):
        load_run(store, run)


def test_a_run_that_has_not_begun_says_when_there_will_be_weights(store, created):
    with pytest.raises(RunDamaged, match="not there; run 'first' is queued and writes it after the first epoch"):
        load_run(store, "first")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("done", "had written it, so it was removed later: train or import the run again"),
        ("cancelled", "was cancelled: resume or remove it"),
        ("failed", "has failed: resume or remove it"),
    ],
)
def test_a_run_that_has_ended_says_why_there_are_no_weights(store, run, status, why):
    store.update(run, status=status)
    (store.path(run) / WEIGHTS).unlink()
    with pytest.raises(RunDamaged, match=f"{WEIGHTS}: not there; run 'mine' {why}"):
        load_run(store, run)


def test_a_run_that_is_not_there_is_told(store):
    with pytest.raises(RunNotFound):
        load_run(store, "none")
