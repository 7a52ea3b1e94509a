"""Near-duplicates and nearest neighbours among training and split sentences, by words or in the model's vectors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from core import runs
from core.data.dataset import TRAIN, Dataset
from core.error_analysis.predictions_table import PredictionTable
from core.error_analysis.split_analysis import cache_array
from core.evaluation.metrics import join_class_names
from core.evaluation.projection import NEIGHBORS, count_neighbors, draw_rows, find_nearest
from core.evaluation.split_differences import split_plain_words, to_class_matrix
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import hash_file
from core.formatting import count
from core.runs.background_jobs import Tell
from core.runs.projections import Space
from core.runs.record import TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.normalization import make_text_keys
from core.text.words import build_mark_class

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

SHARED, OF = 4, 5  # Near-duplicates share at least 4 of 5 of all their distinct words (Jaccard 0.8)
MOST_TRAINING = 10_000  # training rows searched for neighbours; of more, a seeded random sample
_BLOCK = 16_000_000  # distances in memory at once

Words = frozenset[str]


def find_near_duplicates(texts: Sequence[str], training: Sequence[str]) -> np.ndarray:
    """Return (n,) bool: near-duplicates of a training text (Jaccard similarity of lower-case words ≥ 0.8).

    The search is exact: texts that share a rare word are compared (prefix filter; Chaudhuri, Ganti and Kaushik 2006).
    """
    known = {frozenset(words) for words in map(split_plain_words, training) if words}
    asked = [frozenset(split_plain_words(text)) for text in texts]
    frequency = Counter(word for words in known for word in words)
    index: dict[str, list[Words]] = defaultdict(list)
    for words in known:
        for word in _select_rarest(words, frequency):
            index[word].append(words)
    return np.array([bool(each) and (each in known or _has_near(each, index, frequency)) for each in asked], bool)


def find_conflicts(vectors: np.ndarray, labels: np.ndarray, known: np.ndarray, known_labels: np.ndarray) -> np.ndarray:
    """Return (n,) bool: texts (n, d) of whose ten nearest training rows, `known` (m, d), most have another label."""
    import torch

    points, own = torch.from_numpy(known).float(), torch.from_numpy(np.ascontiguousarray(known_labels))
    asked, true = torch.from_numpy(vectors).float(), torch.from_numpy(np.ascontiguousarray(labels))
    count = min(NEIGHBORS, len(points))
    found = []
    step = max(1, _BLOCK // max(1, len(points)))
    for start in range(0, len(asked), step):
        nearest = torch.cdist(asked[start : start + step], points).topk(count, largest=False).indices
        other = own[nearest] != true[start : start + step, None]
        found.append((other if other.ndim == 2 else other.any(2)).float().mean(1) > 0.5)
    return torch.cat(found).numpy() if found else np.zeros(0, bool)


def _select_rarest(words: Words, frequency: Counter[str]) -> list[str]:
    """Return a text's rarest words, just enough for every near-duplicate to contain at least one."""
    return sorted(words, key=lambda word: (frequency[word], word))[: len(words) + 1 + -SHARED * len(words) // OF]


def _has_near(words: Words, index: dict[str, list[Words]], frequency: Counter[str]) -> bool:
    for other in (other for word in _select_rarest(words, frequency) for other in index.get(word, ())):
        if SHARED * len(words) <= OF * len(other) and SHARED * len(other) <= OF * len(words):
            shared = len(words & other)
            if OF * shared >= SHARED * (len(words) + len(other) - shared):
                return True
    return False


class TrainingRows:
    """The training rows of a run (texts, labels and model vectors), read on first use."""

    def __init__(self, store: RunStore, record: RunRecord, tell: Tell = lambda what, share: None) -> None:
        self.record, self.tell = record, tell
        self._store = store

    @property
    def data(self) -> Dataset:
        """Return the data set that a run was trained on; NotAvailable if it is missing or has changed."""
        if isinstance(self._read, NotAvailable):
            raise self._read
        return self._read

    @cached_property
    def texts(self) -> list[str]:
        """Return all training texts; NotAvailable if the data set is missing or has changed."""
        return self.data.splits[TRAIN]["text"].tolist()

    @cached_property
    def labels(self) -> np.ndarray:
        """Return training labels: (m,) class numbers, or (m, C) zeros and ones; NotAvailable without the data set."""
        return self.data.get_targets(TRAIN)

    @cached_property
    def named(self) -> list[str]:
        """Return the label names of each training row, several joined by commas; NotAvailable without the data set."""
        return join_class_names(to_class_matrix(self.labels, len(self.data.classes)), self.data.classes)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return sorted indices of the training rows in which neighbours are searched; NotAvailable without data."""
        return draw_rows(len(self.texts), MOST_TRAINING)

    @cached_property
    def _same(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for key, name in zip(make_text_keys(self.texts, self.record.config.text), self.named, strict=True):
            found.setdefault(key, Counter())[name] += 1
        return found

    def count_labels(self, texts: list[str]) -> list[dict[str, int]]:
        """Count, for each text, the labels of training texts equal after normalisation; NotAvailable without data."""
        return [dict(self._same.get(key, {})) for key in make_text_keys(texts, self.record.config.text)]

    def read_vectors(self, width: int) -> np.ndarray:
        """Return (rows, width) float32 model vectors, the head's input, of the searched training rows; cached on disk.

        Raises NotAvailable without data, RunDamaged if the model cannot be read, OSError without weights.
        """

        def predict_vectors() -> np.ndarray:
            """Predict the model vectors of the searched training texts, (rows, width)."""
            texts = [self.texts[row] for row in self.rows]
            self.tell(f"reading {count(len(texts))} training texts", None)
            return runs.load.load_run(self._store, self.record.run).predict(texts).pooled.astype(np.float32)

        folder = self._store.get_path(self.record.run)
        model = [hash_file(folder / name) for name in (WEIGHTS, TOKENIZER)]
        depends = model, self.record.data_fingerprint, self.record.config.data, MOST_TRAINING
        return cache_array("vectors", depends, (len(self.rows), width), predict_vectors)

    @cached_property
    def _read(self) -> Dataset | NotAvailable:
        self.tell("reading the data", None)
        try:
            return runs.lineage.load_trained_data(self.record)
        except NotAvailable as error:
            return error


WORDS, MODEL = "words", "model"


class TrainingNeighbor(NamedTuple):
    """One of the training texts nearest to a sentence, with its label and cosine similarity."""

    text: str
    label: str
    by: str  # `WORDS` or `MODEL`
    likeness: float  # cosine of TF-IDF vectors of words and word pairs, or of the head's input


class NearestTraining:
    """A search for the training texts nearest to rows of a prediction table, by TF-IDF words or model vectors."""

    def __init__(self, table: PredictionTable, training: TrainingRows) -> None:
        self._table, self._training = table, training
        self._spaces: dict[int, np.ndarray] = {}  # by vector width

    def prepare(self, width: int) -> None:
        """Load the training texts (and model vectors if `width` > 0) for a search; NotAvailable without texts."""
        _ = self._known, self._read_vectors(width), self._training.count_labels([])

    def find_nearest(
        self, places: Sequence[int], each: int, vectors: np.ndarray | None
    ) -> list[list[TrainingNeighbor]]:
        """Return the training texts nearest to each row, by words and by model vectors; NotAvailable without texts."""
        found: list[list[TrainingNeighbor]] = [[] for _ in places]
        known = None if vectors is None else self._read_vectors(vectors.shape[1])
        of_model = None if vectors is None or known is None else _normalize_rows(vectors) @ known.T
        for kind, likeness in ((WORDS, self._compare_words(places)), (MODEL, of_model)):
            for near, row in zip(found, [] if likeness is None else likeness, strict=False):
                for at in np.argsort(-row, kind="stable")[:each]:
                    if row[at] > 0:
                        place, training = int(self._training.rows[at]), self._training
                        text, label = training.texts[place], training.named[place]
                        near.append(TrainingNeighbor(text, label, kind, float(row[at])))
        return found

    def _compare_words(self, places: Sequence[int]) -> np.ndarray | None:
        """Return (k, m) TF-IDF cosines between table rows and training texts; None if training has no words."""
        if self._known is None:
            return None
        vectorizer, known = self._known
        return (vectorizer.transform([self._table.texts[at] for at in places]) @ known.T).toarray()

    @cached_property
    def _known(self) -> tuple[TfidfVectorizer, csr_matrix] | None:
        """Return the TF-IDF vectorizer fitted on the training texts, and their vectors; None if they have no words."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        training = self._training
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=rf"[\w{build_mark_class()}]+")
        try:
            return vectorizer, vectorizer.fit_transform([training.texts[row] for row in training.rows])
        except ValueError:  # an empty vocabulary
            return None

    def _read_vectors(self, width: int) -> np.ndarray | None:
        """Return (m, width) model vectors of the training rows, of length 1; None if the model cannot be read."""
        if width and width not in self._spaces:
            try:
                self._spaces[width] = _normalize_rows(self._training.read_vectors(width))
            except (RunDamaged, OSError):
                return None
        return self._spaces.get(width)


def _normalize_rows(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1)


MOST = 200  # sentences that can be requested
LOOKED_AT = 500  # selected rows that vote; of more, a random sample
SHOWN = ["key", "row", "text", "true", "predicted", "wrong"]


def find_row(table: PredictionTable, key: str) -> int:
    """Return the index of the prediction-table row with this key; InputError if no row has it."""
    found = np.flatnonzero((table.frame["key"] == key).to_numpy())
    if not len(found):
        raise InputError(
            f"no sentence of {table.split} has the key {key!r}; `sentiscope errors` and CSV files have them"
        )
    return int(found[0])


def find_neighbors(
    table: PredictionTable, space: Space, asked: np.ndarray, own: int | None = None, most: int = NEIGHBORS
) -> pd.DataFrame:
    """Return the table rows nearest to a vector (d,), except `own`, with Euclidean distances; InputError: too many."""
    if not 1 <= most <= MOST:
        raise InputError(f"--most {most}: a number of sentences from 1 to {MOST}")
    at = np.flatnonzero(space.rows == own) if own is not None else np.empty(0, np.int64)
    rows, distances = find_nearest(asked[None], space.vectors, most, at if len(at) else None)
    return table.frame[SHOWN].iloc[space.rows[rows[0]]].assign(distance=distances[0])


def find_surrounding(table: PredictionTable, space: Space, places: np.ndarray, most: int = NEIGHBORS) -> pd.DataFrame:
    """Return unselected rows near many selected ones, by votes (`near`, of at most `LOOKED_AT` rows) and distance."""
    inside = np.isin(space.rows, places)
    asked, outside = space.vectors[inside], np.flatnonzero(~inside)
    asked = asked[draw_rows(len(asked), LOOKED_AT)]
    at, distances = find_nearest(asked, space.vectors[outside], NEIGHBORS)
    votes, mean = count_neighbors(at, distances, len(outside))
    order = np.lexsort((mean, -votes))
    first = order[votes[order] > 0][:most]
    return table.frame[SHOWN].iloc[space.rows[outside[first]]].assign(near=votes[first], distance=mean[first])


MOST_SELECTED = 2000  # selected sentences that vote; of more, a random sample


@dataclass(frozen=True)
class SharedNeighbors:
    """The training sentences that are nearest to many of the selected sentences, with label shares."""

    found: pd.DataFrame
    """`row` of the training split, `text`, `label`, `near` (votes: selected sentences that have it among their
    nearest), `share` of selected sentences, `likeness` (mean cosine to the voters); sorted by votes, then likeness.
    """
    n: int  # selected sentences
    looked_at: int  # selected sentences that voted
    among: int  # training sentences that were compared
    each: int  # votes of one sentence
    true: float  # share of neighbours with the true label of their sentence; 0 without any
    said: float  # share of neighbours with the predicted label of their sentence


def find_shared(
    table: PredictionTable, places: np.ndarray, vectors: np.ndarray, training: TrainingRows, most: int = NEIGHBORS
) -> SharedNeighbors:
    """Find the training sentences nearest to k vectors (k, d) of the head's input; InputError: too large a `most`."""
    if not 1 <= most <= MOST:
        raise InputError(f"--most {most}: a number of sentences from 1 to {MOST}")
    n = len(places)
    chosen = draw_rows(n, MOST_SELECTED)
    places, vectors = places[chosen], vectors[chosen]
    try:
        known = training.read_vectors(vectors.shape[1]) if len(places) else np.empty((0, vectors.shape[1]), np.float32)
    except OSError as error:
        raise NotAvailable("the run has no weights, so that its training sentences cannot be read") from error
    at, distances = find_nearest(_normalize_rows(vectors), _normalize_rows(known), NEIGHBORS)
    likeness = 1 - distances**2 / 2  # cosine, as the vectors have length 1
    votes, mean = count_neighbors(at, likeness, len(known))
    order = np.lexsort((-mean, -votes))
    first = order[votes[order] > 0][:most]
    rows = training.rows[first] if len(first) else np.empty(0, np.int64)
    labels = np.array(training.named, object)[training.rows[at]] if at.size else np.empty((len(places), 0), object)
    about = {"row": rows, "text": [training.texts[at] for at in rows], "label": [training.named[at] for at in rows]}
    numbers = {"near": votes[first], "share": votes[first] / max(1, len(places)), "likeness": mean[first]}
    true, said = (_compute_share(labels, table.frame[name].to_numpy(object)[places]) for name in ("true", "predicted"))
    return SharedNeighbors(pd.DataFrame(about | numbers), n, len(places), len(known), at.shape[1], true, said)


def _compute_share(labels: np.ndarray, of: np.ndarray) -> float:
    return float((labels == of[:, None]).mean()) if labels.size else 0.0
