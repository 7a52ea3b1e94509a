"""The device of a training run, and the settings that make it fast and deterministic there."""

import contextlib
import ctypes
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch

from core.exceptions import ConfigError


def choose_device(name: str) -> torch.device:
    """Return the torch device for the setting `training.device`; raise ConfigError if this machine lacks it."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = torch.device(name)
    # The number as typed, since torch stores eight bits of it and would take cuda:256 for cuda:0.
    if device.type == "cuda" and int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"training.device={name}: this machine has {torch.cuda.device_count()} CUDA devices; use auto or cpu"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("training.device=mps: not available on this machine; use auto or cpu")
    return device


def check_precision(precision: Literal["float32", "bfloat16"], device: torch.device) -> None:
    """Raise ConfigError if bfloat16 would be slower, or is not supported, on the device."""
    if precision == "float32":
        return
    if device.type == "cpu" and not has_native_bfloat16():
        raise ConfigError(
            "training.precision=bfloat16: this CPU has neither AMX nor AVX512-BF16 and would be slower with it; "
            "use training.precision=float32"
        )
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ConfigError("training.precision=bfloat16: this GPU does not support it; use training.precision=float32")
    if device.type == "mps":
        raise ConfigError("training.precision=bfloat16: not supported on MPS; use training.precision=float32")


def has_native_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether the CPU multiplies bfloat16 matrices natively (AMX or AVX512-BF16), as Linux reports."""
    try:
        flags = next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags


def keep_freed_memory() -> None:
    """Configure glibc to keep freed memory, as page faults of large tensors cost up to half the time.

    Sets M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (1.2 to 2 times faster explicit attention). Memory use stays at its peak,
    so only training processes call this. Does nothing without glibc.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-3, 1 << 30)
        libc.mallopt(-1, 2**31 - 1)


@contextlib.contextmanager
def force_determinism(device: torch.device) -> Iterator[None]:
    """Use deterministic GPU kernels within a `with` block, then restore the settings; do nothing on a CPU."""
    if device.type == "cpu":
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when it starts
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filling: Any = torch.utils.deterministic
    fill = filling.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    filling.fill_uninitialized_memory = False  # every new tensor would be written twice
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        filling.fill_uninitialized_memory = fill


def get_random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the random generator states that dropout uses, of the CPU and of the training device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore_random_state(states: dict[str, torch.Tensor], device: torch.device) -> None:
    """Restore saved random generator states; a state of another kind of device is ignored."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
    if device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"])
