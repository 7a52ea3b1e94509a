"""Nearest neighbours among training and split sentences, by TF-IDF of words or in a vector space of the model.

`find_shared` finds the training sentences near a selection: each selected sentence votes for its ten nearest, by cosine
of the head's input. The neighbours of the mean vector are not used, as it may be far from all selected sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from core.error_analysis.predictions_table import PredictionTable
from core.error_analysis.training_index import TrainingRows
from core.evaluation.projection import NEIGHBORS, count_neighbors, draw_rows, find_nearest
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs.projections import Space
from core.text.words import build_mark_class

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer


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
        for kind, likeness in ((WORDS, self._compare_words(places)), (MODEL, self._compare_vectors(vectors))):
            for near, row in zip(found, [] if likeness is None else likeness, strict=False):
                near += self._list_first(row, kind, each)
        return found

    def _list_first(self, likeness: np.ndarray, kind: str, most: int) -> list[TrainingNeighbor]:
        training, nearest = self._training, np.argsort(-likeness, kind="stable")[:most]
        rows = [(int(training.rows[place]), float(likeness[place])) for place in nearest if likeness[place] > 0]
        return [TrainingNeighbor(training.texts[row], training.named[row], kind, value) for row, value in rows]

    def _compare_words(self, places: Sequence[int]) -> np.ndarray | None:
        """Return (k, m) TF-IDF cosines between table rows and training texts; None if training has no words."""
        if self._known is None:
            return None
        vectorizer, known = self._known
        found: np.ndarray = (vectorizer.transform([self._table.texts[at] for at in places]) @ known.T).toarray()
        return found

    def _compare_vectors(self, vectors: np.ndarray | None) -> np.ndarray | None:
        known = None if vectors is None else self._read_vectors(vectors.shape[1])
        return None if vectors is None or known is None else _normalize_rows(vectors) @ known.T

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
    found: np.ndarray = vectors / np.where(length > 0, length, 1)
    return found


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
    """Return the table rows nearest to a vector, nearest first, with their Euclidean distances.

    Args:
        table: The prediction table.
        space: Vectors of all of its rows, or of some.
        asked: (d,), the vector.
        own: The table row that has this vector, which is left out; None: no row has it.
        most: Number of rows; InputError beyond `MOST`.
    """
    if not 1 <= most <= MOST:
        raise InputError(f"--most {most}: a number of sentences from 1 to {MOST}")
    at = np.flatnonzero(space.rows == own) if own is not None else np.empty(0, np.int64)
    rows, distances = find_nearest(asked[None], space.vectors, most, at if len(at) else None)
    return table.frame[SHOWN].iloc[space.rows[rows[0]]].assign(distance=distances[0])


def find_surrounding(table: PredictionTable, space: Space, places: np.ndarray, most: int = NEIGHBORS) -> pd.DataFrame:
    """Return the unselected rows that lie near many selected rows, with the number of such rows and mean distance.

    Each selected row, or a sample of `LOOKED_AT`, votes for its ten nearest unselected rows: `near` is the number of
    votes, `distance` the mean Euclidean distance to the voters. Sorted by votes, then by distance.
    """
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

    def to_dict(self) -> dict[str, Any]:
        """Return the training sentences nearest to a selection, with counts and label shares, as JSON-like data."""
        about = {name: getattr(self, name) for name in ("n", "looked_at", "among", "each")}
        shares = {"true_share": self.true, "predicted_share": self.said}
        return {**about, **shares, "neighbours": self.found.to_dict("records")}


def find_shared(
    table: PredictionTable, places: np.ndarray, vectors: np.ndarray, training: TrainingRows, most: int = NEIGHBORS
) -> SharedNeighbors:
    """Find the training sentences nearest to k rows of a table, by the vectors (k, d) that the model's head reads.

    Raises InputError for too large a `most`, NotAvailable without texts or weights, RunDamaged for a damaged model.
    """
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
    found = pd.DataFrame(
        {
            "row": rows,
            "text": [training.texts[row] for row in rows],
            "label": [training.named[row] for row in rows],
            "near": votes[first],
            "share": votes[first] / max(1, len(places)),
            "likeness": mean[first],
        }
    )
    true, said = (_compute_share(labels, table.frame[name].to_numpy(object)[places]) for name in ("true", "predicted"))
    return SharedNeighbors(found, n, len(places), len(known), at.shape[1], true, said)


def _compute_share(labels: np.ndarray, of: np.ndarray) -> float:
    return float((labels == of[:, None]).mean()) if labels.size else 0.0
