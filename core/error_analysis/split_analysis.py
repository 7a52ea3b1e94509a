"""Cached analyses of an evaluated split, in files named by a hash of everything that a result depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from core.cache import get_cache_folder, keep_array
from core.fingerprint import hash_file, hash_value
from core.runs.background_jobs import Analysis, Found
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

FOLDER = "failures"
VERSION = 1  # increased when the same run and data give other arrays


@dataclass(frozen=True)
class SplitAnalysis(Analysis[Found]):
    """A cached analysis of a split that a run was evaluated on."""

    run: str
    split: str
    VERSION: ClassVar[int]  # Increased when the same run and data give other results

    @classmethod
    def from_run(cls, store: RunStore, record: RunRecord, split: str) -> Self:
        """Create an analysis whose cache key covers data, settings and predictions; OSError if a file is missing."""
        said = hash_file(store.get_path(record.run) / EVALUATION / split / PREDICTIONS)
        about = {"version": cls.VERSION, "data": record.data_fingerprint, "config": record.config.data, "said": said}
        about |= {"split": split, "text": record.config.text, **cls.get_dependencies(store, record)}
        return cls(get_cache_folder() / FOLDER, f"{cls.name}-{hash_value(about)}", store, record.run, split)

    @classmethod
    def get_dependencies(cls, store: RunStore, record: RunRecord) -> dict[str, Any]:
        """Return what else the result of a split analysis depends on, for its cache key."""
        return {}

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments that compute the analysis of a split."""
        return self.name, self.run, "--split", self.split


def cache_array(what: str, depends: Any, shape: tuple[int, ...], make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return a NumPy array of this shape from the disk cache; if missing, compute it by `make` and store it."""
    stem = hash_value({"version": VERSION, "what": what, "depends": depends})
    return keep_array(get_cache_folder() / FOLDER / f"{stem}.npy", shape, make)
