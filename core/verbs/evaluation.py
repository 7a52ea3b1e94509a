"""Ask a run: metrics on labelled data, answers to texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.data.config import DataConfig
from core.data.sources import SOURCES
from core.data.table import indicators
from core.exceptions import InputError
from core.runs.record import RunRecord
from core.runs.store import RunStore

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


def tuned_thresholds(record: RunRecord) -> dict[str, float] | None:
    """By label the threshold that a multi-label run chose on its validation split; None where it has none."""
    return record.results.get("tuned", {}).get("thresholds")


def _in_order(thresholds: Mapping[str, float], classes: Sequence[str]) -> np.ndarray:
    import numpy as np

    return np.array([thresholds.get(name, 0.5) for name in classes])


def predict(
    run: str, texts: Sequence[str] = (), *, file: Path | None = None, store: RunStore | None = None
) -> dict[str, Any]:
    """Class and probabilities of each text, in order; rows count from 0.

    With several labels per text: `labels`, those above 0.5, and `labels_tuned`, those above the thresholds that the run
    chose on its validation split, in place of `label`.

    Raises:
        InputError: no such run, no text, or a file without a `text` column.
    """
    from core.evaluation.predict import predict_texts
    from core.runs.load import load_run

    if file is not None and texts:
        raise InputError("give texts or --file, not both")
    chosen = _texts_of(file) if file is not None else list(texts)
    if not chosen:
        raise InputError("nothing to predict: give at least one text, or --file")
    loaded = load_run(store or RunStore(), run)
    record = loaded.record
    found = predict_texts(loaded.model, loaded.tokenizer, chosen, task=record.task)
    predictions = []
    for row, (text, chances) in enumerate(zip(chosen, found.probabilities, strict=True)):
        probabilities = dict(zip(record.classes, map(float, chances), strict=True))
        predictions.append({"row": row, "text": text, **answer(record, probabilities)})
    return {"run": run, "task": record.task, "predictions": predictions}


def answer(record: RunRecord, probabilities: Mapping[str, float]) -> dict[str, Any]:
    """A label, or several at 0.5 and at the run's own thresholds, and the probabilities."""
    if record.task == "single":
        return {"label": max(probabilities, key=lambda name: probabilities[name]), "probabilities": dict(probabilities)}
    limits = tuned_thresholds(record)
    said: dict[str, Any] = {"labels": [name for name, chance in probabilities.items() if chance > 0.5]}
    if limits is not None:
        said["labels_tuned"] = [name for name, chance in probabilities.items() if chance > limits.get(name, 0.5)]
    return said | {"probabilities": dict(probabilities)}


def answer_line(prediction: dict[str, Any]) -> str:
    """The label with its probability; of several all predicted ones, at the run's own thresholds if it has any."""
    said = prediction.get("labels_tuned", prediction["labels"]) if "labels" in prediction else [prediction["label"]]
    return ", ".join(f"{label} {prediction['probabilities'][label]:.3f}" for label in said) or "none of them"


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


def _texts_of(file: Path) -> list[str]:
    """A text per line, or the `text` column of a table."""
    from core.data import apart

    if file.suffix.lower() in (".txt", ""):
        from core.data import limits
        from core.data.decode import decode

        text = decode(limits.read_bytes(file), file=file.name).text
        # Not splitlines: form feeds and the like stand inside a line, for editors and `wc -l` too.
        return re.split(r"\r\n|\r|\n", text.removesuffix("\n").removesuffix("\r")) if text else []
    return apart.read_texts(file)
