"""Training runs as background processes: start, cancel, recover and clean up. Imports nothing heavy."""

import contextlib
import os
import re
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from core.atomic import ENDING, convert_os_errors
from core.config import RunConfig
from core.data.uploads import FILES
from core.exceptions import Cancelled, InputError, SentiscopeError, StorageError
from core.recipes import NO_RECIPE, AppliedRecipe
from core.runs import background_jobs, engines, queue, sweep
from core.runs.configuration import find_teacher
from core.runs.cost_estimate import estimate_cost
from core.runs.record import CANCEL, CHECKPOINT, DISCARD, HISTORY, LOG, RECORD, RunRecord
from core.runs.store import RunStore, describe_process, explain_resume, get_own_process, is_alive
from core.training.history import read_history

STUCK_SECONDS = 60.0  # time after which a process that ignores a request to stop may be killed
DYING_SECONDS = 5.0  # waiting time for a run's lock, which a killed process may hold for a moment
POLL_SECONDS = 1.0
STOPPING_SECONDS = 30.0  # the same for a job of Slurm or Ray


def submit(
    store: RunStore, config: RunConfig, preset: str, name: str = "", recipe: AppliedRecipe = NO_RECIPE
) -> RunRecord:
    """Create a run and start its process, which waits for a slot; InputError, and nothing created: it cannot run."""
    queue.check_room(store.folder)
    engines.find_engine()
    find_teacher(config, store)
    estimate_cost(config, store.list())
    return start(store, store.create(config, preset, name, recipe=recipe).run)


def start(store: RunStore, run: str) -> RunRecord:
    """Start or restart a run's training process, which outlives this one; InputError: done, running or no room."""
    queue.check_room(store.folder)
    folder, record = store.get_writable_path(run), store.read(run)
    store.guard.check_change(run, record.parent)
    if record.foreign_reason:
        raise InputError(record.foreign_reason)
    engine = engines.find_engine()
    # The new process waits for this lock, so that its ID is in the record before it writes the record itself.
    with queue.lock_run(folder, DYING_SECONDS):
        record = store.read(run)
        if record.status == "done" or (record.is_live and is_alive(record.process)):
            raise InputError(f"run '{run}' is {record.status}: there is nothing to start")
        with convert_os_errors(folder):
            (folder / CANCEL).unlink(missing_ok=True)
            if not (folder / CHECKPOINT).is_dir():  # training starts again, without its old history
                (folder / HISTORY).unlink(missing_ok=True)
            if engine:
                try:
                    who = engines.submit(engine, build_command(run), store.folder, folder / LOG)
                except InputError as error:
                    store.update(run, status="failed", reason=str(error), process=None)
                    raise
                return store.update(run, status="queued", reason="", process=who)
            place = queue.reserve_ticket(store.folder, run, record.created)
            with (folder / LOG).open("ab") as log, place as handles:
                waiting = (build_command(run), store.folder, run, record.created, queue.TRAINING, folder, CANCEL)
                process = background_jobs.spawn_process(store, queue.wrap_command(*waiting), log, *handles)
        return store.update(run, status="queued", reason="", process=describe_process(process.pid))


def build_command(run: str) -> list[str]:
    """Return the command line of the process that trains a run."""
    return background_jobs.build_command("train", "--resume", run)


def cancel(store: RunStore, run: str, *, keep: bool = True, insist: bool = False) -> RunRecord:
    """Ask a run to save a checkpoint and stop, to be resumed if `keep`; `insist` kills a stuck one (`is_stuck`)."""
    record = store.read(run)
    if not record.is_live:
        raise InputError(f"run '{run}' is {record.status}: there is nothing to cancel")
    store.guard.check_change(run, record.parent)
    if not is_alive(record.process):
        return store.update(run, status="cancelled", reason=f"cancelled before it began; {explain_resume(run)}")
    path, words = store.get_path(run) / CANCEL, "" if keep else DISCARD
    stuck = insist and is_stuck(store, record)
    with convert_os_errors(path):
        if not path.is_file() or path.read_text() != words:  # a repeated request keeps its time
            path.write_text(words)
    # A job that waits in Slurm or Ray would notice the request only when it begins.
    waits = record.status == "queued" and record.process is not None and bool(record.process.job)
    return _end_process(store, record) if stuck or waits else record


def is_stuck(store: RunStore, record: RunRecord) -> bool:
    """Return whether a run's process, which can be ended from here, has ignored a request to stop for too long."""
    with contextlib.suppress(OSError):
        asked = (store.get_path(record.run) / CANCEL).stat().st_mtime
        who = record.process
        within_reach = who is not None and (bool(who.job) or who.host == get_own_process().host)
        return within_reach and time.time() - asked > STUCK_SECONDS
    return False


def _end_process(store: RunStore, record: RunRecord) -> RunRecord:
    """End the process of a run that ignores a request to stop or waits elsewhere, and record the run as cancelled."""
    job = record.process.job if record.process is not None else ""
    if record.process is not None and job:
        engines.stop(record.process)
    elif record.process is not None and is_alive(record.process):
        try:
            psutil.Process(record.process.pid).kill()
        except psutil.NoSuchProcess:
            pass  # it has just ended
        except psutil.AccessDenied:
            whose = f"its process {record.process.pid} is another user's: ask them to end it"
            raise InputError(f"run '{record.run}' does not stop, and {whose}") from None
    folder = store.get_path(record.run)
    with queue.lock_run(folder, STOPPING_SECONDS if job else DYING_SECONDS):
        if store.read(record.run).status in ("done", "cancelled" if job else "done"):
            return store.read(record.run)
        ended = "" if record.status == "queued" and job else "it did not answer and was ended; "
        reason = f"cancelled; {ended}{clear_stop_request(folder, record.run)}"
        return store.update(record.run, status="cancelled", reason=reason, process=None)


def recover_runs(store: RunStore) -> list[RunRecord]:
    """Start waiting runs without a process, mark dead ones as failed, and return changed records, oldest first."""
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
HALF_DONE = (".import-*", ".removed-*")  # directories left behind if a process dies while it imports or removes a run
UNTOUCHED_SECONDS = 3600.0  # age at which they are deleted: another machine may still write them
UNUSED_SECONDS = 24 * 3600.0  # age at which unused uploads are deleted: a user may still choose columns
_CONTENT = re.compile(rb"[0-9a-f]{64}")


def clear_leftovers(store: RunStore) -> None:
    """Delete leftover files in the folder of runs that no process needs; skip files that cannot be removed."""
    if not store.folder.is_dir():
        return
    with contextlib.suppress(OSError, SentiscopeError):
        queue.clear_tickets(store.folder)
    half_done = [path for pattern in HALF_DONE for path in store.folder.glob(pattern)]
    half_done += store.folder.rglob(f".*{ENDING}")
    old = (path for path in half_done if _is_older(path, UNTOUCHED_SECONDS))
    for path in [*old, *_find_unused(store.folder)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


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


SPINS = "1000"
"""How often a thread of GNU OpenMP polls for the others before it sleeps. While another program uses one of two cores,
a training step takes up to 20 times as long with the default, and about twice as long with this."""
OnEvent = Callable[[dict[str, Any]], None]
"""Receives what a recipe leaves out, {"kind": "recipe", …}, each stage, {"kind": "queued" | "running" | "data" |
"tokenizer" | "teacher" | "vectors" | "masked words" | "training" | "evaluation" | "intervals" | "yardstick", …}, and
every row of the history, {"kind": "step" | "epoch", …}."""


def execute(store: RunStore, run: str, *, on_event: OnEvent | None = None) -> RunRecord:
    """Train and evaluate a run in this process, from the start or its checkpoint; return the final record.

    Cancelled by `cancel`, SIGTERM or Ctrl-C it can be resumed. InputError: done before, or another process trains it.
    """
    tell = on_event or (lambda event: None)
    folder = store.get_writable_path(run)
    with queue.lock_run(folder, queue.START_SECONDS), handle_stop_signals() as signalled:

        def is_stop_requested() -> bool:
            return signalled.is_set() or store.is_cancel_requested(run)

        record = _record_process(store, run)
        try:
            tell({"kind": "queued", "run": run})
            with queue.wait_for_slot(store.folder, run, record.created, is_stop_requested):
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


def follow(store: RunStore, run: str, on_event: OnEvent | None = None) -> RunRecord:
    """Wait for the end of a run that another process trains; Ctrl-C cancels it. SentiscopeError: it failed."""
    tell, history = on_event or (lambda event: None), store.get_path(run) / HISTORY
    told, asked, seen = "", False, len(read_history(history).rows)
    with handle_stop_signals() as signalled:
        while True:
            record, rows = store.read(run), read_history(history).rows
            if record.is_live and record.status != told:
                tell({"kind": (told := record.status), "run": run})
            for row in rows[seen:]:
                tell(row)
            if not record.is_live:
                break
            seen = len(rows)
            if signalled.is_set() and not asked:
                asked = bool(cancel(store, run))
            time.sleep(POLL_SECONDS)
    if record.status == "failed":
        raise SentiscopeError(record.reason)
    return record


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
