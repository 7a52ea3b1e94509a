"""What takes long of a table or a split, kept in the cache of the machine under all that it depends on."""

from __future__ import annotations

import io
import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from core.atomic import write_bytes
from core.cache import cache_folder
from core.exceptions import StorageError
from core.fingerprint import file_fingerprint, fingerprint
from core.runs.analyses import Analysis, Found
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

log = logging.getLogger(__name__)

FOLDER = "failures"
VERSION = 1  # raised whenever the same run and data would give other columns


@dataclass(frozen=True)
class SplitAnalysis(Analysis[Found]):
    """An analysis of a split that a run was evaluated on."""

    run: str
    split: str

    @classmethod
    def of(cls, store: RunStore, record: RunRecord, split: str) -> Self:
        """Name the file after all that the result depends on, the predictions of the split among it.

        Raises OSError where a file of the run is missing.
        """
        said = file_fingerprint(store.path(record.run) / EVALUATION / split / PREDICTIONS)
        stem = f"{cls.name}-{fingerprint(cls.depends(store, record, split, said))}"
        return cls(cache_folder() / FOLDER, stem, store, record.run, split)

    @classmethod
    @abstractmethod
    def depends(cls, store: RunStore, record: RunRecord, split: str, said: str) -> dict[str, Any]:
        """Return what the result depends on; `said` is the fingerprint of the predictions."""


def kept(what: str, depends: Any, shape: tuple[int, ...], make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the array `what` of this shape from the cache; `make` it and keep it where it is not there."""
    stem = fingerprint({"version": VERSION, "what": what, "depends": depends})
    path = cache_folder() / FOLDER / f"{stem}.npy"
    try:
        found: np.ndarray = np.load(path, allow_pickle=False)
        if found.shape == shape:
            return found
        log.warning("%s is of another table; making it again", path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError) as error:
        log.warning("%s cannot be read (%s); making it again", path, error)
    made, content = make(), io.BytesIO()
    np.save(content, made, allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
    except (OSError, StorageError) as error:
        log.warning("%s is not kept: %s", what, error)
    return made
