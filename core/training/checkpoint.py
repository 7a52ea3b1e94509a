"""A training's state on disk: one safetensors file, its scalars as JSON in the header."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor

from core.atomic import storage_errors, write_bytes
from core.exceptions import RunDamaged
from core.stored import Count, Seconds, convert, tree

FILE = "state.safetensors"
Tensors = dict[str, Tensor]


@dataclass
class Progress:
    """The scalars of a training: where it is and what it has seen."""

    step: Count = 0
    """Updates done."""
    loss_sum: float = 0.0
    """Of this epoch so far: loss of each batch times its rows."""
    best: float | None = None
    """Best validation metric so far."""
    best_epoch: int = -1
    stale: Count = 0
    """Epochs since the best one."""
    seconds: Seconds = 0.0
    """Training time, resumed parts added up."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the rest of a training depends on."""

    progress: Progress
    groups: dict[str, Tensors]
    """Named sets of tensors: model, best (weights of the best epoch), random, and AdamW's step, exp_avg, exp_avg_sq."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`; the previous one stays until the new one is complete on disk.

    Raises:
        StorageError: the disk is full or read-only; the previous checkpoint is untouched.
    """
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous()
        for group, named in checkpoint.groups.items()
        for name, tensor in named.items()
    }
    header = {"progress": json.dumps(dataclasses.asdict(checkpoint.progress))}
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
    write_bytes(folder / FILE, safetensors.torch.save(tensors, header))


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The last complete checkpoint; None where there is none.

    Raises:
        RunDamaged: the file cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return None
    groups: dict[str, Tensors] = {}
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            progress = convert(tree((file.metadata() or {})["progress"]), Progress)
            for key in file.keys():
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise RunDamaged(
            f"{path}: cannot be read ({error}); delete the folder '{folder.name}' to train from the beginning"
        ) from error
    return Checkpoint(progress, groups)
