"""Background jobs that compute and cache analyses of a run: processes that wait in a queue and report progress.

A new analysis is a subclass of `Analysis` with `words`, `find`, an `Offer`, and a constructor whose file name covers
all inputs of the result; queue, files, progress, cancellation and the button of the page follow from the class. An
analysis of a split is a module of `core.error_analysis.analyses` with `find` and an `Offer`; it also gets a command and
a section of the page.

<stem>.json: the result; <stem>.progress.json: the process and its progress, only during the computation and after a
failure; <stem>.log: the output of that process.
"""

import contextlib
import json
import logging
import math
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
import psutil

from core import json_store
from core.atomic import convert_os_errors, make_folder, write_text
from core.cache import get_cache_folder
from core.exceptions import InputError, RunDamaged, SentiscopeError, try_call
from core.runs import engines, queue
from core.runs.record import Process
from core.runs.store import RunStore, describe_process, get_own_process, is_alive, is_starter

TELL_SECONDS = 0.5  # least time between two progress reports
Tell = Callable[[str, float | None], None]  # a progress callback: the current step, and the fraction that is done


@dataclass(frozen=True)
class Files:
    """The paths of the files of one analysis (result, progress and log), which need not exist."""

    folder: Path
    stem: str

    def get_path(self, ending: str) -> Path:
        """Return the path of the analysis file with this ending: json, progress.json or log."""
        return self.folder / f"{self.stem}.{ending}"


class _ProgressFile(msgspec.Struct):
    process: Process | None
    began: json_store.Seconds
    what: str
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    refused: bool = False  # whether it failed because of wrong input


@dataclass(frozen=True)
class Job:
    """The state of a background job that computes an analysis result: none, running, failed or done."""

    status: Literal["none", "running", "failed", "done"]
    what: str = ""  # the current step, or why it failed
    share: float | None = None
    seconds: float = 0.0
    refused: bool = False  # whether it failed because of wrong input


@contextlib.contextmanager
def publish_progress(files: Files, on_progress: Tell | None = None) -> Iterator[Tell]:
    """Yield a progress callback that also writes to a file, deleted after success; after failure it has the reason."""
    began, told = time.time(), -math.inf
    make_folder(files.folder)

    def tell(what: str, share: float | None) -> None:
        """Report the current step, and write it to the progress file every few seconds at most."""
        nonlocal told
        if on_progress:
            on_progress(what, share)
        if share is None or time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            write_progress(files, get_own_process(), began, what, share)

    reason = ""
    try:
        yield tell
    except Exception as error:
        reason = str(error) if isinstance(error, SentiscopeError) else f"unexpected {type(error).__name__}: {error}"
        write_progress(files, None, began, reason, None, refused=isinstance(error, InputError))
        raise
    finally:
        if not reason:
            files.get_path("progress.json").unlink(missing_ok=True)


def build_command(*words: str) -> list[str]:
    """Return a `sentiscope` command line; option -P stops Python from importing `core` from the working directory."""
    return [sys.executable, "-P", "-m", "core.cli", *words]


def spawn_process(
    store: RunStore, command: Sequence[str], log: IO[bytes], *locks: int, **variables: str
) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one and inherits `locks` of the queue; its output goes to a log file."""
    variables |= {queue.HELD: " ".join(map(str, locks))} if locks else {}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), **variables},
        start_new_session=True,
        pass_fds=locks,
    )


def start_job(store: RunStore, files: Files, command: Sequence[str], kind: str, *, lane: str = queue.SHORT) -> None:
    """Start a background process, `kind` in the queue `lane`, unless one is running; InputError: the queue is full."""
    if read_job(files).status == "running":
        return
    queue.check_room(store.folder, lane)
    engine = engines.find_engine() if lane == queue.SHORT else ""  # jobs that submit trainings run on this machine
    with convert_os_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)
        if engine:
            who = engines.submit(engine, command, store.folder, files.get_path("log"), OMP_NUM_THREADS="1")
        else:
            with files.get_path("log").open("ab") as log:
                name = f"{kind}-{files.stem}"
                waiting = queue.wrap_command(command, store.folder, name, str(time.time_ns()), lane)
                who = describe_process(spawn_process(store, waiting, log, OMP_NUM_THREADS="1").pid)
    write_progress(files, who, time.time(), "waiting for its turn", None)


def read_job(files: Files) -> Job:
    """Return the state of a background job from its files alone, so that every browser session sees the same."""
    there = files.get_path("json").is_file()
    told = _read_progress(files)
    if told is None:
        return Job("done" if there else "none")
    if is_alive(told.process):
        place = f" · {told.process.title}" if told.process and told.process.job else ""
        return Job("running", told.what + place, told.share, max(0.0, time.time() - told.began))
    if there:
        return Job("done")
    if told.process is None:
        return Job("failed", told.what, refused=told.refused)
    log = files.get_path("log")
    return Job("failed", f"its process ({told.process.title}) ended while {told.what}; {log} may say why")


def cancel(files: Files) -> None:
    """Stop the process of a background job and delete its progress and log files."""
    told = _read_progress(files)
    who = told.process if told else None
    with contextlib.suppress(psutil.NoSuchProcess, InputError):  # a job out of reach only stores a result
        if who and who.job:
            engines.stop(who)
        elif who and who.host == get_own_process().host and is_alive(who):
            process = psutil.Process(who.pid)
            process.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(2)
    forget(files)


def forget(files: Files) -> None:
    """Delete the progress and log files that a failed or cancelled background job left behind."""
    for ending in ("progress.json", "log"):
        files.get_path(ending).unlink(missing_ok=True)


def write_progress(
    files: Files, who: Process | None, began: float, what: str, share: float | None, *, refused: bool = False
) -> None:
    """Write the progress file of a background job; if `who` is None, the job failed for the reason `what`."""
    tree = {"process": who.to_tree() if who else None, "began": began, "what": what, "share": share, "refused": refused}
    write_text(files.get_path("progress.json"), json.dumps(tree) + "\n")


def _read_progress(files: Files) -> _ProgressFile | None:
    errors = FileNotFoundError, RunDamaged
    return try_call(errors, None, json_store.read, files.get_path("progress.json"), _ProgressFile)


Found = TypeVar("Found")


@dataclass(frozen=True)
class Offer:
    """The texts that a page shows about an analysis not computed yet: button, title, error and duration."""

    button: str
    title: str
    failed: str
    takes: str


@dataclass(frozen=True)
class Analysis(Files, ABC, Generic[Found]):
    """A slow analysis of a run whose result is computed once and stored under a hash of its inputs."""

    store: RunStore = field(repr=False, compare=False)

    name: ClassVar[str]
    again: ClassVar[bool] = False  # whether it is computed anew at every request, so that an old result is deleted

    @property
    @abstractmethod
    def offer(self) -> Offer:
        """Return the texts that a page shows about the analysis: button, title, error and duration."""

    @property
    def shape(self) -> Any:
        """Return the schema type that a stored analysis result is validated with."""
        return dict[str, Any]

    @property
    @abstractmethod
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes and stores this analysis."""

    @abstractmethod
    def find(self, tell: Tell) -> Found:
        """Compute the result of the analysis and report progress to the callback `tell`."""

    def read(self) -> Found | None:
        """Return the stored result of the analysis; None if there is none or its file cannot be read."""
        if self.store.held:
            return None
        try:
            tree = json_store.read_tree(self.get_path("json"))
            checked = json_store.check_value(tree, self.shape, file=self.get_path("json"))
        except (FileNotFoundError, RunDamaged):
            return None
        return checked if hasattr(checked, "__struct_fields__") else tree  # a shape may list some fields only

    def write(self, found: Found, seconds: float) -> None:
        """Store the result of the analysis, which took `seconds` to compute."""
        tree = json.dumps(found, ensure_ascii=False, allow_nan=False, default=msgspec.to_builtins)
        write_text(self.get_path("json"), tree)

    def compute(self, on_progress: Tell | None = None) -> Found:
        """Compute and store the analysis, here or as a job of the engine; with a model in memory, only compute it."""
        if self.store.held:
            return self.find(on_progress or (lambda what, share: None))
        if engines.find_engine():
            return self._follow(on_progress or (lambda what, share: None))
        return self.compute_here(on_progress)

    def compute_here(self, on_progress: Tell | None = None) -> Found:
        """Compute the analysis in this process and store it."""
        with publish_progress(self, on_progress) as tell:
            began = time.monotonic()
            found = self.find(tell)
            self.write(found, time.monotonic() - began)
        return found

    def _follow(self, tell: Tell) -> Found:
        """Compute the analysis as a job of the engine, which Ctrl-C cancels; SentiscopeError: it failed."""
        self.start()
        try:
            while (job := read_job(self)).status == "running":
                tell(job.what, job.share)
                time.sleep(TELL_SECONDS)
        except KeyboardInterrupt:
            cancel(self)
            raise
        if (found := self.read()) is None:
            raise (InputError if job.refused else SentiscopeError)(job.what)
        return found

    def compute_anyway(self, on_progress: Tell | None = None) -> Found:
        """Compute the analysis even if its folder cannot be created; then only log that the result is not stored."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            logging.getLogger(__name__).warning("%s is not stored: %s", self.get_path("json"), error)
            return self.find(on_progress or (lambda what, share: None))
        return self.compute(on_progress)

    def read_or_compute(self, on_progress: Tell | None = None) -> tuple[Found, bool]:
        """Return the result of the analysis, computed now if none is stored or readable, and whether it was stored."""
        found = try_call(RunDamaged, None, self.read)
        return (self.compute(on_progress), False) if found is None else (found, True)

    def start(self) -> None:
        """Start a background process that computes the analysis; InputError: this server's queue is full."""
        if self.again:  # an old result would hide a failure
            self.get_path("json").unlink(missing_ok=True)
        start_job(self.store, self, build_command(*self.words), self.name)


def locate_folder(run: Path, kind: str, stem: str, cached: str = "") -> Path:
    """Return the folder of a run's analysis: in the run, or for a starter that does not ship it in the cache."""
    if is_starter(run) and not (run / kind / f"{stem}.json").is_file():
        return get_cache_folder() / (cached or kind)
    return run / kind
