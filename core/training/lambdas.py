"""The lambdas of a model as plain numbers, for history and record."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from core.models.trace import Batch


def read_lambdas(model: Any, probe: Batch) -> dict[str, Any]:
    """What the model's lambdas are now.

    Args:
        model: `lambdas()` gives (N-1, S) per layer, or None where lambda depends on the input.
        probe: texts over whose tokens an input-dependent lambda is averaged.

    Returns:
        `lambda`: per layer, per added component, a number; if S > 1 also `lambda_heads`: per layer, component and
        head, `lambda` being the mean. Empty for a model without lambda.
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
    """(N-1, H) per layer: the coefficients' magnitudes, averaged over the real tokens of the probe."""
    training = model.training
    model.eval()
    trace = model(probe, trace=True).trace
    model.train(training)
    weight = trace.keep / trace.keep.sum().clamp(min=1)
    return [torch.einsum("bnhl,bl->nh", layer.coefficients[:, 1:, :, :, 0].abs(), weight) for layer in trace.layers]
