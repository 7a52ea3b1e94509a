"""Predictions of a run on the texts of a suite, computed once and cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from core import runs
from core.behaviour.judge import Judged, judge
from core.behaviour.polarity import sides_of
from core.behaviour.suite import Suite
from core.cache import cache_folder, keep_array
from core.exceptions import InputError
from core.fingerprint import file_fingerprint, fingerprint
from core.runs.record import MIX, SPEAKING, refuse_tagged
from core.runs.store import RunStore

FOLDER = "behaviour"


def judged(store: RunStore, run: str, suite: Suite, chosen: Mapping[str, str] | None = None) -> Judged:
    """Test a finished run on a suite; `chosen` is class → polarity, see `core.behaviour.polarity.sides_of`.

    Raises InputError without such a run or with unsuitable labels or classes, RunDamaged for a damaged model.
    """
    record = store.read(run)
    refuse_tagged(record)
    if record.task == "multi":
        raise InputError(f"run '{run}' gives several labels per text; a suite asks for one polarity per text")
    sides = sides_of(run, record.classes, chosen, record.classes if record.ordered else ())
    return judge(run, suite, sides, probabilities(store, run, suite.texts, len(record.classes)))


def asked(store: RunStore, run: str, suite: Suite) -> bool:
    """Return whether the run's predictions on a suite are cached, so that `judged` needs no model."""
    kept = _kept(store, run, suite.texts)
    return kept is not None and kept.exists()


def probabilities(store: RunStore, run: str, texts: Sequence[str], classes: int) -> np.ndarray:
    """Return (n, C) float32 probabilities, from the cache if the same model has predicted the same texts before."""

    def predict() -> np.ndarray:
        """Predict the texts by the run."""
        return runs.load.load_run(store, run).predict(texts).probabilities.astype(np.float32)

    kept = _kept(store, run, texts)
    return keep_array(kept, (len(texts), classes), predict) if kept else predict()


def _kept(store: RunStore, run: str, texts: Sequence[str]) -> Path | None:
    """Return the cache file of these predictions, named by all that they depend on; None without a model."""
    record = store.read(run)
    names = [name for name in SPEAKING if record.mix_weight is not None or not name.startswith(MIX)]
    try:
        model = [file_fingerprint(store.path(run) / name) for name in names]
    except OSError:
        return None
    asked = {"model": model, "answering": record.answering, "texts": list(texts)}
    return cache_folder() / FOLDER / f"{fingerprint(asked)}.npy"
