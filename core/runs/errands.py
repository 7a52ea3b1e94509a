"""Background jobs of a run, cached: processes that wait for their turn and report progress.

<stem>.json: what was computed; <stem>.progress.json, only while it is computed or after it failed: who does it, and how
far they are; <stem>.log: what that process printed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec
import psutil

from core import stored
from core.atomic import storage_errors, write_text
from core.exceptions import NotAvailable, RunDamaged, SentiscopeError
from core.runs import queue
from core.runs.record import Process
from core.runs.store import RunStore, alive, describe_process, this_process
from core.stored import Seconds

TELL_SECONDS, LOOK_SECONDS = 0.5, 0.3
"""Between two that are told, and between two looks at what a process said."""
LONGEST_S = 1800.0
TOLD = re.compile(r"(\d+) % (.+)")

Tell = Callable[[str, float | None], None]
"""What is done now, and which share of all is done."""
OnWait = Callable[[str, float], None]
"""The same, where a share is always known."""


@dataclass(frozen=True)
class Files:
    """The place of one result, existing or future."""

    folder: Path
    stem: str

    def path(self, ending: str) -> Path:
        """Return the path of one of its files: json, progress.json, log."""
        return self.folder / f"{self.stem}.{ending}"


class _Told(msgspec.Struct):
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
def telling(files: Files, on_progress: Tell | None = None) -> Iterator[Tell]:
    """Compute something in this process, and publish its progress in a file.

    What failed leaves its reason; what is interrupted, and what ends well, leaves nothing.
    """
    began, told = time.time(), -math.inf
    with storage_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)

    def tell(what: str, share: float | None) -> None:
        """Report the current work, and write it to the file at most every `TELL_SECONDS`."""
        nonlocal told
        if on_progress:
            on_progress(what, share)
        if share is None or time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            write_progress(files, this_process(), began, what, share)

    try:
        yield tell
    except Exception as error:
        reason = str(error) if isinstance(error, SentiscopeError) else f"unexpected {type(error).__name__}: {error}"
        write_progress(files, None, began, reason, None)
        raise
    except BaseException:
        files.path("progress.json").unlink(missing_ok=True)
        raise
    files.path("progress.json").unlink(missing_ok=True)


def sentiscope(*words: str) -> list[str]:
    """Return a `sentiscope` command line; -P keeps a folder `core` of the working directory off the import path."""
    return [sys.executable, "-P", "-m", "core.cli", *words]


def spawn(store: RunStore, command: Sequence[str], log: IO[bytes], **variables: str) -> subprocess.Popen[bytes]:
    """Start a process that knows the run directory, writes into a log and outlives this one."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), **variables},
        start_new_session=True,
    )


def start(store: RunStore, files: Files, command: Sequence[str], kind: str) -> None:
    """Compute a result in a process that waits for its turn and outlives this one, unless one is at work.

    `kind` begins its name in the queue. Raises InputError if as many wait as this server allows.
    """
    if job(files).status == "running":
        return
    queue.check_room(store.folder, queue.SHORT)
    with storage_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)
        with files.path("log").open("ab") as log:
            waiting = queue.in_turn(command, store.folder, f"{kind}-{files.stem}", str(time.time_ns()), queue.SHORT)
            process = spawn(store, waiting, log, OMP_NUM_THREADS="1")
    write_progress(files, describe_process(process.pid), time.time(), "waiting for its turn", None)


def answer(store: RunStore, words: Sequence[str], name: str, what: str = "", on_wait: OnWait | None = None) -> Any:
    """Return the JSON output of a `sentiscope` command, run in a process of its own that waits for its turn.

    `on_wait` hears how far it is a few times a second; when it raises, as a page does that is left, the process is
    ended. Raises InputError if as many wait as this server allows, and NotAvailable if `what` is measured could not be,
    or took over half an hour.
    """
    queue.check_room(store.folder, queue.SHORT)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            queue.in_turn(sentiscope(*words), store.folder, name, str(time.time_ns()), queue.SHORT),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), "COLUMNS": "500"},
        )
        began = time.monotonic()
        try:
            while process.poll() is None:
                if on_wait:
                    on_wait(*_progress(_lines(log)))
                elif time.monotonic() - began > LONGEST_S:
                    raise NotAvailable(f"{what} waited and worked for more than half an hour; try again later")
                time.sleep(LOOK_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            said = [line for line in _lines(log) if not TOLD.fullmatch(line)] or ["no reason was given"]
            reason = said[-1].removeprefix("sentiscope: ")
            raise NotAvailable(f"{what} could not be measured: {reason}" if what else reason)
        out.seek(0)
        return json.load(out)


def _lines(log: IO[str]) -> list[str]:
    log.seek(0)
    return log.read().splitlines()


def _progress(lines: Sequence[str]) -> tuple[str, float]:
    told = [found for line in lines if (found := TOLD.fullmatch(line.strip()))]
    return (told[-1][2], int(told[-1][1]) / 100) if told else ("waiting for its turn", 0.0)


def job(files: Files) -> Job:
    """Return the state of a result, from its files alone: every session and every server sees the same."""
    there = files.path("json").is_file()
    told = _told(files)
    if told is None:
        return Job("done" if there else "none")
    if alive(told.process):
        return Job("running", told.what, told.share, max(0.0, time.time() - told.began))
    if there:
        return Job("done")
    if told.process is None:
        return Job("failed", told.what)
    log = files.path("log")
    return Job("failed", f"its process (number {told.process.pid}) ended while {told.what}; {log} may say why")


def cancel(files: Files) -> None:
    """End the process that computes something; no partial result is left."""
    told = _told(files)
    who = told.process if told else None
    with contextlib.suppress(psutil.NoSuchProcess):
        if who and who.host == this_process().host and alive(who):
            process = psutil.Process(who.pid)
            process.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(2)
    forget(files)


def forget(files: Files) -> None:
    """Delete what a failed or cancelled computation left behind."""
    for ending in ("progress.json", "log"):
        files.path(ending).unlink(missing_ok=True)


def write_progress(files: Files, who: Process | None, began: float, what: str, share: float | None) -> None:
    """Write the progress for others; without `who` the job failed for the reason `what`."""
    tree = {"process": dataclasses.asdict(who) if who else None, "began": began, "what": what, "share": share}
    write_text(files.path("progress.json"), json.dumps(tree) + "\n")


def _told(files: Files) -> _Told | None:
    with contextlib.suppress(FileNotFoundError, RunDamaged):
        return stored.read(files.path("progress.json"), _Told)
    return None
