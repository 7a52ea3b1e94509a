"""Learned numbers of a model that have a meaning of their own, for history and record."""

from __future__ import annotations

from typing import Any

import torch

from core.models.trace import Batch
from core.training.lambdas import read_lambdas

AT_ONCE = 8
"""Texts traced together: a trace holds every map of every layer."""


def read_inside(model: Any, probe: Batch) -> dict[str, Any]:
    """What is cheap to read after any update.

    Returns:
        `lambda` and `lambda_heads` as `read_lambdas`, and `scalars`: by name (tau, strength, lexicon_gate, alpha, beta,
        gamma) a list with one number per layer, or one for the whole model. Each key only where the model has it.
    """
    scalars = model.scalars()
    return {**read_lambdas(model, probe), **({"scalars": scalars} if scalars else {})}


def read_gates(model: Any, probe: Batch) -> dict[str, Any]:
    """`gates`: per layer the mean and standard deviation of the gates of the probe's tokens; empty without gates."""
    if "gates" not in model.provides:
        return {}
    training = model.training
    model.eval()
    found: list[list[torch.Tensor]] = []
    with torch.no_grad():
        for start in range(0, len(probe.ids), AT_ONCE):
            part = probe.part(slice(start, start + AT_ONCE))
            trace = model(part, trace=True).trace
            found.append([layer.gates[trace.keep] for layer in trace.layers])
    model.train(training)
    layers = [torch.cat(values) for values in zip(*found, strict=True)]
    return {"gates": [[values.mean().item(), values.std(correction=0).item()] for values in layers]}
