"""Wait for other processes and threads, and request that a training stops."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from core.runs import queue
from core.runs.record import CANCEL, Process
from core.runs.store import RunStore, get_own_process


def until(condition: Callable[[], object], seconds: float = 120, pause: float = 0.01) -> object:
    """Wait until a condition is true, at most two minutes if nothing else is said; return what it returned."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(pause)
    return found


def cancel_at(store: RunStore, run: str, step: int) -> Callable[[dict[str, Any]], None]:
    """Return a listener that requests to cancel a run after a training step."""

    def listen(event: dict[str, Any]) -> None:
        if event["kind"] == "step" and event["step"] == step:
            (store.get_path(run) / CANCEL).touch()

    return listen


@contextlib.contextmanager
def hold_ticket(runs: Path, ticket: str) -> Iterator[None]:
    """Wait in the queue of a run folder, as another process."""
    folder = runs / queue.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with queue.open_lock(folder / ticket) as held:
        assert queue.try_lock(held)
        yield


def dead() -> Process:
    """A process of this machine that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    started = psutil.Process(process.pid).create_time()
    process.wait()
    return Process(process.pid, started, get_own_process().host)
