"""Answers of a run to texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.exceptions import InputError
from core.runs.record import RunRecord
from core.runs.store import RunStore


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


def tuned_thresholds(record: RunRecord) -> dict[str, float] | None:
    """By label the threshold that a multi-label run chose on its validation split; None where it has none."""
    return record.tuned_thresholds


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
