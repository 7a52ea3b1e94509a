import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from refused import check_raises, full
from safetensors.torch import load_file
from small_models import batch_of

from core.exceptions import RunDamaged, StorageError
from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.training import training_stage
from core.training.config import TrainingConfig
from core.training.loop import read_lambdas
from core.training.training_stage import MOMENTS, AdamW, freeze_layers, group_parameters

PROBE = batch_of([[2, 3, 4], [5], []])
PARTS = {"width": 8, "layers": 2, "ff_width": 4, "norm": "rms", "feedforward": "swiglu"}


@pytest.mark.parametrize("batching", ["length", "fixed"])
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000])
def test_epochs_contain_every_row_once_in_batches_of_the_right_size(batching, count):
    lengths = np.random.default_rng(0).integers(0, 90, count)
    batches = training_stage.plan_batches(lengths, batch_size=16, seed=1, epoch=0, batching=batching)
    assert sorted(np.concatenate(batches)) == list(range(count))
    assert sorted(len(rows) for rows in batches) == sorted([16] * (count // 16) + ([count % 16] if count % 16 else []))


def test_batches_depend_only_on_seed_and_epoch_and_those_by_length_need_little_padding():
    lengths = np.arange(500)

    def flat(seed, epoch):
        np.random.seed(seed * 7 + epoch)  # the global generator has no effect
        return np.concatenate(training_stage.plan_batches(lengths, batch_size=8, seed=seed, epoch=epoch)).tolist()

    assert flat(3, 1) == flat(3, 1) and flat(3, 1) != flat(3, 2) and flat(3, 1) != flat(4, 1)
    order = np.concatenate(training_stage.plan_batches(lengths, batch_size=10, seed=0, epoch=0, batching="fixed"))
    assert order.tolist() != list(range(500))
    lengths = np.random.default_rng(0).integers(1, 200, training_stage.POOL * 4 * 2)
    batches = training_stage.plan_batches(lengths, batch_size=4, seed=0, epoch=0)
    spans = sorted((int(lengths[rows].min()), int(lengths[rows].max())) for rows in batches)
    assert max(high - low for low, high in spans) < 40  # random batches of 4 would span far more
    firsts = [int(lengths[rows].min()) for rows in batches]
    assert firsts != sorted(firsts)
    random = np.random.default_rng(0)
    reviews = np.clip(random.lognormal(np.log(172), 0.6, 20_000), 10, 512).astype(int)
    tweets = np.clip(random.lognormal(np.log(19), 0.5, 20_000), 1, 64).astype(int)
    for lengths, size, most, fixed_width in ((reviews, 32, 1.05, 512), (tweets, 64, 1.2, 128)):
        assert padded(lengths, training_stage.plan_batches(lengths, batch_size=size, seed=0, epoch=0)) <= most
        fixed = training_stage.plan_batches(lengths, batch_size=size, seed=0, epoch=0, batching="fixed")
        assert padded(lengths, fixed, fixed_width) > 2.3


def padded(lengths, batches, width=0):
    return sum(len(rows) * max(width, int(lengths[rows].max())) for rows in batches) / lengths.sum()


def checkpoint(step=3):
    tensors = {"layers.0/odd name": torch.randn(2, 3), "step": torch.tensor(float(step))}
    random = {"cpu": torch.get_rng_state()}
    progress = training_stage.Progress(step, loss_sum=0.1 + 0.2, best=1 / 3, best_epoch=1, stale=2, seconds=1.5)
    return training_stage.Checkpoint(progress, {"model": tensors, "random": random})


def test_checkpoints_are_restored_bit_identically_also_after_a_full_disk(tmp_path, monkeypatch):
    assert training_stage.load_checkpoint(tmp_path / "checkpoint") is None
    saved = checkpoint()
    training_stage.save_checkpoint(tmp_path / "checkpoint", saved)
    loaded = training_stage.load_checkpoint(tmp_path / "checkpoint")
    assert loaded.progress == saved.progress and loaded.groups.keys() == saved.groups.keys()
    for group, named in saved.groups.items():
        for name, tensor in named.items():
            assert torch.equal(loaded.groups[group][name], tensor) and loaded.groups[group][name].dtype == tensor.dtype
    training_stage.save_checkpoint(tmp_path / "disk", checkpoint(step=3))
    monkeypatch.setattr(os, "fsync", full)
    check_raises(StorageError, "disk is full", training_stage.save_checkpoint, tmp_path / "disk", checkpoint(step=4))
    assert training_stage.load_checkpoint(tmp_path / "disk").progress.step == 3
    assert [path.name for path in (tmp_path / "disk").iterdir()] == [training_stage.FILE]


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"junk" * 100])
def test_damaged_checkpoints_are_reported_with_file_and_remedy(tmp_path, damage):
    training_stage.save_checkpoint(tmp_path / "checkpoint", checkpoint())
    file = tmp_path / "checkpoint" / training_stage.FILE
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(RunDamaged, match=rf"{training_stage.FILE}: cannot be read.*delete the folder 'checkpoint'"):
        training_stage.load_checkpoint(tmp_path / "checkpoint")


def test_every_dtype_is_stored_as_safetensors_reads_it(tmp_path):
    whole = torch.arange(-3, 4)
    tensors = {f"{kind}": whole.to(kind) for kind in training_stage.KINDS} | {
        "none": torch.empty(0, 3),
        "one": torch.tensor(2.5),
    }
    tensors |= {"turned": torch.arange(6.0).view(2, 3).T, "part": torch.arange(6.0).view(2, 3)[1]}
    training_stage.save_checkpoint(tmp_path, training_stage.Checkpoint(training_stage.Progress(), {"model": tensors}))
    found = load_file(tmp_path / training_stage.FILE)
    assert found.keys() == {f"model/{name}" for name in tensors}
    for name, tensor in tensors.items():
        assert torch.equal(found[f"model/{name}"], tensor) and found[f"model/{name}"].dtype == tensor.dtype


@pytest.mark.slow
def test_saving_does_not_copy_all_weights(tmp_path):
    """Saving 160 MB increases the peak memory of a process by less than a quarter of that."""
    script = (
        "import resource, sys, torch; from pathlib import Path; from core.training.training_stage import *\n"
        "groups = {'model': {str(n): torch.ones(2_000_000) for n in range(20)}}\n"
        "top = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "save_checkpoint(Path(sys.argv[1]), Checkpoint(Progress(), {'model': {'a': torch.ones(1)}})); before = top()\n"
        "save_checkpoint(Path(sys.argv[1]), Checkpoint(Progress(), groups)); print(top() - before)"
    )
    grown = int(subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, check=True).stdout)
    assert grown < 40e6


def tiny(**attention):
    torch.manual_seed(0)
    part = AttentionConfig(heads=2, qk_width="half", **attention)
    return build_model(ModelConfig(width=8, layers=2, ff_width=8, attention=part), vocabulary=9, classes=2)


def test_lambdas_are_lists_per_layer_head_or_token_mean_and_keep_their_last_bit():
    model = tiny(components=3, mixing="additive")
    row = read_lambdas(model, PROBE)
    assert row == {"lambda": [layer[:, 0].tolist() for layer in model.get_lambdas()]}
    assert [len(layer) for layer in row["lambda"]] == [2, 2]
    own = read_lambdas(tiny(components=2, mixing="differential"), PROBE)
    assert own["lambda"][0][0] == pytest.approx(0.2, abs=0.1), "with its own sign"
    linear = build_model(dataclasses.replace(ModelConfig(), family="tfidf-logreg"), vocabulary=9, classes=2)
    assert read_lambdas(tiny(), PROBE) == read_lambdas(linear, PROBE) == {}
    model = tiny(components=2, mixing="additive", learn_beta=True)
    before = read_lambdas(model, PROBE)["lambda"][0][0]
    beta = model.layers[0].attention.mixing.beta
    beta.data = torch.nextafter(beta.data, beta.data + 1)
    assert 0 < abs(read_lambdas(model, PROBE)["lambda"][0][0] - before) < 1e-7
    model = tiny(components=2, mixing="additive", lambda_per_head=True, learn_beta=True)
    model.layers[0].attention.mixing.beta.data = torch.tensor([[0.1, 0.3]])
    row = read_lambdas(model, PROBE)
    first, second = row["lambda_heads"][0][0]
    assert second > first and row["lambda"][0][0] == pytest.approx((first + second) / 2)
    model = tiny(components=2, mixing="differential-v2").train()
    row = read_lambdas(model, PROBE)
    assert model.training
    trace = model.eval()(PROBE, trace=True).trace
    for layer, seen in enumerate(trace.layers):
        real = -seen.coefficients[:, 1, :, :, 0].transpose(1, 2)[trace.keep]  # (tokens, H)
        assert row["lambda_heads"][layer][0] == pytest.approx(real.mean(0).tolist())
        assert row["lambda"][layer] == [pytest.approx(real.mean().item())]


def parameters() -> list[torch.nn.Parameter]:
    numbers = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=numbers)) for shape in ((5, 3), (4,), (2,), (1,))]


def groups(made: list[torch.nn.Parameter]) -> list[dict]:
    return [
        {"names": ["matrix", "idle", "bias"], "params": made[:3], "weight_decay": 0.3, "rate": 1.0},
        {"names": ["lambda"], "params": made[3:], "weight_decay": 0.0, "rate": 10.0},
    ]


def give_gradients(made: list[torch.nn.Parameter], step: int) -> None:
    """Set new gradients; the second parameter has none before step 3."""
    numbers = torch.Generator().manual_seed(step)
    for place, parameter in enumerate(made):
        gradient = torch.randn(parameter.shape, generator=numbers)
        parameter.grad = None if place == 1 and step < 3 else gradient


def rate(step: int) -> float:
    return 0.1 / (step + 1)


@pytest.mark.slow
def test_updates_are_bit_identical_to_torchs():
    ours, theirs = parameters(), parameters()
    optimizer = AdamW(groups(ours))
    reference = torch.optim.AdamW(
        [{"params": group["params"], "weight_decay": group["weight_decay"]} for group in groups(theirs)], fused=True
    )
    factors = [group["rate"] for group in groups(theirs)]
    for step in range(6):
        for made in (ours, theirs):
            give_gradients(made, step)
        for group, factor in zip(reference.param_groups, factors, strict=True):
            group["lr"] = factor * rate(step)
        reference.step()
        optimizer.step(rate(step))
        assert all(torch.equal(left, right) for left, right in zip(ours, theirs, strict=True))
    for name, parameter in zip([name for group in optimizer.groups for name in group["names"]], theirs, strict=True):
        for part in MOMENTS:
            assert torch.equal(optimizer.moments[part][name], reference.state[parameter][part]), (part, name)


def test_a_restored_optimizer_continues_identically():
    whole, cut = parameters(), parameters()
    first, second = AdamW(groups(whole)), AdamW(groups(cut))
    for step in range(5):
        give_gradients(whole, step)
        first.step(rate(step))
    with torch.no_grad():
        for left, right in zip(cut, whole, strict=True):
            left.copy_(right)
    second.restore({part: {name: tensor.clone() for name, tensor in first.moments[part].items()} for part in MOMENTS})
    for made, optimizer in ((whole, first), (cut, second)):
        give_gradients(made, 5)
        optimizer.step(rate(5))
    assert all(torch.equal(left, right) for left, right in zip(whole, cut, strict=True))
    second.zero_grad()
    assert all(parameter.grad is None for parameter in cut)
    check_raises(KeyError, "matrix", AdamW(groups(parameters())).restore, {part: {} for part in MOMENTS})


def build_tiny(classes=2, pooling="mean", **attention):
    part = AttentionConfig(heads=2, qk_width="half", **attention)
    return build_model(ModelConfig(**PARTS, pooling=pooling, attention=part), vocabulary=9, classes=classes)


def test_parameters_are_grouped_once_as_in_the_paper_and_slower_near_the_words():
    model = build_tiny(components=3, mixing="additive", learn_beta=True)
    groups = group_parameters(model, TrainingConfig())
    found = {group["role"]: (group["weight_decay"], group["names"]) for group in groups}
    others = [name for name, _ in model.named_parameters() if ".mixing." not in name]
    assert found["weights"] == (0.1, others) and {"embedding.weight", "head.bias", "final_norm.weight"} < set(others)
    learned = [f"layers.{n}.attention.mixing.{name}" for n in (0, 1) for name in ("lambda_q", "lambda_k", "beta")]
    assert found["lambda"] == (0.0, learned)
    model = build_tiny(classes=3, pooling="cls", components=4, mixing="additive")
    model.embedding.weight.requires_grad_(False)
    rates = group_parameters(model, TrainingConfig(decay="matrices", lambda_lr=10.0))
    assert {group["role"]: group["rate"] for group in rates} == {"weights": 1.0, "vectors": 1.0, "lambda": 10.0}
    found = [id(parameter) for group in group_parameters(model, TrainingConfig()) for parameter in group["params"]]
    assert sorted(found) == sorted(id(p) for p in model.parameters() if p.requires_grad)
    model = build_tiny(components=3, mixing="additive")
    groups = group_parameters(model, TrainingConfig(layer_decay=0.5, lambda_lr=3.0))
    rates = {name: (group["role"], group["rate"]) for group in groups for name in group["names"]}
    assert rates["embedding.weight"] == ("weights", 0.125)
    assert rates["layers.0.attention.query.weight"] == ("weights", 0.25)
    assert rates["layers.1.feedforward.up.bias"] == ("weights", 0.5)
    assert rates["final_norm.weight"] == rates["head.weight"] == ("weights", 1.0)
    assert rates["layers.0.attention.mixing.lambda_q"] == ("lambda", 0.75)


@pytest.mark.parametrize(
    ("mixing", "names"),
    [("differential", ["lambda_q", "lambda_k"]), ("differential-v2", ["logit.weight"]), ("softmax", None)],
)
def test_lambda_parameters_have_no_weight_decay(mixing, names):
    groups = group_parameters(build_tiny(**{"components": 2, "mixing": mixing} if names else {}), TrainingConfig())
    found = {group["role"]: (group["weight_decay"], group["names"]) for group in groups}
    assert len(groups) == (2 if names else 1)
    if names:
        assert found["lambda"] == (0.0, [f"layers.{n}.attention.mixing.{name}" for n in (0, 1) for name in names])


@pytest.mark.parametrize(
    ("count", "lowest"), [(0, "embedding.weight"), (1, "layers.0."), (2, "layers.1."), (3, "final_norm.weight")]
)
def test_frozen_depth_counts_from_the_embeddings(count, lowest):
    model = build_tiny(components=3, mixing="additive")
    freeze_layers(model, TrainingConfig(frozen=count, start="other"))
    names = [name for group in group_parameters(model, TrainingConfig()) for name in group["names"]]
    every = [name for name, _ in model.named_parameters()]
    assert sorted(names) == sorted(every[next(place for place, name in enumerate(every) if name.startswith(lowest)) :])
