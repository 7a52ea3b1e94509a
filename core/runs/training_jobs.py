"""Training runs as background processes: start, cancel, recover and clean up. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from core.atomic import ENDING, convert_os_errors
from core.config import RunConfig
from core.data.uploads import FILES
from core.exceptions import InputError, SentiscopeError
from core.recipes import NO_RECIPE, AppliedRecipe
from core.runs import background_jobs, queue, sweep
from core.runs.cost_estimate import estimate_cost
from core.runs.record import CANCEL, CHECKPOINT, DISCARD, HISTORY, LOG, RECORD, RunRecord
from core.runs.store import RunStore, describe_process, explain_resume, get_own_process, is_alive
from core.runs.warm_start import find_teacher
from core.runs.worker import clear_stop_request

STUCK_SECONDS = 60.0  # time after which a process that ignores a request to stop may be killed
DYING_SECONDS = 5.0  # waiting time for a run's lock, which a killed process may hold for a moment


def submit(
    store: RunStore, config: RunConfig, preset: str, name: str = "", recipe: AppliedRecipe = NO_RECIPE
) -> RunRecord:
    """Create a run and start its training process, which waits in the queue until a slot is free.

    Raises InputError, and creates nothing, if the queue of this server is full, the teacher is no finished run, or the
    training does not fit into this machine.
    """
    queue.check_room(store.folder)
    find_teacher(config, store)
    estimate_cost(config, store.list())
    return start(store, store.create(config, preset, name, recipe=recipe).run)


def start(store: RunStore, run: str) -> RunRecord:
    """Start or restart the training process of a run that has none; that process outlives the calling one.

    Raises InputError if the run is done or a starter, a running process has it, the queue of this server is full, or
    its settings name files of another machine.
    """
    queue.check_room(store.folder)
    folder = store.get_writable_path(run)
    if unbound := store.read(run).foreign_reason:
        raise InputError(unbound)
    # The new process waits for this lock, so that its ID is in the record before it writes the record itself.
    with queue.lock_run(folder, DYING_SECONDS):
        record = store.read(run)
        if record.status == "done" or (record.status in ("queued", "running") and is_alive(record.process)):
            raise InputError(f"run '{run}' is {record.status}: there is nothing to start")
        with convert_os_errors(folder):
            (folder / CANCEL).unlink(missing_ok=True)
            if not (folder / CHECKPOINT).is_dir():  # training starts again, without its old history
                (folder / HISTORY).unlink(missing_ok=True)
            place = queue.reserve_ticket(store.folder, run, record.created)
            with (folder / LOG).open("ab") as log, place as handles:
                waiting = (build_command(run), store.folder, run, record.created, queue.TRAINING, folder, CANCEL)
                process = background_jobs.spawn_process(store, queue.wrap_command(*waiting), log, handles)
        return store.update(run, status="queued", reason="", process=describe_process(process.pid))


def build_command(run: str) -> list[str]:
    """Return the command line of the process that trains a run."""
    return background_jobs.build_command("train", "--resume", run)


def cancel(store: RunStore, run: str, *, keep: bool = True, insist: bool = False) -> RunRecord:
    """Ask a training run to stop; it saves a checkpoint first, and can be resumed if `keep` is true.

    With `insist`, kill its process if it has ignored a request for `STUCK_SECONDS` (`is_stuck`). Raises InputError if
    it neither waits nor runs, or its process belongs to another user.
    """
    record = store.read(run)
    if record.status not in ("queued", "running"):
        raise InputError(f"run '{run}' is {record.status}: there is nothing to cancel")
    if not is_alive(record.process):
        return store.update(run, status="cancelled", reason=f"cancelled before it began; {explain_resume(run)}")
    path, words = store.get_path(run) / CANCEL, "" if keep else DISCARD
    stuck = insist and is_stuck(store, record)
    with convert_os_errors(path):
        if not path.is_file() or path.read_text() != words:  # a repeated request keeps its time
            path.write_text(words)
    return _end_process(store, record) if stuck else record


def is_stuck(store: RunStore, record: RunRecord) -> bool:
    """Return whether a run's process on this machine has ignored a request to stop for too long."""
    with contextlib.suppress(OSError):
        asked = (store.get_path(record.run) / CANCEL).stat().st_mtime
        here = record.process is not None and record.process.host == get_own_process().host
        return here and time.time() - asked > STUCK_SECONDS
    return False


def _end_process(store: RunStore, record: RunRecord) -> RunRecord:
    """End the process of a run that ignores a request to stop, and record the run as cancelled."""
    if record.process is not None and is_alive(record.process):
        try:
            psutil.Process(record.process.pid).kill()
        except psutil.NoSuchProcess:
            pass  # it has just ended
        except psutil.AccessDenied:
            whose = f"its process {record.process.pid} is another user's: ask them to end it"
            raise InputError(f"run '{record.run}' does not stop, and {whose}") from None
    folder = store.get_path(record.run)
    with queue.lock_run(folder, DYING_SECONDS):
        if store.read(record.run).status == "done":
            return store.read(record.run)
        reason = f"cancelled; it did not answer and was ended; {clear_stop_request(folder, record.run)}"
        return store.update(record.run, status="cancelled", reason=reason, process=None)


def recover_runs(store: RunStore) -> list[RunRecord]:
    """Start waiting runs whose process is gone, and mark runs whose process died as failed, after a restart.

    Returns the records that changed, oldest first.
    """
    clear_leftovers(store)
    changed = []
    for record in reversed(store.list()):
        # A run that cannot be written, or that another process has just started, is left as it is.
        with contextlib.suppress(SentiscopeError):
            if record.status == "queued" and not is_alive(record.process):
                changed.append(start(store, record.run))
            elif record.status == "failed" and record.process is not None:
                changed.append(store.update(record.run, status="failed", reason=record.reason, process=None))
    return changed


def get_queue_position(records: Sequence[RunRecord], run: str) -> int:
    """Return the place of a waiting run in the queue, counted from 1; 0 if it does not wait."""
    waiting = sorted((record.created, record.run) for record in records if record.status == "queued")
    return next((place for place, (_, name) in enumerate(waiting, start=1) if name == run), 0)


LIBRARY = ".data"
HALF_DONE = (".import-*", ".removed-*")
"""Directories left behind if a process dies while it imports or removes a run."""
UNTOUCHED_SECONDS = 3600.0
"""Age of such files before they are deleted: a process of another machine may still write them."""
UNUSED_SECONDS = 24 * 3600.0
"""Age of unused uploaded files before they are deleted: a user may still be choosing their columns."""
_CONTENT = re.compile(rb"[0-9a-f]{64}")


def clear_leftovers(store: RunStore) -> None:
    """Delete leftover files in the folder of runs that no process needs; skip files that cannot be removed."""
    if not store.folder.is_dir():
        return
    with contextlib.suppress(OSError, SentiscopeError):
        queue.clear_tickets(store.folder)
    for path in [*_find_half_done(store.folder), *_find_unused(store.folder)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def _find_half_done(folder: Path) -> Iterator[Path]:
    for pattern in HALF_DONE:
        yield from (path for path in folder.glob(pattern) if _is_older(path, UNTOUCHED_SECONDS))
    yield from (path for path in folder.rglob(f".*{ENDING}") if _is_older(path, UNTOUCHED_SECONDS))


def _find_unused(folder: Path) -> Iterator[Path]:
    """Yield uploaded data files that no run, sweep or saved choice of a user refers to."""
    uploads = [path for path in (folder / LIBRARY / FILES).glob("*") if _is_older(path, UNUSED_SECONDS)]
    if not uploads:
        return
    named: set[bytes] = set()
    for pattern in (f"*/{RECORD}", f"{sweep.FOLDER}/*.json", f"{LIBRARY}/choices/*.json"):
        for path in folder.glob(pattern):
            try:
                named.update(_CONTENT.findall(path.read_bytes()))
            except OSError:
                return  # the uploads that it names are unknown
    yield from (path for path in uploads if path.name.encode() not in named)


def _is_older(path: Path, seconds: float) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - path.stat().st_mtime > seconds
    return False
