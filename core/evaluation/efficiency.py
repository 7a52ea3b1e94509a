"""What a model costs: parameters, and the time of one batch."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from torch import nn

from core.evaluation.predict import device_of, evaluating
from core.models.trace import Batch


def parameter_count(model: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def inference_time(model: nn.Module, batch: Batch, *, warm_up: int = 3, repeats: int = 15) -> dict[str, Any]:
    """Wall-clock milliseconds of one forward pass over a batch, on the device where the model is.

    Returns:
        `milliseconds` (median of `repeats` after `warm_up` passes that do not count), `low` and `high` (the quartiles),
        `rows` and `tokens` (the shape of the batch) and `device`.
    """
    device = device_of(model)
    batch = batch.to(device)
    times = []
    with evaluating(model):
        for number in range(warm_up + repeats):
            _wait(device)
            started = time.perf_counter()
            model(batch)
            _wait(device)
            if number >= warm_up:
                times.append(1000 * (time.perf_counter() - started))
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    rows, tokens = batch.ids.shape
    return {"milliseconds": middle, "low": low, "high": high, "rows": rows, "tokens": tokens, "device": str(device)}


def _wait(device: torch.device) -> None:
    """Let the device finish: without this, only the launch would be timed."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
