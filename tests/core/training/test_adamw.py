"""AdamW without torch's compiler is torch's AdamW."""

import pytest
import torch

from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.training.adamw import MOMENTS, AdamW, freeze_layers, group_parameters
from core.training.config import TrainingConfig


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
    names = [name for group in optimizer.groups for name in group["names"]]
    for name, parameter in zip(names, theirs, strict=True):
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
    with pytest.raises(KeyError, match="matrix"):
        AdamW(groups(parameters())).restore({part: {} for part in MOMENTS})


PARTS = {"width": 8, "layers": 2, "ff_width": 4, "norm": "rms", "feedforward": "swiglu"}


def tiny(classes=2, pooling="mean", **attention):
    part = AttentionConfig(heads=2, qk_width="half", **attention)
    return build_model(ModelConfig(**PARTS, pooling=pooling, attention=part), vocabulary=9, classes=classes)


def test_ndt_parameters_are_grouped_as_in_the_paper():
    model = tiny(components=3, mixing="additive", learn_beta=True)
    groups = group_parameters(model, TrainingConfig())
    found = {group["role"]: (group["weight_decay"], group["names"]) for group in groups}
    others = [name for name, _ in model.named_parameters() if ".mixing." not in name]
    assert found["weights"] == (0.1, others) and {"embedding.weight", "head.bias", "final_norm.weight"} < set(others)
    learned = [f"layers.{n}.attention.mixing.{name}" for n in (0, 1) for name in ("lambda_q", "lambda_k", "beta")]
    assert found["lambda"] == (0.0, learned)


def test_groups_contain_each_trainable_parameter_once():
    model = tiny(classes=3, pooling="cls", components=4, mixing="additive")
    model.embedding.weight.requires_grad_(False)
    rates = group_parameters(model, TrainingConfig(decay="matrices", lambda_lr=10.0))
    assert {group["role"]: group["rate"] for group in rates} == {"weights": 1.0, "vectors": 1.0, "lambda": 10.0}
    groups = group_parameters(model, TrainingConfig())
    found = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(found) == sorted(id(p) for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize(
    ("mixing", "names"),
    [("differential", ["lambda_q", "lambda_k"]), ("differential-v2", ["logit.weight"]), ("softmax", None)],
)
def test_lambda_parameters_have_no_weight_decay(mixing, names):
    part = {"components": 2, "mixing": mixing} if names else {}
    groups = group_parameters(tiny(**part), TrainingConfig())
    found = {group["role"]: (group["weight_decay"], group["names"]) for group in groups}
    assert len(groups) == (2 if names else 1)
    if names:
        assert found["lambda"] == (0.0, [f"layers.{n}.attention.mixing.{name}" for n in (0, 1) for name in names])


def test_layers_near_the_words_learn_more_slowly():
    model = tiny(components=3, mixing="additive")
    groups = group_parameters(model, TrainingConfig(layer_decay=0.5, lambda_lr=3.0))
    rates = {name: (group["role"], group["rate"]) for group in groups for name in group["names"]}
    assert rates["embedding.weight"] == ("weights", 0.125)
    assert rates["layers.0.attention.query.weight"] == ("weights", 0.25)
    assert rates["layers.1.feedforward.up.bias"] == ("weights", 0.5)
    assert rates["final_norm.weight"] == rates["head.weight"] == ("weights", 1.0)
    assert rates["layers.0.attention.mixing.lambda_q"] == ("lambda", 0.75)


@pytest.mark.parametrize(
    ("count", "lowest"), [(0, "embedding.weight"), (1, "layers.0."), (2, "layers.1."), (3, "final_norm.weight")]
)
def test_frozen_depth_counts_from_the_embeddings(count, lowest):
    model = tiny(components=3, mixing="additive")
    freeze_layers(model, TrainingConfig(frozen=count, start="other"))
    names = [name for group in group_parameters(model, TrainingConfig()) for name in group["names"]]
    every = [name for name, _ in model.named_parameters()]
    first = next(place for place, name in enumerate(every) if name.startswith(lowest))
    assert sorted(names) == sorted(every[first:])
