"""Stored 2D and 3D maps of a run's embeddings, in the run directory or the cache. Imports nothing heavy.

projections/<hash>.npy: a record per row of the map (row, place, measured, silhouette in the space and on the map);
projections/<hash>.json: the settings of the map, its quality, the SHA-256 of the .npy. <hash> is the SHA-256 of the
settings, embeddings and predictions (labels) from which the map is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from core import evaluation, json_store
from core.atomic import write_bytes, write_text
from core.cache import pack_array
from core.exceptions import InputError, RunDamaged
from core.fingerprint import hash_file, hash_value
from core.json_store import LARGEST
from core.models.capabilities import HEAD, list_spaces
from core.paths import read_regular
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Analysis, Offer, locate_folder
from core.runs.layers import LayerFiles
from core.runs.predictions import list_embedded_splits, read_vectors
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.projection import OnProgress, Projection, ProjectionConfig
else:
    from core.lazy_imports import numpy as np

FOLDER = "projections"


class _MapQuality(msgspec.Struct):
    reason: str
    neighbours_kept: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


class _MapRecord(msgspec.Struct):
    """Quality and checksum of a stored embedding map, the part of its JSON file that is read again."""

    sha256: str
    quality: _MapQuality
    explained: tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...]


class Space(NamedTuple):
    """Rows of a split with their vectors at one place in a model, such as a layer."""

    rows: np.ndarray  # (m,) rows of the split, ascending; all rows in the space of the head
    vectors: np.ndarray  # (m, d)
    labels: np.ndarray  # (m,) true class numbers, or (m, C) zeros and ones


def summarize_map(made: Projection) -> dict[str, Any]:
    """Return the quality of an embedding map (silhouettes, kept neighbours) as plain data."""
    quality = made.quality
    return {
        "measured_rows": len(quality.rows),
        "silhouette_space": None if quality.reason else float(quality.space.mean(dtype=float)),
        "silhouette_map": None if quality.reason else float(quality.plane.mean(dtype=float)),
        "neighbours_kept": quality.preserved,
        "reason": quality.reason,
    }


@dataclass(frozen=True)
class MapFiles(Analysis["Projection"]):
    """The analysis that computes a map of the embeddings of a split."""

    run: str
    split: str
    config: ProjectionConfig

    name = "map"

    @property
    def offer(self) -> Offer:
        """Return the page texts (button, title, error, duration) of this embedding map."""
        name = evaluation.projection.NAMES[self.config.method]
        return Offer(
            f"Compute the {name} map",
            f"{name} map",
            f"The {name} map could not be computed",
            "It is computed once. You may leave the page or close the tab.",
        )

    @classmethod
    def from_run(cls, store: RunStore, run: str, split: str, config: ProjectionConfig) -> MapFiles:
        """Return the map analysis of a split; its file is named after settings, embeddings and predictions.

        Raises InputError if the run has no embeddings of that split.
        """
        folder, record = store.get_path(run), store.read(run)
        source = folder / EVALUATION / split
        refuse_tagged(record)
        if split != Path(split).name or not (source / EMBEDDINGS).is_file() or not (source / PREDICTIONS).is_file():
            found = ", ".join(list_embedded_splits(store, run)) or "none: it is not evaluated yet"
            raise InputError(f"run '{run}' has no embeddings of a split '{split}'; it has {found}")
        if config.space and config.space not in (there := list_spaces(record.config.model)[1:]):
            raise InputError(f"space {config.space!r}: run '{run}' has {', '.join((HEAD, *there))}")
        settings = {name: value for name, value in dataclasses.asdict(config).items() if name != "space" or value}
        files = {"embeddings": hash_file(source / EMBEDDINGS), "predictions": hash_file(source / PREDICTIONS)}
        stem = hash_value({**settings, **files})
        return cls(locate_folder(folder, FOLDER, stem, "maps"), stem, store, run, split, config)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes this embedding map."""
        names = ("method", "dimensions", "rows", *(["space"] if self.config.space else []), "seed")
        options = (f"--{name}={getattr(self.config, name)}" for name in names)
        return "project", self.run, f"--split={self.split}", *options

    @property
    def layers(self) -> LayerFiles:
        """Return the layer analysis of the same run and split, which supplies the vectors for a map of a layer."""
        return LayerFiles.from_run(self.store, self.run, self.split)

    def find(self, tell: Tell) -> Projection:
        """Read the embeddings and compute their map.

        Raises RunDamaged, InputError for too few rows or infinite values, and NotAvailable without the method's
        library.
        """
        if self.config.space:
            self.layers.read_or_compute(tell)
        tell("reading the embeddings", None)
        return project_space(self.read_space(self.store.read(self.run).classes), self.config, tell)

    def read_space(self, classes: tuple[str, ...]) -> Space:
        """Return the vectors that the map projects; NotAvailable: the vectors of the layers are not computed yet."""
        vectors, labels = read_vectors(self.store.get_path(self.run), self.split, classes)
        if not self.config.space:
            return Space(np.arange(len(vectors)), vectors, labels)
        rows, vectors = self.layers.load_vectors(self.config.space)
        return Space(rows, vectors, labels[rows])

    def read(self) -> Projection | None:
        """Return the stored embedding map; None if there is none, RunDamaged if it must be computed again."""
        path = self.get_path("npy")
        try:
            about = json_store.read(self.get_path("json"), _MapRecord)
            content = read_regular(path, LARGEST)
            if hashlib.sha256(content).hexdigest() != about.sha256:
                raise ValueError("its content is not what was written")
            table = np.load(io.BytesIO(content), allow_pickle=False)
            quality, measured = about.quality, np.flatnonzero(table["measured"])
            at = measured[:0] if quality.reason else measured
            known = table["space"][at], table["map"][at], quality.neighbours_kept, quality.reason
            found = evaluation.projection.Quality(measured, *known)
            rows = table["row"].astype(np.int64)
            return evaluation.projection.Projection(rows, table["place"], found, about.explained)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, IndexError, MemoryError) as error:
            raise RunDamaged(f"{path}: cannot be read: {error}") from error

    def write(self, found: Projection, seconds: float) -> None:
        """Store the points of an embedding map, and all settings that the map depends on."""
        width, measured = found.places.shape[1], found.quality.rows
        fields = [("row", "<i4"), ("place", "<f4", (width,)), ("measured", "?"), ("space", "<f4"), ("map", "<f4")]
        table = np.zeros(len(found.rows), fields)
        table["row"], table["place"], table["measured"][measured] = found.rows, found.places, True
        if not found.quality.reason:
            table["space"][measured], table["map"][measured] = found.quality.space, found.quality.plane
        content = pack_array(table)
        about = {
            "split": self.split,
            "arguments": self.config.list_arguments(len(found.rows)),
            "n": len(found.rows),
            "explained": list(found.explained),
            "quality": summarize_map(found),
            "seconds": round(seconds, 1),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        write_bytes(self.get_path("npy"), content)
        write_text(self.get_path("json"), json.dumps(about, indent=1, allow_nan=False) + "\n")


def project_space(space: Space, config: ProjectionConfig, on_progress: OnProgress | None = None) -> Projection:
    """Project the vectors of a layer, embedding or head to a 2D or 3D map that keeps the split's row numbers."""
    made = evaluation.projection.project_split(space.vectors, space.labels, config, on_progress)
    return dataclasses.replace(made, rows=space.rows[made.rows])
