"""A training that is stopped, and its required result after it is resumed."""

from pathlib import Path
from typing import Any

import torch

from core.training.history import read_history
from core.training.training_stage import Events


class StopAfter(Events):
    """Requests a stop before update `updates` + 1."""

    def __init__(self, updates: int) -> None:
        self.left = updates

    def is_stop_requested(self) -> bool:
        self.left -= 1
        return self.left < 0


def copy_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return all current numbers of a model."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def have_same_bits(left: torch.nn.Module, right: torch.nn.Module) -> bool:
    """Return whether two models have the same names and the same numbers."""
    ours, theirs = left.state_dict(), right.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def rows_without_time(history: Path) -> list[dict[str, Any]]:
    """Return the rows of a history without their times."""
    return [{**row, "seconds": 0} for row in read_history(history).rows]
