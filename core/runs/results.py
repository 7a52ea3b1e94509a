"""Results of a trained model on the splits of its data: files in `evaluation/<split>/`, and numbers for `run.json`.

predictions.parquet: row, text, label, predicted, a column `probability:CLASS` per class, and the data's own columns;
for a multi-label task, label and predicted list all labels, and `label:CLASS` is 1 if the text has the label; for a run
without texts (`data.texts`), neither text nor own columns. embeddings.npy: (n, d), the head's input, float32, or
float16 if the weights are stored in a smaller type. metrics.json: metrics, temperature, intervals, silhouette,
per_class, confusion, left_out; for a multi-label task, confusion is 2 × 2 by label, and `tuned` has the same at the
thresholds tuned on validation.
"""

import functools
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.atomic import make_folder, write_bytes, write_text
from core.cache import pack_array
from core.data.dataset import Task, encode_targets
from core.evaluation.class_separability import compute_silhouettes
from core.evaluation.inference import Predictions, evaluate_parts
from core.evaluation.intervals import compute_intervals
from core.evaluation.metrics import (
    HALF,
    SEVERAL,
    compute_confusion,
    count_confusions,
    evaluate,
    evaluate_classes,
    evaluate_unscaled,
    explain_left_out,
    join_class_names,
)
from core.metrics import select_thresholded
from core.runs.record import EMBEDDINGS, EVALUATION, LABEL, METRICS, PREDICTIONS, PROBABILITY
from core.training.history import replace_nonfinite
from core.training.temperature import UNSCALED, Scaling

ANSWERS = ("row", "label", "predicted")  # columns that a run without texts stores beside labels and probabilities


@dataclass(frozen=True)
class EvaluatedSplit:
    """One split of the data with the model's predictions, from which metrics are computed."""

    split: str
    frame: pd.DataFrame
    predictions: Predictions
    classes: tuple[str, ...]
    task: Task = "single"
    thresholds: np.ndarray | None = None
    ordered: bool = False
    scaling: Scaling = UNSCALED

    @functools.cached_property
    def labels(self) -> np.ndarray:
        """Return the true class numbers of the split, (n,) int64, or (n, C) zeros and ones for multi-label."""
        return encode_targets(self.frame, len(self.classes), self.task)

    @functools.cached_property
    def metrics(self) -> dict[str, float]:
        """Return every metric that is defined on the split; multi-label predictions are cut at 0.5."""
        return evaluate(self.labels, self.predictions.probabilities, self.task, ordered=self.ordered)

    @functools.cached_property
    def as_trained(self) -> dict[str, float]:
        """Return the probability metrics of the split without temperature scaling."""
        return evaluate_unscaled(self.labels, self.predictions.probabilities, self.task, self.scaling)

    @functools.cached_property
    def parts(self) -> dict[str, dict[str, float]]:
        """Return the metrics of the network alone and of TF-IDF alone on the split; empty without a TF-IDF mixture."""
        parts = self.predictions.parts
        return {} if parts is None else evaluate_parts(parts, self.labels, self.task, ordered=self.ordered)

    @functools.cached_property
    def intervals(self) -> dict[str, list[float]]:
        """Return the confidence interval of each metric on the split."""
        return compute_intervals(self.labels, self.predictions.probabilities, self.task, ordered=self.ordered)

    @functools.cached_property
    def tuned(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return the metrics and intervals that differ at tuned thresholds; empty without tuned thresholds."""
        if self.thresholds is None:
            return {}, {}
        given = self.labels, self.predictions.probabilities, self.task, self.thresholds
        values, ranges = evaluate(*given), compute_intervals(*given, names=select_thresholded())
        return {name: values[name] for name in select_thresholded() if name in values}, ranges

    @functools.cached_property
    def silhouette(self) -> dict[str, Any]:
        """Return the silhouette of the classes in the split's embeddings, or the reason why it is undefined."""
        if self.task == "multi":
            return {"rows": 0, "of": len(self.frame), "left_out": SEVERAL}
        return compute_silhouettes(self.predictions.pooled, self.labels, self.classes).summarize()


def write_split(run: Path, evaluated: EvaluatedSplit, *, texts: bool = True, half: bool = False) -> None:
    """Write predictions, embeddings and metrics of a split into a run; `half`: embeddings in half precision."""
    folder = run / EVALUATION / evaluated.split
    make_folder(folder)
    chances, pooled = evaluated.predictions.probabilities, evaluated.predictions.pooled
    table = build_prediction_table(evaluated.frame, chances, evaluated.classes, evaluated.task)
    if not texts:
        table = table[[name for name in table if name in ANSWERS or str(name).startswith((LABEL, PROBABILITY))]]
    write_bytes(folder / PREDICTIONS, table.to_parquet(index=False))
    write_bytes(folder / EMBEDDINGS, pack_array(pooled.astype(np.float16) if half else pooled))
    write_metrics(folder, _build_metrics(evaluated))


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write the metrics of a split as `metrics.json`; numbers that are not finite are written as null."""
    write_text(folder / METRICS, json.dumps(replace_nonfinite(metrics), indent=1, ensure_ascii=False) + "\n")


def build_prediction_table(
    frame: pd.DataFrame, probabilities: np.ndarray, classes: Sequence[str], task: Task = "single"
) -> pd.DataFrame:
    """Return the prediction table of a split: row, text, label, predicted, probabilities, and the data's own columns.

    For a multi-label task, label and predicted (above 0.5) list all labels separated by commas, and each label has a
    0/1 column. A data column with the name of another column is called `data:NAME`.
    """
    labels = encode_targets(frame, len(classes), task)
    bits = {}
    if task == "single":
        label, predicted = ([classes[number] for number in each] for each in (labels, probabilities.argmax(1)))
    else:
        label, predicted = (join_class_names(each, classes) for each in (labels, probabilities > HALF))
        bits = {f"{LABEL}{name}": labels[:, number].astype(np.int8) for number, name in enumerate(classes)}
    ours = {
        "row": np.arange(len(frame)),
        "text": frame["text"],
        "label": label,
        "predicted": predicted,
        **bits,
        **{f"{PROBABILITY}{name}": probabilities[:, number] for number, name in enumerate(classes)},
    }
    return pd.DataFrame({**ours, **select_own_columns(frame, set(ours))})


def select_own_columns(frame: pd.DataFrame, ours: Collection[str]) -> dict[str, pd.Series]:
    """Return the data set's own columns for a prediction table; a name that is also in `ours` gets a prefix."""
    names = (name for name in frame if name not in ("text", "label"))
    found = {f"data:{name}" if name in ours else str(name): frame[name] for name in names}
    for name, column in found.items():
        if column.dtype == object:  # Parquet stores one type; invalid Unicode becomes a question mark
            found[name] = column.map(lambda value: str(value).encode("utf-8", "replace").decode())
    return found


def _build_metrics(evaluated: EvaluatedSplit) -> dict[str, Any]:
    labels, probabilities, classes = evaluated.labels, evaluated.predictions.probabilities, evaluated.classes
    common: dict[str, Any] = {
        "split": evaluated.split,
        "n": len(labels),
        "classes": list(classes),
        "metrics": evaluated.metrics,
        "temperature": {"value": evaluated.scaling.temperature, "as_trained": evaluated.as_trained},
        "intervals": evaluated.intervals,
        "silhouette": evaluated.silhouette,
        "left_out": explain_left_out(labels, probabilities, classes, evaluated.task, ordered=evaluated.ordered),
        "per_class": evaluate_classes(labels, probabilities, classes, evaluated.task),
    }
    if evaluated.task == "single":
        common["confusion"] = compute_confusion(labels, probabilities.argmax(1), len(classes))
        return common
    common["confusion"] = count_confusions(labels, probabilities, classes)
    if evaluated.thresholds is None:
        return common
    metrics, ranges = evaluated.tuned
    tuned = {
        "metrics": metrics,
        "intervals": ranges,
        "per_class": evaluate_classes(labels, probabilities, classes, evaluated.task, evaluated.thresholds),
        "confusion": count_confusions(labels, probabilities, classes, evaluated.thresholds),
    }
    return {**common, "tuned": tuned}
