"""The main steps of a training process: wait for a slot, train and evaluate, and always leave a record.

Imports nothing heavy: a process that waits in the queue costs no memory for torch.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from core.exceptions import Cancelled, InputError, SentiscopeError, StorageError
from core.runs.queue import START_SECONDS, lock_run, wait_for_slot
from core.runs.record import CANCEL, CHECKPOINT, DISCARD, LOG, RunRecord
from core.runs.store import RunStore, explain_resume, get_own_process

SPINS = "1000"
"""How often a thread of GNU OpenMP polls for the others before it sleeps. While another program uses one of two cores,
a training step takes up to 20 times as long with the default, and about twice as long with this."""
OnEvent = Callable[[dict[str, Any]], None]
"""Receives what a recipe leaves out, {"kind": "recipe", …}, each stage, {"kind": "queued" | "running" | "data" |
"tokenizer" | "teacher" | "vectors" | "masked words" | "training" | "evaluation" | "intervals" | "yardstick", …}, and
every row of the history, {"kind": "step" | "epoch", …}."""


def execute(store: RunStore, run: str, *, on_event: OnEvent | None = None) -> RunRecord:
    """Train and evaluate a run in this process, from the start or its checkpoint; return the final record.

    The run is then done, or cancelled by `training_jobs.cancel`, SIGTERM or Ctrl-C and can be resumed. Raises
    InputError if it was done before or another process trains it, and SentiscopeError if it failed; record and log
    contain the reason.
    """
    tell = on_event or (lambda event: None)
    folder = store.get_writable_path(run)
    with lock_run(folder, START_SECONDS), handle_stop_signals() as signalled:

        def is_stop_requested() -> bool:
            """Return whether a signal or a user asked this training run to stop."""
            return signalled.is_set() or store.is_cancel_requested(run)

        record = _record_process(store, run)
        try:
            tell({"kind": "queued", "run": run})
            with wait_for_slot(store.folder, run, record.created, is_stop_requested):
                store.update(run, status="running")
                tell({"kind": "running", "run": run})
                os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # read once, when torch loads OpenMP
                from core.runs.pipeline import Experiment  # imports torch and pandas

                Experiment(store, run, is_stop_requested, tell).perform()
                return store.update(run, status="done", process=None)
        except Cancelled:
            reason = f"cancelled; {clear_stop_request(folder, run)}"
            return store.update(run, status="cancelled", reason=reason, process=None)
        except Exception as error:
            raise _record_failure(store, run, error) from error


def clear_stop_request(folder: Path, run: str) -> str:
    """Delete a run's stop request, and also its checkpoint if the user asked so; return a hint on how to continue."""
    request = folder / CANCEL
    with contextlib.suppress(OSError):
        discard = request.is_file() and request.read_text() == DISCARD
        request.unlink(missing_ok=True)
        if discard:
            shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
            return f"`sentiscope train --resume {run}` starts it again"
    return explain_resume(run)


def _record_process(store: RunStore, run: str) -> RunRecord:
    """Record this process as the one that trains the run; a resumed run ignores an old stop request."""
    record = store.read(run)
    if record.status == "done":
        raise InputError(f"run '{run}' is done: there is nothing to resume")
    if record.foreign_reason:
        raise InputError(record.foreign_reason)
    if record.status != "queued":
        with contextlib.suppress(FileNotFoundError):
            (store.get_path(run) / CANCEL).unlink()
    return store.update(run, status="queued", reason="", process=get_own_process())


def _record_failure(store: RunStore, run: str, error: Exception) -> SentiscopeError:
    reason = _explain_failure(error, run)
    with contextlib.suppress(OSError), (store.get_path(run) / LOG).open("a", encoding="utf-8") as log:
        log.write("".join(traceback.format_exception(error)))
    # On a full disk the record remains "running"; readers see that its process is dead.
    with contextlib.suppress(StorageError):
        store.update(run, status="failed", reason=reason, process=None)
    return error if isinstance(error, SentiscopeError) else SentiscopeError(reason)


def _explain_failure(error: Exception, run: str) -> str:
    if isinstance(error, SentiscopeError):
        return str(error)
    if isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error):
        return f"out of memory: try a smaller training.batch_size or text.max_length; {explain_resume(run)}"
    return f"unexpected {type(error).__name__}: {error}; the whole story is in {LOG} of the run"


@contextlib.contextmanager
def handle_stop_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set; a second signal ends the process. Main thread only."""
    signalled = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield signalled
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stop(number: int, frame: FrameType | None) -> None:
        """Set the stop event at the first signal, and exit at the second (signal handler)."""
        if signalled.is_set():
            os._exit(128 + number)
        signalled.set()

    for number in before:
        signal.signal(number, stop)
    try:
        yield signalled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
