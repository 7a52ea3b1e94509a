"""Waiting for other processes and threads, and asking a training to stop."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

from core.runs.record import CANCEL, Process
from core.runs.store import RunStore, this_process


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def cancel_at(store: RunStore, run: str, step: int) -> Callable[[dict[str, Any]], None]:
    """Return a listener that wishes to cancel a run after a step of its training."""

    def listen(event: dict[str, Any]) -> None:
        if event["kind"] == "step" and event["step"] == step:
            (store.path(run) / CANCEL).touch()

    return listen


def dead() -> Process:
    """A process of this machine that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    started = psutil.Process(process.pid).create_time()
    process.wait()
    return Process(process.pid, started, this_process().host)
