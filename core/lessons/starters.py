"""Stored results of the starter runs, as lessons read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core import runs
from core.exceptions import NotAvailable, RunDamaged, RunNotFound
from core.runs.record import EVALUATION, METRICS, PREDICTIONS, PROBABILITY
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd


def read_metrics(store: RunStore, run: str, split: str) -> dict[str, Any]:
    """Return the stored metrics and intervals of a starter run on a split; NotAvailable: the run is not here."""
    path = store.get_path(_require_run(store, run)) / EVALUATION / split / METRICS
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotAvailable(f"this lesson needs the results of {run} on {split}, and they are not here") from None
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    return found


def read_split(store: RunStore, run: str, split: str) -> pd.DataFrame:
    """Return a starter run's stored predictions on a split, with a column `confidence` (0 to 1) of each prediction."""
    path = store.get_path(_require_run(store, run)) / EVALUATION / split / PREDICTIONS
    if not path.is_file():
        raise NotAvailable(f"this lesson needs the results of {run} on {split}, and they are not here")
    frame = runs.predictions.read_predictions(path)
    return frame.assign(confidence=frame.filter(regex=f"^{PROBABILITY}").max(axis=1))


def _require_run(store: RunStore, run: str) -> str:
    try:
        store.read(run)
    except RunNotFound:
        raise NotAvailable(f"this lesson needs the model {run}, and it is not here") from None
    return run
