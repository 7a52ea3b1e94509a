"""Learned numbers of a model that have a meaning of their own, for history and record."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from core.models.trace import Batch

AT_ONCE = 8
"""Texts traced together: a trace holds every map of every layer."""


def read_inside(model: Any, probe: Batch) -> dict[str, Any]:
    """Read what is cheap after any update: `lambda`, `lambda_heads` and `scalars`, where the model has them.

    `scalars`: by name (tau, strength, lexicon_gate, alpha, beta, gamma) a number per layer, or one for the whole model.
    """
    scalars = model.scalars()
    return {**read_lambdas(model, probe), **({"scalars": scalars} if scalars else {})}


def read_gates(model: Any, probe: Batch) -> dict[str, Any]:
    """Return per layer the mean and standard deviation of the `gates` of the probe's tokens; nothing without gates."""
    if "gates" not in model.provides:
        return {}
    training = model.training
    model.eval()
    found: list[list[Tensor]] = []
    with torch.no_grad():
        for start in range(0, len(probe.ids), AT_ONCE):
            part = probe.part(slice(start, start + AT_ONCE))
            trace = model(part, trace=True).trace
            found.append([layer.gates[trace.keep] for layer in trace.layers])
    model.train(training)
    layers = [torch.cat(values) for values in zip(*found, strict=True)]
    return {"gates": [[values.mean().item(), values.std(correction=0).item()] for values in layers]}


def read_lambdas(model: Any, probe: Batch) -> dict[str, Any]:
    """Return what the model's lambdas are now; one that depends on the input is averaged over the probe's tokens.

    `lambda`: per layer, per added component, a number; if it differs between heads also `lambda_heads`: per layer,
    component and head, `lambda` being the mean. Empty for a model without lambda.
    """
    with torch.no_grad():
        layers = model.lambdas()
        if any(layer is None for layer in layers):
            layers = _averaged(model, probe)
    if not layers:
        return {}
    row: dict[str, Any] = {"lambda": [layer.mean(-1).tolist() for layer in layers]}
    if any(layer.shape[-1] > 1 for layer in layers):
        row["lambda_heads"] = [layer.tolist() for layer in layers]
    return row


def _averaged(model: Any, probe: Batch) -> list[Tensor]:
    """Return (N-1, H) per layer: the coefficients' magnitudes, averaged over the real tokens of the probe."""
    training = model.training
    model.eval()
    trace = model(probe, trace=True).trace
    model.train(training)
    weight = trace.keep / trace.keep.sum().clamp(min=1)
    return [torch.einsum("bnhl,bl->nh", layer.coefficients[:, 1:, :, :, 0].abs(), weight) for layer in trace.layers]
