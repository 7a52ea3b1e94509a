"""The training sentences that are nearest to a whole selection: what its sentences have in common in the model's space.

Each selected sentence has its ten nearest training sentences, by cosine of what the model's head reads. A training
sentence counts once for every selected one that has it among its ten; the mean of a selection would lie where no
sentence of it does, so nothing is averaged before the neighbours are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.evaluation.neighbourhood import NEIGHBOURS, counted, nearest
from core.exceptions import InputError, NotAvailable
from core.failures.table import Table
from core.failures.training import Training

if TYPE_CHECKING:
    import pandas as pd

MOST = 200
"""Training sentences that can be asked for."""
LOOKED_AT = 2000
"""Selected sentences, a sample of more."""


@dataclass(frozen=True)
class Common:
    """What the training sentences near a selection are."""

    found: pd.DataFrame
    """`row` of the training split, `text`, `label`, `near` (selected sentences that have it among their nearest),
    `share` of these, `likeness` (mean cosine to them): the nearest to most first, then the likest."""
    n: int
    """Selected sentences,"""
    looked_at: int
    """how many of them were looked at,"""
    among: int
    """and training sentences that were compared."""
    each: int
    """So many are the nearest of one sentence."""
    true: float
    """Of these neighbours the share with the true label of their sentence; 0 without any,"""
    said: float
    """and with what the run says of it."""

    def report(self) -> dict[str, Any]:
        """As plain data."""
        about = {
            "n": self.n,
            "looked_at": self.looked_at,
            "among": self.among,
            "each": self.each,
            "true_share": self.true,
            "said_share": self.said,
        }
        return {**about, "neighbours": self.found.to_dict("records")}


def common(table: Table, places: np.ndarray, vectors: np.ndarray, training: Training, most: int = NEIGHBOURS) -> Common:
    """The training sentences near some rows.

    Args:
        table: of a run.
        places: (k,) rows of it.
        vectors: (k, d) what the head reads of these.
        training: of the run; of many rows a sample is compared (`core.failures.near.MOST`).
        most: sentences.

    Raises:
        InputError: so many cannot be asked for.
        NotAvailable: the training texts are not here, or the run has no weights.
        RunDamaged: the model cannot be read.
    """
    import pandas as pd

    if not 1 <= most <= MOST:
        raise InputError(f"--most {most}: a number of sentences from 1 to {MOST}")
    n = len(places)
    if n > LOOKED_AT:
        chosen = np.sort(np.random.default_rng(0).choice(n, LOOKED_AT, replace=False))
        places, vectors = places[chosen], vectors[chosen]
    try:
        known = training.vectors(vectors.shape[1]) if len(places) else np.empty((0, vectors.shape[1]), np.float32)
    except OSError as error:
        raise NotAvailable("the run has no weights, so that its training sentences cannot be read") from error
    at, distances = nearest(_of_length_one(vectors), _of_length_one(known), NEIGHBOURS)
    likeness = 1 - distances**2 / 2  # of vectors of length 1 the cosine
    votes, mean = counted(at, likeness, len(known))
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
    true, said = (_share(labels, table.frame[name].to_numpy(object)[places]) for name in ("truth", "said"))
    return Common(found, n, len(places), len(known), at.shape[1], true, said)


def _share(labels: np.ndarray, of: np.ndarray) -> float:
    """How many of the neighbours of each row have its label."""
    return float((labels == of[:, None]).mean()) if labels.size else 0.0


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: np.ndarray = vectors / np.where(length > 0, length, 1)
    return found
