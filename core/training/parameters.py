"""Parameter groups by role: lambda is never decayed; everything else is (NDT, section 3), or only matrices are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from torch import nn


def parameter_groups(
    model: nn.Module,
    lambdas: Collection[str],
    weight_decay: float,
    decay: Literal["all", "matrices"] = "all",
    lambda_lr: float = 1.0,
) -> list[dict[str, Any]]:
    """Groups for AdamW, each with the `names` of its parameters in order.

    Args:
        model: every trainable parameter of it lands in exactly one group.
        lambdas: names of the parameters that make lambda (its vectors, beta), as the model tells them.
        weight_decay: of what is decayed.
        decay: everything but lambda, or of that only what has two dimensions or more: no bias, norm, gate or factor.

        lambda_lr: factor on the learning rate of the lambdas.

    Raises:
        ValueError: a lambda name that the model has not.
    """
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if unknown := set(lambdas) - set(named):
        raise ValueError(f"no trainable parameter named {min(unknown)}")
    spared = {name for name in named if decay == "matrices" and named[name].ndim < 2} - set(lambdas)
    roles = {
        "weights": ([name for name in named if name not in lambdas and name not in spared], weight_decay),
        "vectors": ([name for name in named if name in spared], 0.0),
        "lambda": ([name for name in named if name in lambdas], 0.0),
    }
    return [
        {
            "role": role,
            "names": names,
            "params": [named[name] for name in names],
            "weight_decay": decay,
            "rate": lambda_lr if role == "lambda" else 1.0,
        }
        for role, (names, decay) in roles.items()
        if names
    ]
