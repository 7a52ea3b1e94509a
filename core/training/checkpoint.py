"""Checkpoints of a training run: one safetensors file, with counters as JSON in the header."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from core.atomic import convert_os_errors, write_parts
from core.exceptions import RunDamaged
from core.json_store import Count, Seconds, convert, parse_json

FILE = "state.safetensors"
Tensors = dict[str, Tensor]
KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass
class Progress:
    """The progress of a training run as numbers for a checkpoint: steps, loss, best epoch and seconds."""

    step: Count = 0
    loss_sum: float = 0.0
    """Sum over this epoch's batches so far of loss times rows."""
    best: float | None = None
    best_epoch: int = -1
    stale: Count = 0
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """The complete state of a training run, from which it can be resumed exactly."""

    progress: Progress
    groups: dict[str, Tensors]
    """Named sets of tensors: model, best (weights of the best epoch), random, and AdamW's step, exp_avg, exp_avg_sq."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Save a training checkpoint in `folder`; it replaces the previous one once it is complete on disk."""
    named = {f"{group}/{name}": each for group, tensors in checkpoint.groups.items() for name, each in tensors.items()}
    with convert_os_errors(folder):
        folder.mkdir(exist_ok=True)
    write_parts(
        folder / FILE, _serialize_tensors(named, {"progress": json.dumps(dataclasses.asdict(checkpoint.progress))})
    )


def _serialize_tensors(tensors: Tensors, metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a safetensors file tensor by tensor, which needs less memory than the library's writer."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, each in sorted(tensors.items(), key=_get_sort_key):
        begin, end = end, end + each.nbytes
        header[name] = {"dtype": KINDS[each.dtype], "shape": list(each.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for _, each in sorted(tensors.items(), key=_get_sort_key):
        yield each.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data


def _get_sort_key(named: tuple[str, Tensor]) -> tuple[int, str]:
    """Return a sort key that stores tensors with wider numbers first, so that every number is aligned."""
    return -named[1].element_size(), named[0]


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Load the training checkpoint in a folder; return None if there is none; raise RunDamaged if it is unreadable."""
    path = folder / FILE
    if not path.exists():
        return None
    groups: dict[str, Tensors] = {}
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            progress = convert(parse_json((file.metadata() or {})["progress"]), Progress)
            for key in file.keys():
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise RunDamaged(
            f"{path}: cannot be read ({error}); delete the folder '{folder.name}' to train from the beginning"
        ) from error
    return Checkpoint(progress, groups)
