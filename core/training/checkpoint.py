"""Checkpoints of a training run: one safetensors file, with its scalars as JSON in the header."""

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
    """The progress of a training run, in scalars."""

    step: Count = 0
    loss_sum: float = 0.0
    """Of this epoch so far: loss of each batch times its rows."""
    best: float | None = None
    best_epoch: int = -1
    stale: Count = 0
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """The complete state that the remaining training depends on."""

    progress: Progress
    groups: dict[str, Tensors]
    """Named sets of tensors: model, best (weights of the best epoch), random, and AdamW's step, exp_avg, exp_avg_sq."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Save a checkpoint in `folder`; it replaces the previous one when it is complete on disk."""
    named = {f"{group}/{name}": each for group, tensors in checkpoint.groups.items() for name, each in tensors.items()}
    with convert_os_errors(folder):
        folder.mkdir(exist_ok=True)
    write_parts(
        folder / FILE, _serialize_tensors(named, {"progress": json.dumps(dataclasses.asdict(checkpoint.progress))})
    )


def _serialize_tensors(tensors: Tensors, told: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """Yield the parts of a safetensors file by tensor; the library's writer would hold the file in memory twice."""
    header: dict[str, Any] = {"__metadata__": dict(told)}
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
    """Return a sort key that aligns every number at a multiple of its own size."""
    return -named[1].element_size(), named[0]


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Load the last complete checkpoint; return None if there is none; raise RunDamaged if it cannot be read."""
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
