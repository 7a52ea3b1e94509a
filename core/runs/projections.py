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
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import msgspec

from core import data, evaluation, json_store
from core.atomic import write_bytes, write_text
from core.cache import get_cache_folder, pack_array
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import hash_file, hash_value
from core.models.capabilities import HEAD, list_capabilities, list_spaces
from core.paths import read_regular
from core.runs import predictions
from core.runs.background_jobs import Analysis, Offer, Tell, locate_folder
from core.runs.record import EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.projection import OnProgress, Projection, ProjectionConfig
    from core.models.encoder import EncoderClassifier
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
        """Return the map analysis of a split, named after settings and files; InputError: no embeddings of it."""
        folder, record = store.get_path(run), store.read(run)
        refuse_tagged(record)
        if split not in (splits := predictions.list_embedded_splits(store, run)):
            found = ", ".join(splits) or "none: it is not evaluated yet"
            raise InputError(f"run '{run}' has no embeddings of a split '{split}'; it has {found}")
        if config.space and config.space not in (there := list_spaces(record.config.model)[1:]):
            raise InputError(f"space {config.space!r}: run '{run}' has {', '.join((HEAD, *there))}")
        settings = {name: value for name, value in dataclasses.asdict(config).items() if name != "space" or value}
        read = {
            "embeddings": predictions.locate_embeddings(folder, split),
            "predictions": folder / EVALUATION / split / PREDICTIONS,
        }
        stem = hash_value({**settings, **{name: hash_file(path) for name, path in read.items()}})
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
        """Read the embeddings and compute their map; InputError: too few rows, or values that are not finite."""
        if self.config.space:
            self.layers.read_or_compute(tell)
        tell("reading the embeddings", None)
        return project_space(self.read_space(self.store.read(self.run).classes), self.config, tell)

    def read_space(self, classes: tuple[str, ...]) -> Space:
        """Return the vectors that the map projects; NotAvailable: the vectors of the layers are not computed yet."""
        vectors, labels = predictions.read_vectors(self.store.get_path(self.run), self.split, classes)
        if not self.config.space:
            return Space(np.arange(len(vectors)), vectors, labels)
        rows, vectors = self.layers.load_vectors(self.config.space)
        return Space(rows, vectors, labels[rows])

    def read(self) -> Projection | None:
        """Return the stored embedding map; None if there is none, RunDamaged if it must be computed again."""
        path = self.get_path("npy")
        try:
            about = json_store.read(self.get_path("json"), _MapRecord)
            content = read_regular(path, json_store.LARGEST)
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


VERSION = 2  # increased when the same run gives other results
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LayerStage(msgspec.Struct):
    """How well the vectors at one place in a model (embedding, a layer or the head) separate the classes."""

    name: str  # `embedding`, `layer 1` …, `head`
    width: int
    silhouette: Annotated[float, msgspec.Meta(ge=-1, le=1)] | None  # mean by true class, Euclidean
    purity: Share | None  # mean share of the ten nearest neighbours with the same true class; None for few sentences
    interval: tuple[float, float] | None = None  # 95 % interval of the silhouette, a bootstrap over the sentences


class Layers(msgspec.Struct):
    """How well the vectors at each place in a model (embedding, layers, head) separate the classes of a split."""

    stages: tuple[LayerStage, ...]  # embedding, every layer, head
    rows: tuple[int, ...]
    total: int
    chance: Share  # purity of random neighbours
    reason: str  # why there is no silhouette; empty if there is one


@dataclass(frozen=True)
class LayerFiles(Analysis[Layers]):
    """The analysis of how well each layer of a run separates the classes of a split."""

    run: str
    split: str

    name = "layers"
    shape = Layers
    offer = Offer(
        "Read the layers",
        "Reading the layers",
        "The layers could not be read",
        "The model reads a sample of the split again, layer by layer. Takes up to a minute; the result is stored.",
    )

    @classmethod
    def from_run(cls, store: RunStore, run: str, split: str) -> LayerFiles:
        """Return a run's layer analysis, named after its files; NotAvailable: no layers or no weights."""
        record, folder = store.read(run), store.get_path(run)
        refuse_tagged(record)
        if "hidden" not in list_capabilities(record.config.model):
            raise NotAvailable(f"{record.preset} has no layers of attention to look at one by one")
        if split not in (there := predictions.list_evaluated_splits(folder)):
            found = ", ".join(there) or "none"
            raise InputError(f"run '{run}' has no predictions of a split '{split}'; it has {found}")
        if why := predictions.explain_lacking_texts(folder, record):
            raise NotAvailable(why)
        if not (folder / WEIGHTS).is_file():
            raise NotAvailable(f"run '{run}' has no weights, so that its layers can read nothing")
        of = (folder / WEIGHTS, folder / TOKENIZER, folder / EVALUATION / split / PREDICTIONS)
        depends = {"version": VERSION, "split": split, "files": list(map(hash_file, of))}
        return cls(get_cache_folder() / cls.name, hash_value(depends), store, run, split)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that analyses the layers of a run."""
        return "layers", self.run, "--split", self.split

    def find(self, tell: Tell) -> Layers:
        """Compute and store the sampled texts' vectors at every layer, and measure how well the classes separate."""
        tell("loading the model", None)
        from core.runs.load import load_run

        folder, loaded = self.store.get_path(self.run), load_run(self.store, self.run)
        pooled, labels = predictions.read_vectors(folder, self.split, loaded.record.classes)
        strata = data.splits.find_strata(labels) if labels.ndim == 2 else labels
        rows = evaluation.projection.sample_rows(strata, evaluation.projection.ROWS, 0)
        texts = predictions.read_predictions(folder / EVALUATION / self.split / PREDICTIONS)["text"].astype(str)
        model, sampled = cast("EncoderClassifier", loaded.model), [texts.iloc[row] for row in rows]
        how, report = evaluation.class_separability, lambda share: tell("reading the sentences", 0.8 * share)
        read = how.read_layers(model, loaded.tokenizer, sampled, report)
        places = [*zip(list_spaces(loaded.record.config.model)[1:], read, strict=True), (HEAD, pooled[rows])]
        found = []
        for place, (name, points) in enumerate(places):
            tell("measuring the layers", 0.8 + 0.2 * place / len(places))
            mean, pure, ends = how.measure_separability(points, labels[rows])
            interval = None if ends is None else (ends[0], ends[1])
            found.append(LayerStage(name, points.shape[1], mean, pure, interval))
        write_bytes(self.get_path("npy"), pack_array(read))
        chance = evaluation.projection.compute_chance_purity(labels[rows])
        return Layers(tuple(found), tuple(rows.tolist()), len(labels), chance, how.explain_no_silhouette(labels))

    def read(self) -> Layers | None:
        """Return the stored class separability of each layer; None if it or the stored vectors are missing."""
        return super().read() if self.get_path("npy").is_file() else None

    def load_vectors(self, stage: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the sampled rows and their vectors (m, d) at a layer; NotAvailable: none yet, RunDamaged: unfit."""
        known = self.read()
        if known is None:
            raise NotAvailable(f"its layers have not been read: sentiscope layers {self.run} --split {self.split}")
        path, names = self.get_path("npy"), [each.name for each in known.stages]
        try:
            found = np.load(io.BytesIO(read_regular(path, json_store.LARGEST)), allow_pickle=False)
            if found.shape[:2] != (len(names) - 1, len(known.rows)):
                raise ValueError("it does not fit the rows")
            return np.array(known.rows, np.int64), found[names.index(stage)]
        except (OSError, ValueError, IndexError, MemoryError) as error:
            raise RunDamaged(f"{path}: cannot be read: {error}; remove it, and the layers are read again") from error


class LayerSimilarity(NamedTuple):
    """Linear CKA between the layers of two runs, over the sentences that both have read."""

    first: tuple[str, ...]  # stages of the one run
    second: tuple[str, ...]
    values: np.ndarray  # (stages, stages) in [0, 1]; NaN where all vectors of a layer are equal
    rows: int


def compare_layers(first: LayerFiles, second: LayerFiles) -> LayerSimilarity:
    """Compare the layers of two runs on the same sentences by linear CKA; InputError: others, NotAvailable: unread."""
    records = [each.store.read(each.run) for each in (first, second)]
    if first.split != second.split or records[0].data_fingerprint != records[1].data_fingerprint:
        raise InputError(f"{first.run} and {second.run} are not of the same sentences")
    stages, vectors, kept = [], [], []
    for each in (first, second):
        known = each.read()
        names = tuple(stage.name for stage in known.stages[:-1]) if known else ("embedding",)
        loaded = [each.load_vectors(name) for name in names]  # raises if there is no file
        stages.append(names)
        vectors.append([found for _, found in loaded])
        kept.append(loaded[0][0])
    rows, *places = np.intersect1d(kept[0], kept[1], return_indices=True)
    own, other = ([found[place] for found in each] for each, place in zip(vectors, places, strict=True))
    cka = evaluation.class_separability.compute_cka
    values = np.array([[np.nan if (found := cka(a, b)) is None else found for b in other] for a in own])
    return LayerSimilarity(stages[0], stages[1], values, len(rows))
