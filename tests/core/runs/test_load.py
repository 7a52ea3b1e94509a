import json

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from refused import check_raises
from safetensors.torch import load_file, save_file

from core.api.evaluation import evaluate
from core.config import compose
from core.evaluation.inference import predict_texts
from core.exceptions import InputError, RunDamaged
from core.models.builder import build_model
from core.runs import load
from core.runs.load import SCALE, load_run, pack_weights, read_weights, unpack_weights
from core.runs.record import RECORD, TOKENIZER, WEIGHTS
from core.runs.training_jobs import execute


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
    check_raises(RunDamaged, name, load_run, store, run)
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
    check_raises(RunDamaged, said, load_run, store, run)


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
    check_raises(RunDamaged, f"{WEIGHTS}: not there; run 'mine' {why}", load_run, store, run)


def test_texts_cleaned_otherwise_are_read_by_the_same_weights(store, run):
    texts = ["The FILM was Good", "A BAD film"]
    loaded = load_run(store, run)
    raw = loaded.read_as("none")
    assert loaded.tokenizer.config.normaliser == "lower", "read_as leaves the run as it is"
    usual, other = (each.predict(texts).probabilities for each in (loaded, raw))
    assert (raw.predict([text.lower() for text in texts]).probabilities == usual).all() and (other != usual).any()
    check_raises(InputError, "no normaliser is called 'foo': raw, none, lower", loaded.read_as, "foo")
    said = evaluate(run, limit_test=9, read_as="none", store=store)
    assert said["read_as"] == "none" and "texts are cleaned by 'none', in training by 'lower'" in said["notes"]
    with pytest.raises(InputError, match="--against would compare two ways"):
        evaluate(run, read_as="none", against=run, store=store)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_model(compose("ndt-01-n3").model, vocabulary=50, classes=2)


@pytest.mark.parametrize(("kept", "share"), [("float16", 0.5), ("int8", 0.28)])
def test_rounded_weights_are_smaller_and_within_half_a_step(model, kept, share):
    whole = pack_weights(model, "float32")
    found = unpack_weights(safetensors.torch.load(whole))
    assert found.keys() == model.state_dict().keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in model.state_dict().items())
    small = pack_weights(model, kept)
    assert len(small) < share * len(whole) + 3_000
    for name, found in unpack_weights(safetensors.torch.load(small)).items():
        true = model.state_dict()[name]
        assert found.shape == true.shape
        half = true.abs() * 2**-11 + 2**-25
        if kept == "int8" and true.ndim > 1:
            half = true.abs().flatten(1).amax(1).reshape(-1, *(1,) * (true.ndim - 1)) / 254 * 1.0001
        assert ((found.float() - true).abs() <= half).all(), name


def test_a_row_of_zeros_stays_zero_and_vectors_have_no_scale(model, tmp_path):
    with torch.no_grad():
        model.embedding.weight[3] = 0
    (tmp_path / "w").write_bytes(pack_weights(model, "int8"))
    with pytest.raises(RunDamaged, match="w: cannot be read"):
        read_weights(build_model(compose("vanilla").model, vocabulary=50, classes=2), tmp_path / "w")
    stored = safetensors.torch.load((tmp_path / "w").read_bytes())
    assert stored["embedding.weight"].dtype == torch.int8 and stored["embedding.weight" + SCALE][3] == 0
    assert not unpack_weights(stored)["embedding.weight"][3].any()
    assert stored["final_norm.weight"].dtype == torch.float16 and "final_norm.weight" + SCALE not in stored
    read_weights(model, tmp_path / "w")
    first, second = (unpack_weights(each) for each in (stored, safetensors.torch.load(pack_weights(model, "int8"))))
    for name in first:  # what is rounded twice is rounded once
        assert torch.allclose(first[name].float(), second[name].float(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(model, tmp_path, number):
    with torch.no_grad():
        model.head.weight[1, 3] = number
    (tmp_path / "w").write_bytes(pack_weights(model, "float16"))
    with pytest.raises(RunDamaged, match=r"w: cannot be used: head\.weight holds a number that is not finite"):
        read_weights(model, tmp_path / "w")


@pytest.mark.slow
def test_runs_are_evaluated_with_their_stored_weights(store, tiny):
    run = store.create(tiny("vanilla", **{"training.weights": "float16"}), "vanilla").run
    assert execute(store, run).status == "done"
    loaded = load_run(store, run)
    assert all(parameter.dtype == torch.float32 for parameter in loaded.model.parameters())
    table = pd.read_parquet(store.get_path(run) / "evaluation" / "test" / "predictions.parquet")
    logits = predict_texts(loaded.model, loaded.tokenizer, table["text"].tolist()).logits
    assert np.array_equal(logits.argmax(1), [loaded.record.classes.index(name) for name in table["predicted"]])
