"""A queue without a daemon: locked files, which the operating system frees when a process dies, however it dies.

`<runs>/.queue/` holds one file per waiting process, named so that the oldest run sorts first, and one file per slot.
A process trains while it holds the lock of a slot. Tried on POSIX systems; Windows uses msvcrt's locks in their place.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from core.atomic import storage_errors
from core.exceptions import Cancelled, ConfigError, InputError

POLL_SECONDS = 0.3
FOLDER = ".queue"


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit() -> int:
    """How many runs may train at once: SENTISCOPE_JOBS, else half of the cores.

    Raises:
        ConfigError: SENTISCOPE_JOBS is not a positive whole number.
    """
    chosen = os.environ.get("SENTISCOPE_JOBS", "")
    if not chosen:
        return max(1, cores() // 2)
    if not chosen.isdecimal() or int(chosen) < 1:
        raise ConfigError(f"SENTISCOPE_JOBS={chosen!r}: a whole number, at least 1")
    return int(chosen)


def threads() -> int:
    """CPU threads of one run, so that all that may train at once share the machine."""
    return max(1, cores() // limit())


@contextlib.contextmanager
def only_process(run: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold a run's directory for this process, waiting at most `wait` seconds.

    Raises:
        InputError: another process has it.
    """
    with opened(run / ".lock") as handle:
        until = time.monotonic() + wait
        while not try_lock(handle):
            if time.monotonic() >= until:
                raise InputError(f"run '{run.name}' is already in the hands of another process")
            time.sleep(0.05)
        yield


@contextlib.contextmanager
def slot(runs: Path, run: str, created: str, stopped: Callable[[], bool]) -> Iterator[None]:
    """Wait until this run may train, the oldest first, and hold one of `limit()` slots.

    Args:
        runs: directory of all runs.
        run: name of this one.
        created: ISO time in UTC; decides the order.
        stopped: asked while waiting.

    Raises:
        Cancelled: `stopped` said so.
    """
    folder = _folder(runs)
    ticket = folder / f"ticket-{''.join(filter(str.isdigit, created))}-{run}"
    with contextlib.ExitStack() as held:
        with _ticket(ticket):
            while not (_first(ticket) and _take(folder, held)):
                if stopped():
                    raise Cancelled("cancelled while waiting in the queue")
                time.sleep(POLL_SECONDS)
        yield


@contextlib.contextmanager
def _ticket(path: Path) -> Iterator[None]:
    """A locked file that shows others who waits; made again if another process cleared it away unlocked."""
    while True:
        with opened(path) as handle:
            while not try_lock(handle):
                time.sleep(0.01)
            if not (path.exists() and os.path.samestat(os.fstat(handle), path.stat())):
                continue
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()
            return


def _first(ticket: Path) -> bool:
    """Whether no older ticket is held; those of dead processes are cleared away."""
    for other in sorted(ticket.parent.glob("ticket-*")):
        if other.name >= ticket.name:
            return True
        with contextlib.suppress(OSError), opened(other) as handle:
            if not try_lock(handle):
                return False
            other.unlink()
    return True


def _take(folder: Path, held: contextlib.ExitStack) -> bool:
    """Lock a free slot for as long as `held` is open."""
    for number in range(limit()):
        own = contextlib.ExitStack()
        if try_lock(own.enter_context(opened(folder / f"slot-{number}"))):
            held.push(own)
            return True
        own.close()
    return False


def _folder(runs: Path) -> Path:
    folder = runs / FOLDER
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A file's handle; closing it frees its lock."""
    with storage_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield handle
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file for this process; False where another one has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
