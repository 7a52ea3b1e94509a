"""Maps of a run's embeddings: files of the run directory, and processes that compute them. Imports nothing heavy.

What is computed of a starter run, which nobody changes, is kept under the same names in `maps` of the cache.

projections/<hash>.npy            a record per placed row: row, place, measured, silhouette in the space and on the map
projections/<hash>.json           everything the map depends on in clear, its quality, the SHA-256 of the .npy
projections/<hash>.progress.json  only while it is computed, or after it failed: who does it, and how far they are
projections/<hash>.log            what that process printed, if the dashboard started it

<hash> is the SHA-256 of the settings, of the embeddings and of the predictions (labels) that the map is made from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import psutil

from core import stored
from core.atomic import storage_errors, write_bytes, write_text
from core.cache import cache_folder
from core.exceptions import InputError, RunDamaged, SentiscopeError
from core.fingerprint import file_fingerprint, fingerprint
from core.paths import regular_bytes
from core.runs import queue
from core.runs.folders import is_starter
from core.runs.predictions import read_predictions
from core.runs.record import LABEL, Process
from core.runs.store import RunStore, alive, this_process
from core.stored import LARGEST, Seconds

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.projection import OnProgress, Projection, ProjectionConfig

FOLDER = "projections"
EVALUATION, EMBEDDINGS, PREDICTIONS = "evaluation", "embeddings.npy", "predictions.parquet"
TELL_SECONDS = 0.5


@dataclass(frozen=True)
class MapFiles:
    """Where one map is, or will be."""

    run: Path
    split: str
    config: ProjectionConfig
    folder: Path
    stem: str
    """The hash."""

    def path(self, ending: str) -> Path:
        """A file of this map: npy, json, progress.json or log."""
        return self.folder / f"{self.stem}.{ending}"


class _Worth(msgspec.Struct):
    """`summary` of a map, what is read of it again."""

    reason: str
    neighbours_kept: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


class _About(msgspec.Struct):
    """The .json of a map, what is read of it again."""

    sha256: str
    quality: _Worth
    explained: tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...]


class _Told(msgspec.Struct):
    """The .progress.json of a map."""

    process: Process | None
    began: Seconds
    what: str
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


@dataclass(frozen=True)
class Job:
    """What is known of a map: it is there, or somebody computes it, or nobody could."""

    status: Literal["none", "running", "failed", "done"]
    what: str = ""
    """What is done now, or why it failed."""
    share: float | None = None
    seconds: float = 0.0


def map_files(store: RunStore, run: str, split: str, config: ProjectionConfig) -> MapFiles:
    """The files of a map.

    Raises:
        InputError: the run has no embeddings of that split.
    """
    folder = store.path(run)
    source = folder / EVALUATION / split
    if split != Path(split).name or not (source / EMBEDDINGS).is_file() or not (source / PREDICTIONS).is_file():
        found = ", ".join(embedded_splits(store, run)) or "none: it is not evaluated yet"
        raise InputError(f"run '{run}' has no embeddings of a split '{split}'; it has {found}")
    depends = {
        **dataclasses.asdict(config),
        "embeddings": file_fingerprint(source / EMBEDDINGS),
        "predictions": file_fingerprint(source / PREDICTIONS),
    }
    stem, home = fingerprint(depends), folder / FOLDER
    if is_starter(folder) and not (home / f"{stem}.json").is_file():
        home = cache_folder() / "maps"
    return MapFiles(folder, split, config, home, stem)


def embedded_splits(store: RunStore, run: str) -> list[str]:
    """Splits of a run whose embeddings are kept, in alphabetical order."""
    found = (store.path(run) / EVALUATION).glob(f"*/{EMBEDDINGS}")
    return sorted(path.parent.name for path in found if (path.parent / PREDICTIONS).is_file())


def read_vectors(run: Path, split: str, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) float32 embeddings and the true class numbers of a split, (n,); of several labels (n, C) zeros and ones.

    Raises:
        RunDamaged: a file is cut off, or they do not belong together; the message names it.
    """
    import numpy as np

    path = run / EVALUATION / split / EMBEDDINGS
    try:
        vectors = np.load(path, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    table = run / EVALUATION / split / PREDICTIONS
    try:
        said, bits = read_predictions(table), [f"{LABEL}{name}" for name in classes]
        multi = set(bits) <= set(said.columns)
        labels = said[bits if multi else ["label"]]
        if not multi:
            labels = labels["label"].map({name: number for number, name in enumerate(classes)}).to_frame()
    except (ValueError, KeyError) as error:
        raise RunDamaged(f"{table}: cannot be read: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(labels) or labels.isna().to_numpy().any():
        raise RunDamaged(f"{path}: does not fit {len(labels)} predictions of the classes {', '.join(classes)}")
    found = labels.to_numpy(np.int64)
    return vectors, found if multi else found[:, 0]


def compute(store: RunStore, run: str, files: MapFiles, on_progress: OnProgress | None = None) -> Projection:
    """Make a map in this process, tell others how far it is, and keep it.

    Raises:
        RunDamaged: the embeddings cannot be read.
        InputError: they are too few, or not finite.
        NotAvailable: the method's library is missing.
    """
    from core.evaluation.projection import project

    began, told = time.time(), 0.0
    with storage_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)

    def tell(what: str, share: float | None) -> None:
        nonlocal told
        if on_progress:
            on_progress(what, share)
        if share is None or time.time() - told > TELL_SECONDS:
            told = time.time()
            _write_progress(files, this_process(), began, what, share)

    try:
        tell("reading the embeddings", None)
        made = project(*read_vectors(files.run, files.split, store.read(run).classes), files.config, tell)
        _write(files, made, time.time() - began)
    except Exception as error:
        reason = str(error) if isinstance(error, SentiscopeError) else f"unexpected {type(error).__name__}: {error}"
        _write_progress(files, None, began, reason, None)
        raise
    files.path("progress.json").unlink(missing_ok=True)
    return made


def read(files: MapFiles) -> Projection | None:
    """A map that is there; None if it is not.

    Raises:
        RunDamaged: its files do not fit each other; computing it again mends that.
    """
    import numpy as np

    from core.evaluation.projection import Projection, Quality

    path = files.path("npy")
    try:
        about = stored.read(files.path("json"), _About)
        content = regular_bytes(path, LARGEST)
        if hashlib.sha256(content).hexdigest() != about.sha256:
            raise ValueError("its content is not what was written")
        table = np.load(io.BytesIO(content), allow_pickle=False)
        quality, measured = about.quality, np.flatnonzero(table["measured"])
        at = measured[:0] if quality.reason else measured
        found = Quality(measured, table["space"][at], table["map"][at], quality.neighbours_kept, quality.reason)
        return Projection(table["row"].astype(np.int64), table["place"], found, about.explained)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, MemoryError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error


def summary(made: Projection) -> dict[str, Any]:
    """What a map is worth, as plain data."""
    quality = made.quality
    return {
        "measured_rows": len(quality.rows),
        "silhouette_space": None if quality.reason else float(quality.space.mean(dtype=float)),
        "silhouette_map": None if quality.reason else float(quality.plane.mean(dtype=float)),
        "neighbours_kept": quality.preserved,
        "reason": quality.reason,
    }


def _write(files: MapFiles, made: Projection, seconds: float) -> None:
    import numpy as np

    width, measured = made.places.shape[1], made.quality.rows
    fields = [("row", "<i4"), ("place", "<f4", (width,)), ("measured", "?"), ("space", "<f4"), ("map", "<f4")]
    table = np.zeros(len(made.rows), fields)
    table["row"], table["place"], table["measured"][measured] = made.rows, made.places, True
    if not made.quality.reason:
        table["space"][measured], table["map"][measured] = made.quality.space, made.quality.plane
    content = io.BytesIO()
    np.save(content, table, allow_pickle=False)
    about = {
        "split": files.split,
        "arguments": files.config.arguments(len(made.rows)),
        "n": len(made.rows),
        "explained": list(made.explained),
        "quality": summary(made),
        "seconds": round(seconds, 1),
        "sha256": hashlib.sha256(content.getvalue()).hexdigest(),
    }
    write_bytes(files.path("npy"), content.getvalue())
    write_text(files.path("json"), json.dumps(about, indent=1, allow_nan=False) + "\n")


def start(store: RunStore, run: str, files: MapFiles) -> None:
    """Compute a map in a process of its own, which waits for its turn and outlives this one.

    Nothing happens if somebody is at it.

    Raises:
        InputError: as many wait as this server allows.
    """
    if job(files).status == "running":
        return
    queue.check_room(store.folder, queue.SHORT)
    with storage_errors(files.folder):
        files.folder.mkdir(parents=True, exist_ok=True)
        with files.path("log").open("ab") as log:
            process = subprocess.Popen(
                queue.in_turn(command(run, files), store.folder, f"map-{files.stem}", str(time.time_ns()), queue.SHORT),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )
    who = Process(process.pid, psutil.Process(process.pid).create_time(), this_process().host)
    _write_progress(files, who, time.time(), "waiting for its turn", None)


def command(run: str, files: MapFiles) -> list[str]:
    """The command line of a map's process; -P keeps a folder `core` of the working directory out of the way."""
    config = files.config
    options = {"split": files.split, "method": config.method, "dimensions": config.dimensions, "rows": config.rows}
    words = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-P", "-m", "core.cli", "project", run, *words, f"--seed={config.seed}"]


def job(files: MapFiles) -> Job:
    """How it stands with a map, from its files alone: every session and every server sees the same."""
    there = files.path("json").is_file()
    told = _told(files)
    if told is None:
        return Job("done" if there else "none")
    if alive(told.process):
        return Job("running", told.what, told.share, time.time() - told.began)
    if there:
        return Job("done")
    if told.process is None:
        return Job("failed", told.what)
    log = files.path("log")
    return Job("failed", f"its process (number {told.process.pid}) ended while {told.what}; {log} may say why")


def cancel(files: MapFiles) -> None:
    """End the process that computes a map; nothing half done is left."""
    told = _told(files)
    who = told.process if told else None
    with contextlib.suppress(psutil.NoSuchProcess):
        if who and who.host == this_process().host and alive(who):
            process = psutil.Process(who.pid)
            process.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(2)
    forget(files)


def forget(files: MapFiles) -> None:
    """Drop what a failed or cancelled computation left."""
    for ending in ("progress.json", "log"):
        files.path(ending).unlink(missing_ok=True)


def _told(files: MapFiles) -> _Told | None:
    """What the process that computes a map has written last; None where there is nothing that can be read."""
    with contextlib.suppress(FileNotFoundError, RunDamaged):
        return stored.read(files.path("progress.json"), _Told)
    return None


def _write_progress(files: MapFiles, who: Process | None, began: float, what: str, share: float | None) -> None:
    tree = {"process": dataclasses.asdict(who) if who else None, "began": began, "what": what, "share": share}
    write_text(files.path("progress.json"), json.dumps(tree) + "\n")
