"""Fast dropout layers, and copies of a model with dropout always on or with shuffled weights."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16
Network = TypeVar("Network", bound=nn.Module)


class Dropout(nn.Module):
    """A dropout layer that zeroes entries with probability p and scales the rest by 1 / (1 - p), in training only."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Set random entries of a tensor of any shape to zero in training mode; return it unchanged otherwise."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        # Four entries share one 64-bit draw of torch's global generator (16 bits each), so p is rounded to 1/65536.
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = min(round(self.p * LEVELS), LEVELS - 1)
        kept = (bits >= dropped - LEVELS // 2).to(x.dtype)
        return x * kept.mul_(LEVELS / (LEVELS - dropped))


class ActiveDropout(nn.Module):
    """A dropout layer that is also on in evaluation mode, with a random generator of its own."""

    def __init__(self, p: float, generator: torch.Generator) -> None:
        super().__init__()
        self.p, self.generator = p, generator

    def forward(self, x: Tensor) -> Tensor:
        """Set random entries of a tensor of any shape to zero, in evaluation mode too."""
        if self.p == 0:
            return x
        kept = torch.rand(x.shape, generator=self.generator).to(x.device) >= self.p
        return x * kept / (1 - self.p)


def activate_dropout(model: Network, seed: int) -> Network:
    """Return a copy of a model with seeded dropout that is always on, except inside torch's own LSTM."""
    other, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    replace_layers(other, Dropout, lambda layer: ActiveDropout(layer.p, generator))
    return other


def replace_layers(model: nn.Module, kind: type[nn.Module], make: Callable[[Any], nn.Module]) -> None:
    """Replace each layer of a class in a model by another one, which `make` builds from it."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is kind:
                setattr(module, name, make(child))


def shuffle_weights(model: Network, seed: int) -> Network:
    """Return a copy of a model with the numbers of each weight tensor shuffled (after Adebayo et al. 2018).

    Its weights keep their size, also those of a linear model, which starts from zeros.
    """
    other, random = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in other.parameters():
            order = torch.randperm(weight.numel(), generator=random).to(weight.device)
            weight.copy_(weight.flatten()[order].view_as(weight))
    return other
