"""The vectors that a run keeps of the texts of a split: what its head read, beside what it said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.exceptions import RunDamaged
from core.runs.predictions import read_predictions
from core.runs.record import EMBEDDINGS, EVALUATION, LABEL, PREDICTIONS
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np


def embedded_splits(store: RunStore, run: str) -> list[str]:
    """Return the splits of a run whose embeddings are kept, in alphabetical order."""
    found = (store.path(run) / EVALUATION).glob(f"*/{EMBEDDINGS}")
    return sorted(path.parent.name for path in found if (path.parent / PREDICTIONS).is_file())


def read_vectors(run: Path, split: str, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, d) float32 embeddings and the true class numbers of a split, (n,); of several labels (n, C) 0 and 1.

    Raises RunDamaged if a file is cut off, or they do not belong together.
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
