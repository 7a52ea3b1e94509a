"""The analysis of how well each layer of a run's model separates the classes of a split, and its cache files.

layers/<hash>.json: the class separability at each stage, and the sampled rows; layers/<hash>.npy: their vectors,
(layers + 1, m, d) float32 (`core.evaluation.class_separability`). <hash> is the SHA-256 of weights, tokenizer and
predictions (texts and labels) of the split.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import msgspec

from core import data, evaluation
from core.atomic import write_bytes
from core.cache import get_cache_folder, pack_array
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import hash_file, hash_value
from core.json_store import LARGEST
from core.models.capabilities import HEAD, list_capabilities, list_spaces
from core.paths import read_regular
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Analysis, Offer
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits, read_predictions, read_vectors
from core.runs.record import EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

    from core.models.encoder import EncoderClassifier
else:
    from core.lazy_imports import numpy as np

FOLDER = "layers"
VERSION = 1  # increased when the same run gives other results
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LayerStage(msgspec.Struct):
    """How well the vectors at one place in a model (embedding, a layer or the head) separate the classes."""

    name: str  # `embedding`, `layer 1` …, `head`
    width: int
    silhouette: Annotated[float, msgspec.Meta(ge=-1, le=1)] | None  # mean by true class, Euclidean
    purity: Share | None  # mean share of the ten nearest neighbours with the same true class; None for few sentences


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
        """Return the layer analysis of a run; its file is named after the weights, tokenizer and predictions.

        Raises InputError for an unknown run or split, and NotAvailable if the model has no layers or no weights.
        """
        record, folder = store.read(run), store.get_path(run)
        refuse_tagged(record)
        if "hidden" not in list_capabilities(record.config.model):
            raise NotAvailable(f"{record.preset} has no layers of attention to look at one by one")
        if split not in (there := list_evaluated_splits(folder)):
            found = ", ".join(there) or "none"
            raise InputError(f"run '{run}' has no predictions of a split '{split}'; it has {found}")
        if why := explain_lacking_texts(folder, record):
            raise NotAvailable(why)
        if not (folder / WEIGHTS).is_file():
            raise NotAvailable(f"run '{run}' has no weights, so that its layers can read nothing")
        of = (folder / WEIGHTS, folder / TOKENIZER, folder / EVALUATION / split / PREDICTIONS)
        depends = {"version": VERSION, "split": split, "files": list(map(hash_file, of))}
        return cls(get_cache_folder() / FOLDER, hash_value(depends), store, run, split)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that analyses the layers of a run."""
        return "layers", self.run, "--split", self.split

    def find(self, tell: Tell) -> Layers:
        """Compute vectors of sampled texts at every layer, store them, and measure how well the classes separate.

        Raises RunDamaged if a file cannot be read, and NotAvailable if no embeddings of the split are stored.
        """
        tell("loading the model", None)
        from core.runs.load import load_run

        folder, loaded = self.store.get_path(self.run), load_run(self.store, self.run)
        pooled, labels = read_vectors(folder, self.split, loaded.record.classes)
        strata = data.splits.find_strata(labels) if labels.ndim == 2 else labels
        rows = evaluation.projection.sample_rows(strata, evaluation.projection.ROWS, 0)
        texts = read_predictions(folder / EVALUATION / self.split / PREDICTIONS)["text"].astype(str)
        model, sampled = cast("EncoderClassifier", loaded.model), [texts.iloc[row] for row in rows]
        how, report = evaluation.class_separability, lambda share: tell("reading the sentences", 0.8 * share)
        read = how.read_layers(model, loaded.tokenizer, sampled, report)
        places = [*zip(list_spaces(loaded.record.config.model)[1:], read, strict=True), (HEAD, pooled[rows])]
        found = []
        for place, (name, points) in enumerate(places):
            tell("measuring the layers", 0.8 + 0.2 * place / len(places))
            found.append(LayerStage(name, points.shape[1], *how.measure_separability(points, labels[rows])))
        write_bytes(self.get_path("npy"), pack_array(read))
        chance = evaluation.nearest_neighbors.compute_chance_purity(labels[rows])
        return Layers(tuple(found), tuple(rows.tolist()), len(labels), chance, how.explain_no_silhouette(labels))

    def read(self) -> Layers | None:
        """Return the stored class separability of each layer; None if it or the stored vectors are missing."""
        return super().read() if self.get_path("npy").is_file() else None

    def load_vectors(self, stage: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the sampled row numbers and their vectors (m, d) at a layer or the embedding, not at the head.

        Raises NotAvailable if they are not computed yet, and RunDamaged if the file does not fit and must be removed.
        """
        known = self.read()
        if known is None:
            raise NotAvailable(f"its layers have not been read: sentiscope layers {self.run} --split {self.split}")
        path, names = self.get_path("npy"), [each.name for each in known.stages]
        try:
            found = np.load(io.BytesIO(read_regular(path, LARGEST)), allow_pickle=False)
            if found.shape[:2] != (len(names) - 1, len(known.rows)):
                raise ValueError("it does not fit the rows")
            return np.array(known.rows, np.int64), found[names.index(stage)]
        except (OSError, ValueError, IndexError, MemoryError) as error:
            raise RunDamaged(f"{path}: cannot be read: {error}; remove it, and the layers are read again") from error
