"""Maps of a run's embeddings: files of the run directory, and processes that compute them. Imports nothing heavy.

What is computed of a starter run, which nobody changes, is kept under the same names in `maps` of the cache.

projections/<hash>.npy            a record per placed row: row, place, measured, silhouette in the space and on the map
projections/<hash>.json           everything the map depends on in clear, its quality, the SHA-256 of the .npy
projections/<hash>.progress.json  only while it is computed, or after it failed: who does it, and how far they are
projections/<hash>.log            what that process printed, if the dashboard started it

<hash> is the SHA-256 of the settings, of the embeddings and of the predictions (labels) that the map is made from.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from core import stored
from core.atomic import write_bytes, write_text
from core.cache import cache_folder
from core.exceptions import InputError, RunDamaged
from core.fingerprint import file_fingerprint, fingerprint
from core.paths import regular_bytes
from core.runs import errands
from core.runs.errands import Files
from core.runs.folders import is_starter
from core.runs.predictions import read_predictions
from core.runs.record import LABEL
from core.runs.store import RunStore
from core.stored import LARGEST

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.projection import OnProgress, Projection, ProjectionConfig

FOLDER = "projections"
EVALUATION, EMBEDDINGS, PREDICTIONS = "evaluation", "embeddings.npy", "predictions.parquet"


@dataclass(frozen=True)
class MapFiles(Files):
    """Where one map is, or will be; `stem` is the hash."""

    run: Path
    split: str
    config: ProjectionConfig


class _Worth(msgspec.Struct):
    """`summary` of a map, what is read of it again."""

    reason: str
    neighbours_kept: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


class _About(msgspec.Struct):
    """The .json of a map, what is read of it again."""

    sha256: str
    quality: _Worth
    explained: tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...]


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
    return MapFiles(home, stem, folder, split, config)


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

    with errands.telling(files, on_progress) as tell:
        tell("reading the embeddings", None)
        began = time.time()
        made = project(*read_vectors(files.run, files.split, store.read(run).classes), files.config, tell)
        _write(files, made, time.time() - began)
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
    """Compute a map in a process of its own; arguments and errors as of `errands.start`."""
    errands.start(store, files, command(run, files), "map")


def command(run: str, files: MapFiles) -> list[str]:
    """The command line of a map's process."""
    config = files.config
    options = {"split": files.split, "method": config.method, "dimensions": config.dimensions, "rows": config.rows}
    words = [f"--{name}={value}" for name, value in options.items()]
    return errands.sentiscope("project", run, *words, f"--seed={config.seed}")
