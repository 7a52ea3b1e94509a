import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.api.evaluation import evaluate
from core.exceptions import InputError, RunDamaged
from core.runs import load
from core.runs.load import load_run
from core.runs.record import RECORD, TOKENIZER, WEIGHTS


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
def test_damaged_files_are_reported_and_the_run_is_listed(store, run, name, damage):
    damage(store.get_path(run) / name)
    with pytest.raises(RunDamaged, match=name):
        load_run(store, run)
    assert [(record.run, record.status) for record in store.list()] == [("mine", "done")]
    assert store.read(run).results["metrics"]["test"]


def claim_sizes(store, run, **sizes):
    file = store.get_path(run) / RECORD
    tree = json.loads(file.read_text())
    tree["config"]["model"].update(sizes)
    file.write_text(json.dumps(tree))


def _scales(file):
    """Return one int8 row with scales for a million rows."""
    tensors = load_file(file)
    name = next(each for each in tensors if each.endswith("head.out.weight") or tensors[each].ndim == 2)
    save_file({**tensors, f"{name}:scale": torch.ones(1_000_000)}, file)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ({"width": 8192, "layers": 128, "ff_width": 8192}, r"by its settings the model has 51.* numbers, and the file"),
        ({"layers": 3}, "belongs to another model: layers.2.* is not there"),
        ({"width": 16}, "has the shape"),
        (lambda file: save_file({**load_file(file), "more": torch.ones(3)}, file), "this one has no more"),
        (_scales, r":scale has the shape \[1000000\]"),
        (lambda file: file.write_bytes((2**40).to_bytes(8, "little") + b"{}"), "its list of tensors has more than"),
    ],
)
def test_models_larger_than_their_file_are_refused(store, run, monkeypatch, spoil, said):
    claim_sizes(store, run, **spoil) if isinstance(spoil, dict) else spoil(store.get_path(run) / WEIGHTS)
    build = load.build_model

    def bounded(*given, **more):
        model = build(*given, **more)
        assert sum(each.numel() for each in model.parameters()) <= (store.get_path(run) / WEIGHTS).stat().st_size
        return model

    monkeypatch.setattr(load, "build_model", bounded)
    with pytest.raises(RunDamaged, match=said):
        load_run(store, run)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("queued", "is queued and writes it after the first epoch"),
        ("done", "had written it, so it was removed later: train or import the run again"),
        ("cancelled", "was cancelled: resume or remove it"),
        ("failed", "has failed: resume or remove it"),
    ],
)
def test_missing_weights_are_explained(store, run, status, why):
    store.update(run, status=status)
    (store.get_path(run) / WEIGHTS).unlink()
    with pytest.raises(RunDamaged, match=f"{WEIGHTS}: not there; run 'mine' {why}"):
        load_run(store, run)


def test_texts_cleaned_otherwise_are_read_by_the_same_weights(store, run):
    texts = ["The FILM was Good", "A BAD film"]
    loaded = load_run(store, run)
    raw = loaded.read_as("none")
    assert loaded.tokenizer.config.normaliser == "lower", "read_as leaves the run as it is"
    usual, other = (each.predict(texts).probabilities for each in (loaded, raw))
    assert (raw.predict([text.lower() for text in texts]).probabilities == usual).all()
    assert (other != usual).any()
    with pytest.raises(InputError, match="no normaliser is called 'foo': none, lower"):
        loaded.read_as("foo")
    said = evaluate(run, limit_test=9, read_as="none", store=store)
    assert said["read_as"] == "none" and "texts are cleaned by 'none', in training by 'lower'" in said["notes"]
    with pytest.raises(InputError, match="--against would compare two ways"):
        evaluate(run, read_as="none", against=run, store=store)
