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
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from core import stored
from core.atomic import write_bytes, write_text
from core.cache import cache_folder
from core.exceptions import InputError, RunDamaged
from core.fingerprint import file_fingerprint, fingerprint
from core.models.provides import HEAD, spaces
from core.paths import regular_bytes
from core.runs import errands, layers
from core.runs.errands import Files
from core.runs.folders import is_starter
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, refuse_tagged
from core.runs.store import RunStore
from core.runs.vectors import embedded_splits, read_vectors
from core.stored import LARGEST

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.projection import OnProgress, Projection, ProjectionConfig

FOLDER = "projections"


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
    refuse_tagged(store.read(run))
    if split != Path(split).name or not (source / EMBEDDINGS).is_file() or not (source / PREDICTIONS).is_file():
        found = ", ".join(embedded_splits(store, run)) or "none: it is not evaluated yet"
        raise InputError(f"run '{run}' has no embeddings of a split '{split}'; it has {found}")
    if config.space and config.space not in (there := spaces(store.read(run).config.model)[1:]):
        raise InputError(f"space {config.space!r}: run '{run}' has {', '.join((HEAD, *there))}")
    settings = {name: value for name, value in dataclasses.asdict(config).items() if name != "space" or value}
    depends = {
        **settings,
        "embeddings": file_fingerprint(source / EMBEDDINGS),
        "predictions": file_fingerprint(source / PREDICTIONS),
    }
    stem, home = fingerprint(depends), folder / FOLDER
    if is_starter(folder) and not (home / f"{stem}.json").is_file():
        home = cache_folder() / "maps"
    return MapFiles(home, stem, folder, split, config)


class Space(NamedTuple):
    """Rows of a split in one of the spaces that a model has."""

    rows: np.ndarray
    """(m,) of the split, rising; all of them in the space of the head."""
    vectors: np.ndarray
    """(m, d) float32."""
    labels: np.ndarray
    """(m,) true class numbers, or (m, C) zeros and ones."""


def read_space(store: RunStore, files: MapFiles, classes: tuple[str, ...]) -> Space:
    """The vectors that a map is made from.

    Raises:
        RunDamaged: they cannot be read.
        NotAvailable: the layers of the model have not been read.
    """
    import numpy as np

    vectors, labels = read_vectors(files.run, files.split, classes)
    if not files.config.space:
        return Space(np.arange(len(vectors)), vectors, labels)
    rows, vectors = layers.vectors(layers.files(store, files.run.name, files.split), files.config.space)
    return Space(rows, vectors, labels[rows])


def project_space(space: Space, config: ProjectionConfig, on_progress: OnProgress | None = None) -> Projection:
    """`core.evaluation.projection.project` of a space, with rows of the split; raises the same."""
    from core.evaluation.projection import project

    made = project(space.vectors, space.labels, config, on_progress)
    return dataclasses.replace(made, rows=space.rows[made.rows])


def compute(store: RunStore, run: str, files: MapFiles, on_progress: OnProgress | None = None) -> Projection:
    """Make a map in this process, tell others how far it is, and keep it.

    Raises:
        RunDamaged: the embeddings cannot be read.
        InputError: they are too few, or not finite.
        NotAvailable: the method's library is missing.
    """
    with errands.telling(files, on_progress) as tell:
        began = time.monotonic()
        if files.config.space:
            here = layers.files(store, run, files.split)
            if layers.read(here) is None:
                layers.compute(store, here, tell)
        tell("reading the embeddings", None)
        made = project_space(read_space(store, files, store.read(run).classes), files.config, tell)
        _write(files, made, time.monotonic() - began)
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
    options |= {"space": config.space} if config.space else {}
    words = [f"--{name}={value}" for name, value in options.items()]
    return errands.sentiscope("project", run, *words, f"--seed={config.seed}")
