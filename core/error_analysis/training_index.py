"""The training texts of a run, indexed for near-duplicates and for nearest neighbours in the model's vector space."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from core import runs
from core.data.dataset import TRAIN, Dataset
from core.error_analysis.split_analysis import cache_array
from core.evaluation.metrics import join_class_names
from core.evaluation.projection import draw_rows
from core.evaluation.split_differences import split_plain_words, to_class_matrix
from core.exceptions import NotAvailable
from core.fingerprint import hash_file
from core.formatting import count
from core.runs.background_jobs import Tell
from core.runs.record import TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.normalization import make_text_keys

SHARED, OF = 4, 5
"""Near-duplicates share at least 4 of 5 of all their distinct words (Jaccard 0.8)."""
NEIGHBORS = 10
MOST = 10_000  # training rows searched for neighbours; of more, a seeded random sample
_BLOCK = 16_000_000  # distances in memory at once

Words = frozenset[str]


def find_near_duplicates(texts: Sequence[str], training: Sequence[str]) -> np.ndarray:
    """Return (n,) bool: which texts are near-duplicates of a training text (Jaccard similarity of words ≥ 0.8).

    Letter case and punctuation are ignored; texts without words have no duplicates. The search is exact: only texts
    that share one of their rarest words are compared, as near-duplicates must (prefix filter; Chaudhuri, Ganti and
    Kaushik 2006; Bayardo, Ma and Srikant 2007).
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
    """Return (n,) bool: texts for which most of the ten nearest training rows (Euclidean) have another label.

    `vectors` are (n, d), `known` (m, d) float32; labels are (n,), or (n, C) for several, where any difference counts.
    """
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
    ordered = sorted(words, key=lambda word: (frequency[word], word))
    return ordered[: len(words) + 1 + -SHARED * len(words) // OF]


def _has_near(words: Words, index: dict[str, list[Words]], frequency: Counter[str]) -> bool:
    size = len(words)
    for word in _select_rarest(words, frequency):
        for other in index.get(word, ()):
            if SHARED * size <= OF * len(other) and SHARED * len(other) <= OF * size:
                shared = len(words & other)
                if OF * shared >= SHARED * (size + len(other) - shared):
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
        return draw_rows(len(self.texts), MOST)

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
            """Compute the model vectors, the head's input, of the searched training rows."""
            texts = [self.texts[row] for row in self.rows]
            self.tell(f"reading {count(len(texts))} training texts", None)
            return runs.load.load_run(self._store, self.record.run).predict(texts).pooled.astype(np.float32)

        folder = self._store.get_path(self.record.run)
        model = [hash_file(folder / name) for name in (WEIGHTS, TOKENIZER)]
        depends = model, self.record.data_fingerprint, self.record.config.data, MOST
        return cache_array("vectors", depends, (len(self.rows), width), predict_vectors)

    @cached_property
    def _read(self) -> Dataset | NotAvailable:
        self.tell("reading the data", None)
        try:
            return runs.lineage.load_trained_data(self.record)
        except NotAvailable as error:
            return error
