"""Background jobs of a run, cached: processes that wait for their turn and report progress.

<stem>.json: the result; <stem>.progress.json, only during the computation or after a failure: the process and its
progress; <stem>.log: the output of that process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Literal

import msgspec
import psutil

from core import json_store
from core.atomic import convert_os_errors, write_text
from core.exceptions import RunDamaged, SentiscopeError
from core.json_store import Seconds
from core.runs import queue
from core.runs.record import Process
from core.runs.store import RunStore, describe_process, get_own_process, is_alive

TELL_SECONDS = 0.5
"""Between two that are told."""

Tell = Callable[[str, float | None], None]
"""What is done now, and which share of all is done."""


@dataclass(frozen=True)
class Files:
    """The paths of one result, existing or future."""

    folder: Path
    stem: str

    def get_path(self, ending: str) -> Path:
        """Return the path of one of its files: json, progress.json, log."""
        return self.folder / f"{self.stem}.{ending}"


class _ProgressFile(msgspec.Struct):
    """The content of .progress.json."""

    process: Process | None
    began: Seconds
    what: str
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


@dataclass(frozen=True)
class Job:
    """The state of a result: existing, in computation, failed or missing."""

    status: Literal["none", "running", "failed", "done"]
    what: str = ""
    """What is done now, or why it failed."""
    share: float | None = None
    seconds: float = 0.0


@contextlib.contextmanager
def publish_progress(files: Files, on_progress: Tell | None = None) -> Iterator[Tell]:
    """Compute something in this process, and publish its progress in a file.

    What failed leaves its reason; what is interrupted, and what ends well, leaves nothing.
    """
    began, told = time.time(), -math.inf
    with convert_os_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)

    def tell(what: str, share: float | None) -> None:
        """Report the current work, and write it to the file at most every `TELL_SECONDS`."""
        nonlocal told
        if on_progress:
            on_progress(what, share)
        if share is None or time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            write_progress(files, get_own_process(), began, what, share)

    try:
        yield tell
    except Exception as error:
        reason = str(error) if isinstance(error, SentiscopeError) else f"unexpected {type(error).__name__}: {error}"
        write_progress(files, None, began, reason, None)
        raise
    except BaseException:
        files.get_path("progress.json").unlink(missing_ok=True)
        raise
    files.get_path("progress.json").unlink(missing_ok=True)


def build_command(*words: str) -> list[str]:
    """Return a `sentiscope` command line; -P keeps a folder `core` of the working directory off the import path."""
    return [sys.executable, "-P", "-m", "core.cli", *words]


def spawn_process(store: RunStore, command: Sequence[str], log: IO[bytes], **variables: str) -> subprocess.Popen[bytes]:
    """Start a process that knows the run directory, writes into a log and outlives this one."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), **variables},
        start_new_session=True,
    )


def start_job(store: RunStore, files: Files, command: Sequence[str], kind: str) -> None:
    """Compute a result in a process that waits for its turn and outlives this one, unless one is at work.

    `kind` begins its name in the queue. Raises InputError if as many wait as this server allows.
    """
    if read_job(files).status == "running":
        return
    queue.check_room(store.folder, queue.SHORT)
    with convert_os_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)
        with files.get_path("log").open("ab") as log:
            waiting = queue.wrap_command(
                command, store.folder, f"{kind}-{files.stem}", str(time.time_ns()), queue.SHORT
            )
            process = spawn_process(store, waiting, log, OMP_NUM_THREADS="1")
    write_progress(files, describe_process(process.pid), time.time(), "waiting for its turn", None)


def read_job(files: Files) -> Job:
    """Return the state of a result, from its files alone: every session and every server sees the same."""
    there = files.get_path("json").is_file()
    told = _read_progress(files)
    if told is None:
        return Job("done" if there else "none")
    if is_alive(told.process):
        return Job("running", told.what, told.share, max(0.0, time.time() - told.began))
    if there:
        return Job("done")
    if told.process is None:
        return Job("failed", told.what)
    log = files.get_path("log")
    return Job("failed", f"its process (number {told.process.pid}) ended while {told.what}; {log} may say why")


def cancel(files: Files) -> None:
    """End the process that computes something; no partial result is left."""
    told = _read_progress(files)
    who = told.process if told else None
    with contextlib.suppress(psutil.NoSuchProcess):
        if who and who.host == get_own_process().host and is_alive(who):
            process = psutil.Process(who.pid)
            process.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(2)
    forget(files)


def forget(files: Files) -> None:
    """Delete what a failed or cancelled computation left behind."""
    for ending in ("progress.json", "log"):
        files.get_path(ending).unlink(missing_ok=True)


def write_progress(files: Files, who: Process | None, began: float, what: str, share: float | None) -> None:
    """Write the progress for others; without `who` the job failed for the reason `what`."""
    tree = {"process": dataclasses.asdict(who) if who else None, "began": began, "what": what, "share": share}
    write_text(files.get_path("progress.json"), json.dumps(tree) + "\n")


def _read_progress(files: Files) -> _ProgressFile | None:
    with contextlib.suppress(FileNotFoundError, RunDamaged):
        return json_store.read(files.get_path("progress.json"), _ProgressFile)
    return None
