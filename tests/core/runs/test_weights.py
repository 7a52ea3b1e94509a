"""Weights on disk: what is rounded, by how much, and that a run is judged with what it keeps."""

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch

from core.config import compose
from core.evaluation.inference import predict_texts
from core.exceptions import RunDamaged
from core.models.builder import build_model
from core.runs.load import SCALE, load_run, pack_weights, read_weights, unpack_weights
from core.runs.training_jobs import execute


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
