"""Efficiency of a model: its parameters, and the time and memory of a prediction."""

import platform
import statistics
import time
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.evaluation.inference import get_device, switch_to_eval
from core.exceptions import try_call
from core.models.trace import Batch
from core.text.token_table import TokenTable

BATCH = 64  # texts that are predicted together; a single text is measured too
WARM_UP, REPEATS, SECONDS = 3, 15, 2.0  # passes that do not count, at most, and seconds after which three are enough
CPU_INFO = Path("/proc/cpuinfo")


def count_parameters(model: nn.Module) -> int:
    """Return the number of a model's trainable parameters."""
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def measure_inference(
    model: nn.Module, tokens: TokenTable, beside: tuple[nn.Module, TokenTable] | None = None
) -> dict[str, Any]:
    """Measure time and memory of a model's prediction from token ids to logits, on its device, with one CPU thread.

    Tokenisation is not measured. One thread, since the gain from several depends on the load of the machine. `tokens`
    are the texts of a split: one of median length is measured alone, and `BATCH` texts together whose lengths are
    distributed like those of the split. `beside` is a second model that reads the same texts after the first: times and
    memory are summed. Returns the fields of `measure_time` for the batch; `one`, the same for the single text; `memory`
    (bytes, see `measure_memory`), `device` and `processor` (its name).
    """
    if beside is not None:
        return _add_measurements(measure_inference(model, tokens), measure_inference(*beside))
    order = np.argsort(tokens.lengths, kind="stable")
    spread = order[((np.arange(min(BATCH, len(order))) + 0.5) * len(order) / min(BATCH, len(order))).astype(int)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, batch = (Batch.from_arrays(tokens.pad_rows(rows)) for rows in (order[len(order) // 2 :][:1], spread))
        return {
            **measure_time(model, batch),
            "one": {name: value for name, value in measure_time(model, one).items() if name != "device"},
            "memory": measure_memory(model, batch),
            "device": str(get_device(model)),
            "processor": get_processor(get_device(model)),
        }
    finally:
        torch.set_num_threads(threads)


def _add_measurements(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    def add_numbers(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        numbers = ("milliseconds", "low", "high", "memory")
        return {name: value + other[name] if name in numbers else value for name, value in one.items()}

    return add_numbers(first, second) | {"one": add_numbers(first["one"], second["one"])}


def measure_time(model: nn.Module, batch: Batch) -> dict[str, Any]:
    """Measure milliseconds of a forward pass over a batch on the model's device.

    Returns `milliseconds` (median of `REPEATS`, or three in `SECONDS`, after `WARM_UP`), quartiles, shape and `device`.
    """
    device = get_device(model)
    batch = batch.to(device)
    times: list[float] = []
    with switch_to_eval(model):
        for _ in range(WARM_UP):
            model(batch)
        wait_for_device(device)
        until = time.perf_counter() + SECONDS
        while len(times) < REPEATS and (len(times) < 3 or time.perf_counter() < until):
            started = time.perf_counter()
            model(batch)
            wait_for_device(device)
            times.append(1000 * (time.perf_counter() - started))
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    rows, tokens = batch.ids.shape
    return {"milliseconds": middle, "low": low, "high": high, "rows": rows, "tokens": tokens, "device": str(device)}


def measure_memory(model: nn.Module, batch: Batch) -> int:
    """Count the peak bytes of all tensors while a model predicts a batch; memory inside kernels is not included."""
    batch = batch.to(get_device(model))
    given = [each for each in (*model.parameters(), *model.buffers(), *batch) if each is not None]
    with switch_to_eval(model), _TensorMemoryCounter(given) as alive:
        model(batch)
    return alive.peak


class _TensorMemoryCounter(TorchDispatchMode):
    """A counter of the bytes of all live tensors, from their creation until they are freed, and of their peak."""

    def __init__(self, given: Iterable[Tensor]) -> None:
        super().__init__()
        self._known = {each._cdata: each.nbytes() for each in (tensor.untyped_storage() for tensor in given)}
        self.now = self.peak = sum(self._known.values())

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, so that PyTorch does not load its compiler, which would take 2 seconds and is not needed."""
        return False

    def __torch_dispatch__(
        self, operation: Any, types: Any, given: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        made = operation(*given, **(named or {}))
        for tensor in tree_leaves(made):
            storage = tensor.untyped_storage() if isinstance(tensor, Tensor) else None
            if storage is not None and (key := storage._cdata) not in self._known:  # views share it
                self._known[key] = storage.nbytes()
                self.now += self._known[key]
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._drop_storage, key).atexit = False
        return made

    def _drop_storage(self, key: int) -> None:
        self.now -= self._known.pop(key)


def get_processor(device: torch.device) -> str:
    """Return the name of a device's processor, such as `AMD EPYC 9R14` or `NVIDIA H100`."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    lines = try_call(OSError, "", CPU_INFO.read_text, "utf-8", "replace").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def wait_for_device(device: torch.device) -> None:
    """Wait until the device (GPU) has finished its work, so that a time measurement includes this work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
