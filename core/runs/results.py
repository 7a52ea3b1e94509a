"""What a trained model does on the splits of its data: files of the run directory, and figures for the record.

evaluation/<split>/predictions.parquet   row, text, label, predicted, a column `probability:CLASS` each, and the
                                         data's own further columns (phenomenon, domain …)
evaluation/<split>/embeddings.npy        (n, d) float32: what the head read, in the order of the rows
evaluation/<split>/metrics.json          metrics, intervals, silhouette, per_class, confusion, calibration, left_out
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.atomic import storage_errors, write_bytes, write_text
from core.evaluation.intervals import intervals
from core.evaluation.metrics import calibration_bins, confusion, evaluate, left_out, per_class
from core.evaluation.predict import Predictions
from core.evaluation.representation import silhouette
from core.runs.record import EMBEDDINGS, EVALUATION, METRICS, PREDICTIONS, PROBABILITY
from core.training.history import finite


@dataclass(frozen=True)
class Judged:
    """One split with what the model says of it."""

    split: str
    frame: pd.DataFrame
    predictions: Predictions
    classes: tuple[str, ...]

    @property
    def labels(self) -> np.ndarray:
        """(n,) int64."""
        return self.frame["label"].to_numpy(np.int64)

    @functools.cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric that is defined here."""
        return evaluate(self.labels, self.predictions.probabilities)

    @functools.cached_property
    def intervals(self) -> dict[str, list[float]]:
        """The bootstrap interval of each metric."""
        return intervals(self.labels, self.predictions.probabilities)

    @functools.cached_property
    def silhouette(self) -> dict[str, Any]:
        """How well the classes are apart in the embeddings; with the reason where it is undefined."""
        return silhouette(self.predictions.pooled, self.labels, self.classes).summary()


def write_split(run: Path, judged: Judged) -> None:
    """Write the three files of a split.

    Raises:
        StorageError: the disk is full or read-only.
    """
    folder = run / EVALUATION / judged.split
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    table, vectors = io.BytesIO(), io.BytesIO()
    prediction_table(judged.frame, judged.predictions.probabilities, judged.classes).to_parquet(table, index=False)
    np.save(vectors, judged.predictions.pooled, allow_pickle=False)
    write_bytes(folder / PREDICTIONS, table.getvalue())
    write_bytes(folder / EMBEDDINGS, vectors.getvalue())
    write_text(folder / METRICS, json.dumps(finite(_figures(judged)), indent=1, ensure_ascii=False) + "\n")


def prediction_table(frame: pd.DataFrame, probabilities: np.ndarray, classes: Sequence[str]) -> pd.DataFrame:
    """One row per text: its number from 0, text, label and prediction by name, probabilities, the data's own columns.

    A column of the data that has the name of one of ours is called `data:NAME`.
    """
    names = np.array(classes, dtype=object)
    ours = {
        "row": np.arange(len(frame)),
        "text": frame["text"],
        "label": names[frame["label"].to_numpy()],
        "predicted": names[probabilities.argmax(1)],
        **{f"{PROBABILITY}{name}": probabilities[:, number] for number, name in enumerate(classes)},
    }
    theirs = {
        f"data:{name}" if name in ours else str(name): column.map(_storable) if column.dtype == object else column
        for name, column in frame.items()
        if name not in ("text", "label")
    }
    return pd.DataFrame({**ours, **theirs})


def _figures(judged: Judged) -> dict[str, Any]:
    labels, probabilities = judged.labels, judged.predictions.probabilities
    return {
        "split": judged.split,
        "n": len(labels),
        "classes": list(judged.classes),
        "metrics": judged.metrics,
        "intervals": judged.intervals,
        "silhouette": judged.silhouette,
        "left_out": left_out(labels, len(judged.classes)),
        "per_class": per_class(labels, probabilities, judged.classes),
        "confusion": confusion(labels, probabilities.argmax(1), len(judged.classes)),
        "calibration": calibration_bins(labels, probabilities),
    }


def _storable(value: Any) -> str:
    """A column of mixed things as text that Parquet can hold: lone surrogates become a replacement mark."""
    return str(value).encode("utf-8", "replace").decode()
