"""AdamW (Loshchilov and Hutter, 2019) to the bit as `torch.optim.AdamW(fused=True)`, its state by parameter name.

Every optimizer class of torch imports torch's compiler when one is made: a second that each training would begin with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""The state of one parameter: updates so far, and the running means of its gradient and of its square."""
BETAS, EPSILON = (0.9, 0.999), 1e-8


class AdamW:
    """The optimizer of the groups that `core.training.parameters.parameter_groups` makes."""

    def __init__(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """`groups`: each with `names`, `params`, `weight_decay` and `rate`, a factor on the learning rate."""
        self.groups = groups
        self.moments: dict[str, dict[str, Tensor]] = {part: {} for part in MOMENTS}
        """Part → name → tensor, of the parameters that had a gradient so far."""

    def restore(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Go on from the moments of an earlier one; KeyError: they lack a parameter."""
        for group in self.groups:
            for name, parameter in zip(group["names"], group["params"], strict=True):
                for part in MOMENTS:
                    self.moments[part][name] = moments[part][name].to(parameter.device)

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for group in self.groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, lr: float) -> None:
        """Update with learning rate `lr`; a parameter without a gradient stays as it is."""
        for group in self.groups:
            pairs = zip(group["names"], group["params"], strict=True)
            learning = {name: parameter for name, parameter in pairs if parameter.grad is not None}
            for name in learning.keys() - self.moments["step"].keys():
                self._begin(name, learning[name])
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

    def _begin(self, name: str, parameter: Tensor) -> None:
        self.moments["step"][name] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        self.moments["exp_avg"][name] = torch.zeros_like(parameter)
        self.moments["exp_avg_sq"][name] = torch.zeros_like(parameter)
