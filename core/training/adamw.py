"""The AdamW optimiser (Loshchilov and Hutter, 2019), bit-identical to `torch.optim.AdamW(fused=True)`.

Lambda has no weight decay; all other parameters have it (NDT, section III-D1), or only matrices. torch's own optimizer
classes import its compiler when they are created, which would delay each training by a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from core.models.builder import Model
from core.models.encoder import EncoderClassifier
from core.training.config import TrainingConfig

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""The state of one parameter: updates so far, and the running means of its gradient and of its square."""
BETAS, EPSILON = (0.9, 0.999), 1e-8


class AdamW:
    """An AdamW optimiser whose state is stored by parameter name."""

    def __init__(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Create an AdamW optimiser from parameter groups: `names`, `params`, `weight_decay` and `rate`."""
        self.groups = groups
        self.moments: dict[str, dict[str, Tensor]] = {part: {} for part in MOMENTS}
        """Part → name → tensor, for the parameters that had a gradient so far."""

    def restore(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Load the AdamW moments of a checkpoint; KeyError if a parameter is missing."""
        for group in self.groups:
            for name, parameter in zip(group["names"], group["params"], strict=True):
                for part in MOMENTS:
                    self.moments[part][name] = moments[part][name].to(parameter.device)

    def zero_grad(self) -> None:
        """Set the gradients of all optimised parameters to None."""
        for group in self.groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, lr: float) -> None:
        """Update the parameters with AdamW at learning rate `lr`; those without a gradient stay unchanged."""
        for group in self.groups:
            pairs = zip(group["names"], group["params"], strict=True)
            learning = {name: parameter for name, parameter in pairs if parameter.grad is not None}
            for name in learning.keys() - self.moments["step"].keys():
                self.moments["step"][name] = torch.zeros((), dtype=torch.float32, device=learning[name].device)
                self.moments["exp_avg"][name] = torch.zeros_like(learning[name])
                self.moments["exp_avg_sq"][name] = torch.zeros_like(learning[name])
            steps, means, squares = ([self.moments[part][name] for name in learning] for part in MOMENTS)
            with torch.no_grad():
                adamw(
                    list(learning.values()),
                    [parameter.grad for parameter in learning.values()],
                    means,
                    squares,
                    [],
                    steps,
                    fused=True,
                    amsgrad=False,
                    beta1=BETAS[0],
                    beta2=BETAS[1],
                    lr=lr * group["rate"],
                    weight_decay=group["weight_decay"],
                    eps=EPSILON,
                    maximize=False,
                )


def freeze_layers(model: Model, config: TrainingConfig) -> None:
    """Freeze a model's parameters below layer depth `config.frozen`, and unfreeze all others."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(_get_depth(model, name) >= config.frozen)


def group_parameters(model: Model, config: TrainingConfig) -> list[dict[str, Any]]:
    """Split a model's trainable parameters into groups for AdamW, by weight decay and learning-rate factor.

    `rate` is the factor on the learning rate: `lambda_lr` for the parameters of lambda, times `layer_decay` to the
    power of the distance from the head (Howard and Ruder 2018; Clark et al. 2020).
    """
    lambdas = model.name_lambda_parameters()
    groups: dict[tuple[str, float], list[str]] = {}
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    for name, parameter in named.items():
        spared = config.decay == "matrices" and parameter.ndim < 2
        role = "lambda" if name in lambdas else "vectors" if spared else "weights"
        below = _get_depth(model, "head") - _get_depth(model, name)
        factor = config.lambda_lr if role == "lambda" else 1.0
        groups.setdefault((role, factor * config.layer_decay**below), []).append(name)
    order = {role: place for place, role in enumerate(("weights", "vectors", "lambda"))}
    return [
        {
            "role": role,
            "names": names,
            "params": [named[name] for name in names],
            "weight_decay": config.weight_decay if role == "weights" else 0.0,
            "rate": rate,
        }
        for (role, rate), names in sorted(groups.items(), key=lambda each: order[each[0][0]])
    ]


def _get_depth(model: Model, name: str) -> int:
    return model.find_depth(name) if isinstance(model, EncoderClassifier) else 0
