"""Metrics of a run on labelled data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.data.config import DataConfig
from core.data.sources import SOURCES
from core.data.table import indicators
from core.exceptions import InputError
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.verbs.prediction import tuned_thresholds

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.evaluation.predict import Predictions
    from core.runs.load import LoadedRun

WHOLE = "all"
"""The name of the only split of a single file."""


def evaluate(
    run: str,
    *,
    data: str = "",
    split: str = "",
    rename: Mapping[str, str] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Metrics of a run on a split of its own data or of other labelled data.

    With several labels per text, metrics are those at 0.5; `tuned` has the same at the thresholds that the run chose on
    its validation split, and `confusion` is 2 × 2 for each label.

    Args:
        run: a finished run.
        data: a registered name, a folder or a file; empty: the data it was trained on.
        split: empty: test, or the whole of a single file.
        rename: label in the data → class of the run, where their names differ.
        store: where runs live.

    Raises:
        InputError: no such run or split, or a label that is no class of the run.
    """
    import numpy as np

    from core.evaluation import metrics
    from core.evaluation.predict import predict_texts
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    rows, split = _labelled_rows(loaded, data, split)
    classes, task = loaded.record.classes, loaded.record.task
    named = [(each,) if isinstance(each, str) else each for each in rows["label"]]
    numbers = _match(named, classes, rename or {})
    found = predict_texts(loaded.model, loaded.tokenizer, rows["text"].tolist(), task=task)
    common = {
        "run": run,
        "data": data or loaded.record.config.data.name,
        "split": split,
        "task": task,
        "n": len(rows),
        "labels": list(classes),
    }
    if task == "multi":
        return {**common, **_several(loaded.record, indicators(numbers, len(classes)), found)}
    if (row := next((row for row, each in enumerate(numbers) if len(each) != 1), None)) is not None:
        raise InputError(f"row {row + 1} has {len(numbers[row])} labels; this run gives each text one")
    labels = np.array([number for (number,) in numbers], dtype=np.int64)
    return {
        **common,
        "metrics": metrics.evaluate(labels, found.probabilities),
        "left_out": metrics.left_out(labels, found.probabilities),
        "per_class": metrics.per_class(labels, found.probabilities, classes),
        "confusion": metrics.confusion(labels, found.probabilities.argmax(1), len(classes)),
    }


def _several(record: RunRecord, labels: np.ndarray, found: Predictions) -> dict[str, Any]:
    """The multi-label part of `evaluate`."""
    from core.evaluation import metrics
    from core.evaluation.multilabel import confusions
    from core.evaluation.scores import HALF

    def at(thresholds: np.ndarray | float) -> dict[str, Any]:
        given = labels, found.probabilities
        return {
            "metrics": metrics.evaluate(*given, "multi", thresholds),
            "per_class": metrics.per_class(*given, record.classes, "multi", thresholds),
            "confusion": confusions(*given, record.classes, thresholds),
        }

    thresholds = tuned_thresholds(record)
    tuned = None if thresholds is None else {"thresholds": thresholds, **at(_in_order(thresholds, record.classes))}
    left_out = metrics.left_out(labels, found.probabilities, "multi")
    return {**at(HALF), "left_out": left_out, "tuned": tuned}


def _in_order(thresholds: Mapping[str, float], classes: Sequence[str]) -> np.ndarray:
    import numpy as np

    return np.array([thresholds.get(name, 0.5) for name in classes])


def _labelled_rows(loaded: LoadedRun, data: str, split: str) -> tuple[pd.DataFrame, str]:
    """Frame with `text` and `label` (a class name, or a tuple of them), and the name of the split."""
    from core.data import apart
    from core.data.load import load, path_of

    if data and data not in SOURCES and (path := path_of(data)).is_file():
        if split not in ("", WHOLE):
            raise InputError(f"--split {split}: the single file {path.name} has no splits")
        return apart.read_file(path, {}).rows, WHOLE
    dataset = load(DataConfig(name=data) if data else loaded.record.config.data)
    split = split or "test"
    if split not in dataset.splits:
        raise InputError(f"--split {split}: {dataset.name} has {', '.join(dataset.splits)}")
    rows = dataset.splits[split]
    if dataset.task == "multi":
        return rows.assign(label=rows["label"].map(lambda own: tuple(dataset.classes[each] for each in own))), split
    return rows.assign(label=[dataset.classes[label] for label in rows["label"]]), split


def _match(
    names: Sequence[tuple[str, ...]], classes: tuple[str, ...], rename: Mapping[str, str]
) -> list[tuple[int, ...]]:
    """Class numbers of the run for the label names of each row of the data."""
    strange = [new for new in rename.values() if new not in classes]
    if strange:
        raise InputError(f"--map …={strange[0]}: the run's classes are {', '.join(classes)}")
    renamed = [tuple(dict.fromkeys(rename.get(name, name) for name in row)) for row in names]
    unmatched = sorted({name for row in renamed for name in row} - set(classes))
    if unmatched:
        example = f"--map {unmatched[0]}={classes[0]}"
        rows = sum(unmatched[0] in row for row in renamed)
        raise InputError(
            f"label '{unmatched[0]}' ({rows} rows) is no class of this run "
            f"({', '.join(classes)}); say what it means, e.g. {example}"
        )
    return [tuple(classes.index(name) for name in row) for row in renamed]
