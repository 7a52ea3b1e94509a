"""A model's weights on disk: in float32, in float16, or as int8 with a scale for each row."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from core.exceptions import RunDamaged
from core.formatting import count
from core.paths import open_regular

Kept = Literal["float32", "float16", "int8"]
SCALE = ":scale"  # suffix of the name of an int8 tensor for the tensor with the scale of each row
LARGEST = 127
LARGEST_HEADER = 16 * 1024**2
"""Bytes of the header of a file (its list of tensors), at most; the largest encoders have 0.1 MB."""


def pack_weights(model: nn.Module, kept: Kept, without: Collection[str] = ()) -> bytes:
    """Return the weights of a model as the bytes of a safetensors file, except the tensors named in `without`.

    float16: every floating-point tensor. int8: tensors with at least two dimensions, each row scaled so that its
    largest number is 127; other tensors as float16. The rounding error is at most half a step: 2^-11 of a number in
    float16, and 1/254 of the row's largest number in int8.
    """
    stored: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name in without:
            continue
        whole = tensor.detach().cpu().contiguous()
        if kept == "float32" or not whole.is_floating_point():
            stored[name] = whole
        elif kept == "int8" and whole.ndim > 1:
            rows = whole.reshape(len(whole), -1)
            scale = stored[name + SCALE] = rows.abs().amax(1) / LARGEST
            steps = torch.where(scale > 0, scale, 1.0)[:, None]
            stored[name] = (rows / steps).round().to(torch.int8).reshape(whole.shape)
        else:
            stored[name] = whole.half()
    return safetensors.torch.save(stored)


def unpack_weights(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert stored tensors back to a model's weights; int8 tensors are multiplied by their scales."""
    return {
        name: tensor.float() * stored[name + SCALE].reshape(-1, *(1,) * (tensor.ndim - 1))
        if name + SCALE in stored
        else tensor
        for name, tensor in stored.items()
        if not name.endswith(SCALE)
    }


def check_size(path: Path, numbers: int) -> None:
    """Raise RunDamaged for a weight file with fewer bytes than the model has parameters.

    It needs no model, so that a file with huge sizes in its settings costs no memory.
    """
    try:
        with open_regular(path, sys.maxsize) as stream:
            size, header = os.fstat(stream.fileno()).st_size, int.from_bytes(stream.read(8), "little")
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if header > LARGEST_HEADER:
        raise RunDamaged(f"{path}: cannot be read: its list of tensors has more than {LARGEST_HEADER // 1024**2} MB")
    if size < numbers:
        raise RunDamaged(
            f"{path}: cannot be read: by its settings the model has {count(numbers)} numbers, and the file has "
            f"{count(size)} bytes"
        )


def find_missing(model: nn.Module, path: Path) -> frozenset[str]:
    """Return the names of a model's tensors that its weight file does not hold.

    Only the header of the file is read. Raises RunDamaged if the file cannot be read, or one of its tensors has another
    shape in the model or is not part of it.
    """
    own = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    own |= {name + SCALE: shape[:1] for name, shape in own.items()}
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            there = {name: file.get_slice(name).get_shape() for name in file.keys()}
    except (safetensors.SafetensorError, OSError) as error:
        raise RunDamaged(f"{path}: cannot be read: {' '.join(str(error).split()):.300}") from error
    for name, shape in there.items():
        if name not in own:
            raise RunDamaged(f"{path}: belongs to another model: this one has no {name:.100}")
        if shape != own[name]:
            raise RunDamaged(f"{path}: {name} has the shape {shape}, and this model {own[name]}")
    return frozenset(name for name in own if not name.endswith(SCALE)) - set(there)


def read_weights(model: nn.Module, path: Path, without: Collection[str] = ()) -> None:
    """Load a model's weights from its file, except the tensors in `without`, which are already loaded.

    Raises RunDamaged if the file is incomplete, belongs to another model, or contains a number that is not finite.
    """
    try:
        own = {name: tensor for name, tensor in model.state_dict().items() if name in without}
        found = unpack_weights(safetensors.torch.load_file(path))
        model.load_state_dict({**own, **found})
    except (safetensors.SafetensorError, OSError, RuntimeError) as error:
        raise RunDamaged(f"{path}: cannot be read: {' '.join(str(error).split()):.300}") from error
    for name, tensor in found.items():
        # If a tensor contains NaN, its smallest and largest number are NaN too; unlike isfinite, this makes no copy.
        if tensor.is_floating_point() and tensor.numel() and not torch.isfinite(torch.stack(tensor.aminmax())).all():
            raise RunDamaged(f"{path}: cannot be used: {name} holds a number that is not finite")
