"""Time several implementations in turn in one process, and read the arguments of benchmarks."""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

Key = TypeVar("Key")


def measure_in_turn(ways: Mapping[Key, Callable[[], object]], repeats: int, warm: int = 1) -> dict[Key, float]:
    """Return the median seconds of each implementation; the first rounds are not counted."""
    times: dict[Key, list[float]] = {name: [] for name in ways}
    for repeat in range(repeats + warm):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if repeat >= warm:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def read_arguments(about: str | None, **defaults: Any) -> argparse.Namespace:
    """Read numbers, or lists of numbers, from the command line; `--threads` sets torch's threads."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {**defaults, "threads": torch.get_num_threads()}.items():
        parser.add_argument(f"--{name}", type=int, nargs="+" if isinstance(default, list) else None, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    return arguments
