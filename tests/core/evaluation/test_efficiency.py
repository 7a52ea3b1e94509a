import subprocess
import sys
import time

import pytest
import torch
from small_models import batch_of
from torch import nn

from core.evaluation import inference
from core.evaluation.inference import count_parameters, measure_inference, measure_memory, measure_time
from core.models.trace import Output
from core.text.token_table import TokenTable


class Slow(nn.Module):
    """A model that is slow at first, then takes 2 ms per pass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.passes = 0

    def forward(self, batch):
        self.passes += 1
        assert not self.training and not torch.is_grad_enabled()
        time.sleep(0.05 if self.passes <= 3 else 0.002)
        return Output(torch.zeros(1, 2), torch.zeros(1, 2))


def test_only_trainable_parameters_are_counted():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False))
    assert count_parameters(model) == 3 * 2 + 2 + 4
    model[1].requires_grad_(False)
    assert count_parameters(model) == 8


def test_timing_excludes_warm_up_and_restores_the_mode(monkeypatch):
    monkeypatch.setattr(inference, "REPEATS", 5)
    model = Slow().train()
    found = measure_time(model, batch_of([[2, 3], [2]]))
    assert model.passes == 8 and 2 <= found["low"] <= found["milliseconds"] <= found["high"]
    assert found["milliseconds"] < 40 and (found["rows"], found["tokens"], found["device"]) == (2, 2, "cpu")
    assert model.training


def test_errors_inside_the_model_are_raised():
    class Broken(Slow):
        def forward(self, batch):
            raise RuntimeError("broken")

    model = Broken().train()
    with pytest.raises(RuntimeError, match="broken"):
        measure_time(model, batch_of([[2]]))
    assert model.training


def test_memory_counts_live_tensors_without_views():
    """Two layers of 1 000 floats on 10 rows, whose results are in memory at the same time."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1000))

        def forward(self, batch):
            first = batch.ids[:, :1] * self.weight
            second = first + 1
            del first
            third = second + 1
            return Output(third, third)

    batch = batch_of([[2]] * 10)
    assert measure_memory(Two(), batch) == 1000 * 4 + 10 * 8 + 10 + 2 * 10 * 1000 * 4

    class Views(nn.Module):
        def forward(self, batch):
            logits = batch.ids.view(-1).reshape(2, 2).T.add_(1)
            return Output(logits, logits)

    assert measure_memory(Views(), batch_of([[2, 3], [2, 4]])) == 4 * 8 + 4


def test_measured_texts_have_lengths_like_the_split():
    seen = []

    class Watched(Slow):
        def forward(self, batch):
            seen.append(batch.keep.sum(1).tolist())
            return super().forward(batch)

    tokens = TokenTable.from_ids([[2] * length for length in list(range(1, 641))])
    before = torch.get_num_threads()
    found = measure_inference(Watched(), tokens)
    batch, one = max(seen, key=len), min(seen, key=len)
    assert batch == list(range(6, 641, 10)), "the middle of every 64th part"
    assert one == [321]
    assert (found["rows"], found["tokens"], found["one"]["rows"], found["one"]["tokens"]) == (64, 636, 1, 321)
    assert found["device"] == "cpu" and found["processor"] and torch.get_num_threads() == before
    found = measure_inference(Slow(), TokenTable.from_ids([[2, 3]]))
    assert (found["rows"], found["one"]["rows"]) == (1, 1)


@pytest.mark.slow
def test_counting_memory_does_not_load_torchs_compiler():
    """The import would delay every training by two seconds."""
    code = (
        "import sys, torch\n"
        "from core.evaluation.inference import _TensorMemoryCounter\n"
        "with _TensorMemoryCounter([]) as alive: torch.ones(3) + 1\n"
        "assert alive.peak > 0 and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
