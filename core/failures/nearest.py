"""The training texts that are nearest to a text: in words, by TF-IDF, and in the space of the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.exceptions import RunDamaged
from core.failures.table import Table
from core.failures.training import Training
from core.text.words import marks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

WORDS, MODEL = "words", "model"


class Neighbour(NamedTuple):
    """A training text near another one."""

    text: str
    label: str
    by: str
    """`WORDS` or `MODEL`."""
    likeness: float
    """Cosine: of TF-IDF of words and pairs, or of the vectors that the model's head reads."""


class Nearest:
    """The training texts of a run beside the rows of a table."""

    def __init__(self, table: Table, training: Training) -> None:
        self._table, self._training = table, training

    def prepare(self, width: int) -> None:
        """Read the training texts, which takes long at first; vectors of this width, 0 for a model without.

        Raises:
            NotAvailable: they are not here.
        """
        _ = self._known, self._vectors(width), self._training.same([])

    def of(self, places: Sequence[int], each: int, vectors: np.ndarray | None) -> list[list[Neighbour]]:
        """Of each row the `each` nearest in words, then as many in embedding space.

        Args:
            places: k rows of the table.
            each: how many.
            vectors: (k, d) what the model's head reads of these rows; None: it has no space.

        Raises:
            NotAvailable: the training texts are not here.
        """
        found: list[list[Neighbour]] = [[] for _ in places]
        for kind, likeness in ((WORDS, self._by_words(places)), (MODEL, self._by_model(vectors))):
            for near, row in zip(found, [] if likeness is None else likeness, strict=False):
                near += self._first(row, kind, each)
        return found

    def _first(self, likeness: np.ndarray, kind: str, most: int) -> list[Neighbour]:
        training, nearest = self._training, np.argsort(-likeness, kind="stable")[:most]
        rows = [(int(training.rows[place]), float(likeness[place])) for place in nearest if likeness[place] > 0]
        return [Neighbour(training.texts[row], training.named[row], kind, value) for row, value in rows]

    def _by_words(self, places: Sequence[int]) -> np.ndarray | None:
        """(k, m) cosines; None where no word is known."""
        if self._known is None:
            return None
        vectorizer, known = self._known
        found: np.ndarray = (vectorizer.transform([self._table.texts[at] for at in places]) @ known.T).toarray()
        return found

    def _by_model(self, vectors: np.ndarray | None) -> np.ndarray | None:
        known = None if vectors is None else self._vectors(vectors.shape[1])
        return None if vectors is None or known is None else _of_length_one(vectors) @ known.T

    @cached_property
    def _known(self) -> tuple[TfidfVectorizer, csr_matrix] | None:
        """TF-IDF and the training rows; None where no word is left."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        training = self._training
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=rf"[\w{marks()}]+")
        try:
            return vectorizer, vectorizer.fit_transform([training.texts[row] for row in training.rows])
        except ValueError:  # an empty vocabulary
            return None

    def _vectors(self, width: int) -> np.ndarray | None:
        """(m, width) of the training rows, each of length 1; None where the model cannot be read."""
        if width and width not in self._spaces:
            try:
                self._spaces[width] = _of_length_one(self._training.vectors(width))
            except (RunDamaged, OSError):
                return None
        return self._spaces.get(width)

    @cached_property
    def _spaces(self) -> dict[int, np.ndarray]:
        """By width; a model has one."""
        return {}


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: np.ndarray = vectors / np.where(length > 0, length, 1)
    return found
