"""Run directories: where they are, how they are created, written atomically, and validated when read.

The user's runs are written to one folder. Starters are read from another one and never changed. In a checkout both may
be the same folder, so a starter is recognised by its name prefix, which is reserved. Imports nothing heavy.
"""

import contextlib
import dataclasses
import datetime
import difflib
import functools
import json
import os
import re
import shutil
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil

import core
from core import json_store
from core.atomic import convert_os_errors, write_text
from core.config import RunConfig
from core.data.sources import is_registered
from core.exceptions import ConfigError, InputError, RunDamaged, RunNotFound
from core.fingerprint import hash_value
from core.formatting import shorten_text
from core.recipes import NO_RECIPE, AppliedRecipe
from core.runs import engines
from core.runs.record import CANCEL, LARGEST, LONGEST, RECORD, STEPS, Process, RunRecord, update_intervals

STARTER = "starter-"


def get_runs_dir() -> Path:
    """Return the folder of the user's runs: SENTISCOPE_RUNS, else `trained` in the working directory."""
    chosen = os.environ.get("SENTISCOPE_RUNS")
    return Path(chosen).expanduser().absolute() if chosen else Path.cwd() / "trained"


def get_starters_dir() -> Path:
    """Return the folder of the starter runs: SENTISCOPE_STARTERS if set, else the one that comes with Sentiscope."""
    if chosen := os.environ.get("SENTISCOPE_STARTERS"):
        return Path(chosen).expanduser().absolute()
    return _find_installed_starters(core.__file__)


@functools.cache
def _find_installed_starters(file: str) -> Path:
    package = Path(file).resolve().parent
    installed = package / "starters"
    return installed if installed.is_dir() else package.parent / "trained"


def list_starters() -> list[Path]:
    """List the directories of all starter runs, which come with Sentiscope, by name."""
    folder = get_starters_dir()
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        there = sorted(each.name for each in entries if each.name.startswith(STARTER) and each.is_dir())
        return [folder / name for name in there]
    return []


def is_starter(path: Path) -> bool:
    """Return whether a path is the directory of a starter run, which comes with Sentiscope."""
    folder = get_starters_dir()
    return path.name.startswith(STARTER) and (path.parent == folder or path.parent.resolve() == folder.resolve())


def refuse_reserved(name: str) -> None:
    """Raise InputError for a run name with the prefix that is reserved for starter runs."""
    if name.startswith(STARTER):
        raise InputError(f"'{name}': names that begin with '{STARTER}' are reserved for runs that come with Sentiscope")


SCHEMA = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def list_kept_steps(folder: Path) -> tuple[int, ...]:
    """Return the steps of a training in a run folder whose weights training.keep has kept, rising; empty: none."""
    return tuple(sorted(int(each.stem) for each in (folder / STEPS).glob("*.safetensors") if each.stem.isdecimal()))


def name_sweep(name: str) -> str:
    """Return how access rules name a sweep, which no run can be called."""
    return f"sweep {name}"


class AccessRules:
    """What a caller may do with the runs of a store: everything. Subclasses refuse with InputError."""

    def check_start(self) -> None:
        """Refuse a caller who may not start or bring in a run."""

    def check_change(self, run: str, parent: str = "") -> None:
        """Refuse a caller who may not stop, continue or delete a run (of the sweep `parent`) or a `name_sweep`."""

    def take_run(self, run: str) -> None:
        """Record that the caller started or brought in a run, or started a sweep (`name_sweep`)."""

    def drop_run(self, run: str) -> None:
        """Record that a run was deleted, so that its name belongs to nobody."""


class RunStore:
    """All runs in one folder, and the starter runs. Every call reads the disk, as nothing is kept in the object."""

    def __init__(self, folder: Path | None = None, held: Sequence[Any] = (), guard: AccessRules | None = None) -> None:
        """Open a folder of runs, which need not exist yet; without `folder`, the default one and the starter runs.

        `held`: models in memory (`core.runs.wrapped_model`) in place of runs; then no results are stored. `guard`: it
        is asked before runs are started, stopped or deleted.
        """
        self.folder = get_runs_dir() if folder is None else folder
        self.starters, self.held, self.guard = folder is None, held, guard or AccessRules()

    def create(
        self,
        config: RunConfig,
        preset: str,
        name: str = "",
        parent: str = "",
        *,
        exactly: bool = False,
        recipe: AppliedRecipe = NO_RECIPE,
    ) -> RunRecord:
        """Create a queued run, in the sweep `parent` if given; a number is appended to a taken `name` unless `exactly`.

        The default name consists of data, model, seed and time. InputError: reserved, taken or no letter and digit.
        """
        if exactly and name and (not make_slug(name) or set(name) & {"/", "\\"}):
            raise InputError(f"{name!r} is not a name for a run: it needs a letter or a digit, and no slash")
        self.guard.check_start()
        config = dataclasses.replace(config, data=dataclasses.replace(config.data, name=to_absolute(config.data.name)))
        now = datetime.datetime.now(datetime.UTC)
        default = f"{Path(config.data.name).stem}-{preset}-s{config.training.seed}-{now:%Y%m%d-%H%M%S}"
        stem = make_slug(name) or make_slug(default)
        refuse_reserved(stem)
        with convert_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for number in range(1, 100_000):
                run = stem if number == 1 else f"{stem}-{number}"
                with contextlib.suppress(FileExistsError):
                    (self.folder / run).mkdir()
                    break
                if exactly and name:
                    raise InputError(
                        f"there is a run '{run}' already; choose another name or remove it (`sentiscope runs rm {run}`)"
                        f"; if it did not end, {explain_resume(run)}"
                    )
        when, used = now.isoformat(timespec="microseconds"), recipe.name
        record = RunRecord(run, preset, "queued", config, when, recipe=used, left_out=recipe.left_out, parent=parent)
        self.write(record)
        self.guard.take_run(run)
        return record

    def get_path(self, run: str) -> Path:
        """Return the directory of a run; RunNotFound: there is none, or the name is not valid."""
        if (held := self.find_loaded(run)) is not None:
            return cast(Path, held.folder)
        path = self._locate_run(run)
        if not _NAME.fullmatch(run) or not path.is_dir():
            names = list(self._list_paths())
            bare = {name.removeprefix(STARTER): name for name in names} | {name: name for name in names}
            near = dict.fromkeys(bare[name] for name in difflib.get_close_matches(run, bare))
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ";"
            raise RunNotFound(f"no run '{run}' in {self.folder}{hint} `sentiscope runs list` shows all")
        return path

    def find_loaded(self, run: str) -> Any:
        """Return the model that is held in memory in place of a run; None: the run is on disk."""
        return next((each for each in self.held if each.record.run == run), None)

    def is_starter(self, run: str) -> bool:
        """Return whether a run is a starter run, which comes with Sentiscope and cannot be changed."""
        return is_starter(self._locate_run(run))

    def _locate_run(self, run: str) -> Path:
        own = self.folder / run
        return get_starters_dir() / run if self.starters and run.startswith(STARTER) and not own.is_dir() else own

    def get_writable_path(self, run: str) -> Path:
        """Return the directory of a run that may be changed; InputError: it is a starter run."""
        path = self.get_path(run)
        if is_starter(path):
            raise InputError(
                f"run '{run}' comes with Sentiscope and cannot be changed; train one of your own: "
                f"`sentiscope train --model {run.removeprefix(STARTER)}`"
            )
        return path

    def read(self, run: str) -> RunRecord:
        """Read a run's record; if its process has died it counts as failed. Raises RunNotFound, RunDamaged."""
        held = self.find_loaded(run)
        return _read_checked(self.get_path(run)) if held is None else cast(RunRecord, held.record)

    def list(self) -> list[RunRecord]:
        """List all records, newest first; damaged ones with the reason. A run hides a starter of the same name."""
        records = []
        for name, path in self._list_paths().items():
            try:
                records.append(_read_checked(path))
            except RunDamaged as error:
                made = ""
                with contextlib.suppress(OSError):
                    made = datetime.datetime.fromtimestamp(os.stat(path).st_mtime, datetime.UTC).isoformat()
                records.append(RunRecord(name, "", "damaged", RunConfig(), made, reason=str(error)))
        return sorted(records, key=lambda record: (record.created, record.run), reverse=True)

    def _list_paths(self) -> dict[str, str]:
        """Return possible run directories as name → path, as strings, which are faster here than Path objects."""
        found = {path.name: str(path) for path in (list_starters() if self.starters else ())}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as entries:
            found |= {entry.name: entry.path for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir()}
        return found

    def write(self, record: RunRecord) -> None:
        """Replace a run's record, or keep it; RunNotFound, StorageError, InputError: a starter or a text too long."""
        tree = dataclasses.asdict(record)
        tree["reason"] = shorten_text(record.reason, LONGEST)
        tree["data_notes"] = [shorten_text(note, LONGEST) for note in record.data_notes]
        newer = tree.pop("newer")
        tree["process"] = record.process and record.process.to_tree()
        tree = json_store.merge_unknown({"schema": SCHEMA, **tree}, newer)
        try:
            json_store.refuse_unsafe(tree, LONGEST)
        except json_store.Flaw as flaw:
            raise InputError(f"run '{record.run}': {flaw}") from flaw
        path = self.get_writable_path(record.run) / RECORD
        write_text(path, json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def update(self, run: str, **changes: Any) -> RunRecord:
        """Change fields of a run's stored record; return the new record."""
        record = dataclasses.replace(_read_cached(self.get_writable_path(run)), **changes)
        self.write(record)
        return record

    def get_removable_path(self, run: str) -> Path:
        """Return the directory of a run that may be deleted; InputError: it is in training, or a starter run."""
        path, parent = self.get_writable_path(run), ""
        with contextlib.suppress(RunDamaged):
            record = _read_cached(path)
            parent = record.parent
            if record.is_live and is_alive(record.process):
                raise InputError(f"run '{run}' is {record.status}; cancel it first: `sentiscope runs cancel {run}`")
        self.guard.check_change(run, parent)
        return path

    def remove(self, run: str) -> None:
        """Delete a run with all its files; InputError: it is in training, or a starter run."""
        path = self.get_removable_path(run)
        hidden = self.folder / f".removed-{run}-{os.getpid()}"
        with convert_os_errors(path):
            path.rename(hidden)  # removes it from every list at once, even if deleting is interrupted
            self.guard.drop_run(run)
            shutil.rmtree(hidden)

    def is_cancel_requested(self, run: str) -> bool:
        """Return whether a user asked this training run to stop."""
        return (self.folder / run / CANCEL).exists()


def get_own_process() -> Process:
    """Return the calling process, in the form that run records store."""
    return dataclasses.replace(describe_process(os.getpid()), job=engines.get_own_job())


def describe_process(pid: int) -> Process:
    """Return a process of this machine in the form that run records store; raises psutil.NoSuchProcess."""
    return Process(pid, psutil.Process(pid).create_time(), socket.gethostname(), _count_ticks(pid))


def _count_ticks(pid: int) -> int:
    """Return the start time of a process in clock ticks since boot; 0 if the system has no such number."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        about = Path(f"/proc/{pid}/stat").read_bytes()
        return int(about.rpartition(b")")[2].split()[19])  # the name in brackets may contain spaces and brackets
    return 0


@functools.cache
def get_machine_id() -> str:
    """Return a hash that identifies this machine anonymously, since runs are shared with others."""
    return hash_value({"host": socket.gethostname()})


def is_alive(process: Process | None) -> bool:
    """Return whether a process still runs: not if it is a zombie; on another machine its engine knows, or yes."""
    if process is None:
        return False
    if process.host != socket.gethostname():
        return not process.job or engines.is_alive(process)
    try:
        found = psutil.Process(process.pid)
        ticks = process.ticks and _count_ticks(process.pid)
        same = ticks == process.ticks if ticks else abs(found.create_time() - process.started) < 1
        return same and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def describe_place(process: Process | None) -> str:
    """Return the job and machine of a process, such as `slurm job 12 on node-3`; empty for this machine's own queue."""
    if process is None or process.job:
        return process.title if process else ""
    return "" if process.host == socket.gethostname() else f"on {process.host}"


def explain_resume(run: str) -> str:
    """Return a hint with the command that resumes a run."""
    return f"`sentiscope train --resume {run}` continues it"


def _read_checked(path: Path | str) -> RunRecord:
    record = _read_cached(path)
    if record.status != "running" or is_alive(record.process):
        return record
    # The process may have finished between the two reads.
    record = _read_cached(path)
    if record.status != "running":
        return record
    number = f" ({record.process.title})" if record.process else ""
    reason = f"its process{number} ended before it was done; {explain_resume(record.run)}"
    return dataclasses.replace(record, status="failed", reason=reason)


@dataclass(frozen=True)
class _CachedRecord:
    """The record of a run as read at one time, with the version of its file."""

    version: tuple[int, int, int]
    found: RunRecord | str

    @property
    def size(self) -> int:
        """Return the cache size that a run record counts for, in bytes; of a damaged record only the reason is kept."""
        return len(self.found) if isinstance(self.found, str) else self.version[1]


_KEPT_BYTES = 192 * 1024**2  # of the files of cached records, at most: of 10,000 runs; they take twice the memory


class _Memory:
    """A thread-safe cache of run records that this process has read; it drops the oldest records first."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, _CachedRecord] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    def get(self, file: str) -> _CachedRecord | None:
        """Return the cached record of a run file; None if it is not cached."""
        with self._lock:
            return self._records.get(file)

    def keep(self, file: str, read: _CachedRecord) -> None:
        """Cache the record of a run file, and drop the oldest records beyond the limit."""
        with self._lock:
            if before := self._records.pop(file, None):
                self._bytes -= before.size
            self._records[file] = read
            self._bytes += read.size
            while len(self._records) > 1 and self._bytes > _KEPT_BYTES:
                self._bytes -= self._records.popitem(last=False)[1].size


_MEMORY = _Memory()


def _read_cached(path: Path | str) -> RunRecord:
    """Return the validated record of a run directory, read from disk again only if its file changed."""
    file = f"{path}{os.sep}{RECORD}"
    try:
        about = os.stat(file)
    except FileNotFoundError:
        raise RunDamaged(f"{file}: missing") from None
    except OSError as error:
        raise RunDamaged(f"{file}: cannot be read: {error.strerror}") from error
    version = about.st_mtime_ns, about.st_size, about.st_ino
    known = _MEMORY.get(file)
    if known is None or known.version != version:
        known = _CachedRecord(version, _read_file(Path(file)))
        _MEMORY.keep(file, known)
    if isinstance(known.found, str):
        raise RunDamaged(known.found)
    return known.found


def _read_file(file: Path) -> RunRecord | str:
    try:
        return _build_record(json_store.read_tree(file, limit=LARGEST), file)
    except FileNotFoundError:
        return f"{file}: missing"
    except RunDamaged as error:
        return shorten_text(str(error), LONGEST)
    except ConfigError as error:
        return shorten_text(f"{file}: cannot be read: config.{error}", LONGEST)


def _build_record(tree: Any, file: Path) -> RunRecord:
    tree = json_store.strip_schema(tree, SCHEMA, file=file)
    # A field `newer` in a file was written by a newer version.
    given = {**{name: value for name, value in tree.items() if name != "newer"}, "run": file.parent.name}
    config = given.get("config")
    if isinstance(config, dict) and isinstance(data := config.get("data"), dict):
        # A run without a split rule is older than the second one.
        given["config"] = {**config, "data": {"split_rule": 1, **data}}
    record = json_store.check_value(given, RunRecord, file=file, longest=LONGEST)
    if len(set(record.classes)) < len(record.classes):
        raise RunDamaged(f"{file}: classes has to name each class once: {', '.join(record.classes)}")
    prior = record.results.get("temperature", {}).get("prior")
    if prior is not None and set(prior) != set(record.classes):
        raise RunDamaged(f"{file}: results.temperature.prior has to name each class once: {', '.join(record.classes)}")
    known = msgspec.to_builtins(record)
    del known["newer"]
    return dataclasses.replace(
        record, results=update_intervals(record.results), newer=json_store.extract_unknown(tree, known)
    )


def to_absolute(name: str) -> str:
    """Return a data path as an absolute path, for resuming a run anywhere; names of data sets are unchanged."""
    path = Path(name).expanduser()
    return str(path.absolute()) if not is_registered(name) and path.exists() else name


def make_slug(name: str) -> str:
    """Convert any text to a directory name, with dashes for other characters; empty if no character can be kept."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-_")[:100].strip(".-_")
