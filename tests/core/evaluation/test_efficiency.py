"""Cost: what is counted, and that timing leaves no mark."""

import time

import pytest
import torch
from small_models import batch_of
from torch import nn

from core.evaluation.efficiency import inference_time, parameter_count
from core.models.trace import Output


class Slow(nn.Module):
    """Slow at first, then 2 ms per pass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.passes = 0

    def forward(self, batch):
        self.passes += 1
        assert not self.training and not torch.is_grad_enabled()
        time.sleep(0.05 if self.passes <= 3 else 0.002)
        return Output(torch.zeros(1, 2), torch.zeros(1, 2))


def test_only_trainable_parameters_count():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False))
    assert parameter_count(model) == 3 * 2 + 2 + 4
    model[1].requires_grad_(False)
    assert parameter_count(model) == 8


def test_the_median_leaves_out_the_warm_up_and_the_model_keeps_its_mode():
    model = Slow().train()
    found = inference_time(model, batch_of([[2, 3], [2]]), warm_up=3, repeats=5)
    assert model.passes == 8
    assert 2 <= found["low"] <= found["milliseconds"] <= found["high"]
    assert found["milliseconds"] < 40
    assert (found["rows"], found["tokens"], found["device"]) == (2, 2, "cpu")
    assert model.training


def test_an_error_inside_the_model_is_not_swallowed():
    class Broken(Slow):
        def forward(self, batch):
            raise RuntimeError("broken")

    model = Broken().train()
    with pytest.raises(RuntimeError, match="broken"):
        inference_time(model, batch_of([[2]]))
    assert model.training
