"""Run directories: created, written whole or not at all, and read with distrust. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import re
import shutil
import socket
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from core.atomic import storage_errors, write_text
from core.config import RunConfig, from_dict
from core.data.config import DataConfig
from core.data.sources import SOURCES
from core.data.table import Task
from core.exceptions import ConfigError, InputError, RunDamaged, RunNotFound
from core.fingerprint import fingerprint
from core.runs.folders import STARTER, is_starter, refuse_reserved, runs_dir, starters, starters_dir
from core.runs.record import CANCEL, RECORD, Process, RunRecord, Status

SCHEMA = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


class RunStore:
    """All runs of one directory, and the starters. Holds no state: every call looks at the disk."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` need not exist yet, its runs are all there are; without it: `runs_dir()`, and the starter runs."""
        self.folder = runs_dir() if folder is None else folder
        self.starters = folder is None

    def create(
        self, config: RunConfig, preset: str, name: str = "", parent: str = "", *, exactly: bool = False
    ) -> RunRecord:
        """A new queued run, of the sweep `parent` if any; a `name` that is taken gets a number behind it.

        Args:
            config: its settings.
            preset: what they began with.
            name: what it shall be called; empty: data, model, seed and time.
            parent: its sweep.
            exactly: a name that is taken is refused instead: whoever goes on with it by that name means this run.

        Raises:
            InputError: the name is one that only a starter run can have, is taken, or has no letter or digit.
            StorageError: the directory cannot be made.
        """
        if exactly and name and not slug(name):
            raise InputError(f"{name!r} is no name for a run: it needs a letter or a digit")
        config = dataclasses.replace(config, data=_anywhere(config.data))
        now = datetime.datetime.now(datetime.UTC)
        stem = slug(name) or slug(f"{Path(config.data.name).stem}-{preset}-s{config.training.seed}-{now:%Y%m%d-%H%M%S}")
        refuse_reserved(stem)
        with storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for number in range(1, 100_000):
                run = stem if number == 1 else f"{stem}-{number}"
                with contextlib.suppress(FileExistsError):
                    (self.folder / run).mkdir()
                    break
                if exactly and name:
                    raise InputError(_taken(run))
        record = RunRecord(run, preset, "queued", config, now.isoformat(timespec="microseconds"), parent=parent)
        self.write(record)
        return record

    def path(self, run: str) -> Path:
        """The directory of a run.

        Raises:
            RunNotFound: there is none, or the name is none that a run can have.
        """
        path = self._place(run)
        if not _NAME.fullmatch(run) or not path.is_dir():
            raise RunNotFound(f"no run '{run}' in {self.folder}; `sentiscope runs list` shows all")
        return path

    def is_starter(self, run: str) -> bool:
        """Whether a run comes with Sentiscope and stays as it is."""
        return is_starter(self._place(run))

    def _place(self, run: str) -> Path:
        """Where a run is, if it is anywhere: an own one hides the starter of its name."""
        own = self.folder / run
        return starters_dir() / run if self.starters and run.startswith(STARTER) and not own.is_dir() else own

    def own(self, run: str) -> Path:
        """The directory of a run that may be changed.

        Raises:
            RunNotFound: as `path`.
            InputError: it is a starter run.
        """
        path = self.path(run)
        if is_starter(path):
            raise InputError(
                f"run '{run}' comes with Sentiscope and stays as it is; train one of your own: "
                f"`sentiscope train --model {run.removeprefix(STARTER)}`"
            )
        return path

    def read(self, run: str) -> RunRecord:
        """A run as it is now: one whose process has died is told as failed.

        Raises:
            RunNotFound: no such run.
            RunDamaged: its record cannot be read; the message names the file and the reason.
        """
        return _as_it_is(self.path(run))

    def list(self) -> list[RunRecord]:
        """Every run, newest first. A damaged one has status `damaged` and its reason, and default settings.

        Of two runs of the same name the own one hides the starter.
        """
        own = self.folder.iterdir() if self.folder.is_dir() else ()
        paths = {path.name: path for path in (*(starters() if self.starters else ()), *own)}
        records = []
        for name, path in paths.items():
            if _NAME.fullmatch(name) and path.is_dir():
                try:
                    records.append(_as_it_is(path))
                except RunDamaged as error:
                    records.append(_damaged(path, str(error)))
        return sorted(records, key=lambda record: (record.created, record.run), reverse=True)

    def write(self, record: RunRecord) -> None:
        """Replace the record of a run.

        Raises:
            RunNotFound: the directory is gone.
            InputError: it is a starter run.
            StorageError: the disk is full or the folder read-only; the old record stays.
        """
        tree = {"schema": SCHEMA, **dataclasses.asdict(record)}
        write_text(
            self.own(record.run) / RECORD, json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        )

    def update(self, run: str, **changes: Any) -> RunRecord:
        """Change fields of the record on disk; returns the new record."""
        record = dataclasses.replace(_parse(self.own(run)), **changes)
        self.write(record)
        return record

    def removable(self, run: str) -> Path:
        """The directory of a run that may be deleted.

        Raises:
            RunNotFound: as `path`.
            InputError: it is being trained, or a starter run.
        """
        path = self.own(run)
        with contextlib.suppress(RunDamaged):
            record = _parse(path)
            if record.status in ("queued", "running") and alive(record.process):
                raise InputError(f"run '{run}' is {record.status}; cancel it first: `sentiscope runs cancel {run}`")
        return path

    def remove(self, run: str) -> None:
        """Delete a run with all its files.

        Raises:
            InputError: it may not be deleted; see `removable`.
        """
        path = self.removable(run)
        hidden = self.folder / f".removed-{run}-{os.getpid()}"
        with storage_errors(path):
            path.rename(hidden)  # gone from every list at once, even if deleting is cut short
            shutil.rmtree(hidden)

    def cancel_wished(self, run: str) -> bool:
        """Whether somebody asked this run to stop."""
        return (self.folder / run / CANCEL).exists()


def this_process() -> Process:
    """Who is asking."""
    me = psutil.Process()
    return Process(me.pid, me.create_time(), socket.gethostname())


def this_machine() -> str:
    """Tells machines apart without naming them: runs are given to others."""
    return fingerprint({"host": socket.gethostname()})


def alive(process: Process | None) -> bool:
    """Whether the process still works. A zombie does not; one on another machine cannot be asked and is believed."""
    if process is None:
        return False
    if process.host != socket.gethostname():
        return True
    try:
        found = psutil.Process(process.pid)
        return abs(found.create_time() - process.started) < 1 and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def resume_hint(run: str) -> str:
    """What a person does to go on with a run."""
    return f"`sentiscope train --resume {run}` continues it"


def _taken(run: str) -> str:
    return (
        f"there is a run '{run}' already; choose another name or remove it (`sentiscope runs rm {run}`); "
        f"if it did not end, {resume_hint(run)}"
    )


def _as_it_is(path: Path) -> RunRecord:
    record = _parse(path)
    if record.status != "running" or alive(record.process):
        return record
    # It may have written its end and gone between our two looks.
    record = _parse(path)
    if record.status != "running":
        return record
    number = f" (number {record.process.pid})" if record.process else ""
    reason = f"its process{number} ended before it was done; {resume_hint(record.run)}"
    return dataclasses.replace(record, status="failed", reason=reason)


def _parse(path: Path) -> RunRecord:
    """The record on disk, every field checked; the directory's name is the run's name."""
    file = path / RECORD
    try:
        tree = json.loads(file.read_bytes(), parse_float=_finite, parse_constant=_finite)
        if not isinstance(tree, dict):
            raise ValueError("not an object")
        if tree.get("schema") != SCHEMA:
            raise ValueError(f"schema {tree.get('schema')!r} is not {SCHEMA}: written by another version of Sentiscope")
        return _record({**tree, "run": path.name})
    except FileNotFoundError:
        raise RunDamaged(f"{file}: missing") from None
    except KeyError as error:
        raise RunDamaged(f"{file}: the field {error} is missing") from error
    except (OSError, ValueError, TypeError, RecursionError, ConfigError) as error:
        raise RunDamaged(f"{file}: cannot be read: {error}") from error


def _finite(text: str) -> float:
    """A number of the record; NaN and infinities are none that this program writes or can show."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _record(tree: Mapping[str, Any]) -> RunRecord:
    """Plain data to a record; unknown fields are left out, so that an older version can read a newer run."""
    special = {
        "status": _status,
        "task": _task,
        "config": from_dict,
        "process": _process,
        "classes": lambda value: tuple(_of(str, name, "classes") for name in _of(list, value, "classes")),
        "progress": _progress,
        "results": _results,
        "data_notes": lambda value: tuple(_of(str, note, "data_notes") for note in _of(list, value, "data_notes")),
    }
    hints = typing.get_type_hints(RunRecord)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(RunRecord):
        if field.name not in tree and _has_default(field):
            continue
        value = tree[field.name]
        if read := special.get(field.name):
            values[field.name] = read(value)
        else:
            hint = hints[field.name]
            values[field.name] = _of(typing.get_origin(hint) or hint, value, field.name)
    return RunRecord(**values)


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _of(kind: type, value: Any, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise ValueError(f"{name} is {value!r:.60}, not a {kind.__name__}")
    return value


def _results(value: Any) -> dict[str, Any]:
    """What every list, page and comparison reads of the results has the form that it reads."""
    results = _of(dict, value, "results")
    yardstick = _of(dict, results.get("yardstick", {}), "results.yardstick")
    _of(list, results.get("lambda", []), "results.lambda")
    tuned = _of(dict, results.get("tuned", {}), "results.tuned")
    for label, threshold in _of(dict, tuned.get("thresholds", {}), "results.tuned.thresholds").items():
        _of(float, threshold, f"results.tuned.thresholds.{label}")
    groups: list[tuple[str, Any, type]] = [("splits", yardstick, float)]
    for tree in (results, tuned):
        groups += [("metrics", tree, float), ("intervals", tree, list)]
    for group, tree, kind in groups:
        for split, figures in _of(dict, tree.get(group, {}), f"results.{group}").items():
            for name, figure in _of(dict, figures, f"results.{group}.{split}").items():
                _of(kind, figure, f"results.{group}.{split}.{name}")
    return results


def _progress(value: Any) -> dict[str, Any]:
    progress = _of(dict, value, "progress")
    for count in ("step", "steps", "epoch", "epochs"):
        _of(int, progress.get(count, 0), f"progress.{count}")
    return progress


def _status(value: Any) -> Status:
    if value not in typing.get_args(Status):
        raise ValueError(f"status is {value!r:.60}")
    return typing.cast(Status, value)


def _task(value: Any) -> Task:
    if value not in typing.get_args(Task):
        raise ValueError(f"task is {value!r:.60}")
    return typing.cast(Task, value)


def _process(value: Any) -> Process | None:
    if value is None:
        return None
    pid, started, host = (_of(dict, value, "process")[key] for key in ("pid", "started", "host"))
    return Process(_of(int, pid, "pid"), _of(float, started, "started"), _of(str, host, "host"))


def _damaged(path: Path, reason: str) -> RunRecord:
    with contextlib.suppress(OSError):
        made = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).isoformat()
        return RunRecord(path.name, "", "damaged", RunConfig(), made, reason=reason)
    return RunRecord(path.name, "", "damaged", RunConfig(), "", reason=reason)


def _anywhere(data: DataConfig) -> DataConfig:
    """A path that holds from every working directory, for whoever resumes the run; names stay names."""
    path = Path(data.name).expanduser()
    return dataclasses.replace(data, name=str(path.absolute())) if data.name not in SOURCES and path.exists() else data


def slug(name: str) -> str:
    """A directory name from any text: other characters become dashes; empty if nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-_")[:100].strip(".-_")
