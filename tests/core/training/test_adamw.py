"""AdamW without torch's compiler is torch's AdamW."""

import pytest
import torch

from core.training.adamw import MOMENTS, AdamW


def parameters() -> list[torch.nn.Parameter]:
    numbers = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=numbers)) for shape in ((5, 3), (4,), (2,), (1,))]


def groups(made: list[torch.nn.Parameter]) -> list[dict]:
    return [
        {"names": ["matrix", "idle", "bias"], "params": made[:3], "weight_decay": 0.3, "rate": 1.0},
        {"names": ["lambda"], "params": made[3:], "weight_decay": 0.0, "rate": 10.0},
    ]


def give_gradients(made: list[torch.nn.Parameter], step: int) -> None:
    """New ones for all but the second parameter, which has none before step 3."""
    numbers = torch.Generator().manual_seed(step)
    for place, parameter in enumerate(made):
        gradient = torch.randn(parameter.shape, generator=numbers)
        parameter.grad = None if place == 1 and step < 3 else gradient


def rate(step: int) -> float:
    return 0.1 / (step + 1)


@pytest.mark.slow
def test_every_update_has_the_bits_of_torchs_own():
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


def test_a_restored_one_goes_on_as_the_one_that_was_saved():
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
