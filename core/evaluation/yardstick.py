"""What a bag of words reaches on a data set: the number to read every model's number against."""

from __future__ import annotations

import io
import json
import logging
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core import stored
from core.atomic import write_bytes, write_text
from core.cache import cache_folder
from core.data.table import TEST, TRAIN, VALIDATION, Dataset, targets
from core.evaluation import multilabel
from core.evaluation.kept import KeptYardstick
from core.evaluation.metrics import evaluate
from core.evaluation.predict import predict_texts
from core.evaluation.scores import HALF
from core.exceptions import RunDamaged, StorageError
from core.fingerprint import fingerprint
from core.metrics import METRICS
from core.models.config import Family
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.training.linear import SOLVERS, fit_linear

log = logging.getLogger(__name__)

MODEL: Family = "tfidf-logreg"
VERSION = 2
"""Raised whenever the same data and settings would give other numbers."""
TEXT = TextConfig(max_vocab=PRESETS[MODEL].settings["text.max_vocab"])
"""Lower-cased words and pairs found in at least two texts, whatever the run beside it reads."""


def yardstick(dataset: Dataset) -> dict[str, Any]:
    """TF-IDF of 1-2-grams with logistic regression, fitted once per data set and kept on disk.

    Of several labels per text: one regression per label against the rest.

    Returns:
        `model`, `C`, `splits` (metrics of every split but train), `phenomena` (test accuracy of each named phenomenon,
        where the data has them) and `seconds` (of the fit, when it was made); of a multi-label task also `tuned`:
        `thresholds` by label, chosen on validation, and `splits` (metrics at these).

    Raises:
        DataError: if the training split holds one class only, or no label.
    """
    path = _path(dataset.fingerprint, dataset.classes)
    known = _read(path)
    return _measured(dataset)[0] if known is None else known


def yardstick_says(fingerprint: str, classes: Sequence[str], split: str, dataset: Callable[[], Dataset]) -> np.ndarray:
    """(n, C) float64: the probabilities that the yardstick gives the texts of a split, in their order.

    Args:
        fingerprint: of the data set.
        classes: of the data set.
        split: any but train.
        dataset: loads it; called only where the yardstick is not kept, or not with its probabilities.

    Raises:
        DataError: if the training split holds one class only, or no label.
    """
    kept = _path(fingerprint, classes).with_suffix(".npz")
    try:
        with np.load(kept, allow_pickle=False) as arrays:
            return arrays[_array(split)].astype(np.float64)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        log.warning("%s cannot be read (%s); measuring again", kept, error)
    return _measured(dataset())[1][split]


def _path(data: str, classes: Sequence[str]) -> Path:
    settings = {"version": VERSION, "model": MODEL, "text": TEXT, "strengths": SOLVERS[MODEL].values}
    # With the metrics, so that a kept yardstick lacks none that came later.
    key = fingerprint({"data": data, "classes": classes, **settings, "metrics": list(METRICS)})
    return cache_folder() / f"yardstick-{key}.json"


def _array(split: str) -> str:
    return f"split {split}"  # a split may have the name of an argument of NumPy's


def _measured(dataset: Dataset) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Measure and keep what `yardstick` and `yardstick_says` tell."""
    result, said = _measure(dataset)
    path, stream = _path(dataset.fingerprint, dataset.classes), io.BytesIO()
    np.savez_compressed(stream, **{_array(name): found.astype(np.float32) for name, found in said.items()})  # type: ignore[arg-type]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path.with_suffix(".npz"), stream.getvalue())
        write_text(path, json.dumps(result))
    except (OSError, StorageError) as error:
        log.warning("the yardstick is not kept: %s", error)
    return result, said


def _measure(dataset: Dataset) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    started = time.perf_counter()
    train, validation = dataset.splits[TRAIN], dataset.splits.get(VALIDATION)
    held = train.iloc[:0] if validation is None else validation
    classes = len(dataset.classes)
    texts, held_texts = train["text"].tolist(), held["text"].tolist()
    labels, held_labels = (targets(rows, classes, dataset.task) for rows in (train, held))
    fit = fit_linear(texts, labels, held_texts, held_labels, config=TEXT, classes=classes, family=MODEL)
    said = {
        name: predict_texts(fit.model, fit.tokenizer, frame["text"].tolist(), task=dataset.task).probabilities
        for name, frame in dataset.splits.items()
        if name != TRAIN
    }
    measured = {"phenomena": _phenomena(dataset, said), "splits": _metrics(dataset, said), **_tuned(dataset, said)}
    seconds = round(time.perf_counter() - started, 2)
    return {"model": MODEL, **fit.settings, **measured, "seconds": seconds}, said


def _metrics(
    dataset: Dataset, said: Mapping[str, np.ndarray], thresholds: np.ndarray | float = HALF
) -> dict[str, dict[str, float]]:
    """By split."""
    return {
        name: evaluate(dataset.targets(name), found, dataset.task, thresholds, ordered=dataset.ordered)
        for name, found in said.items()
    }


def _phenomena(dataset: Dataset, said: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Test accuracy of each named phenomenon, where texts have one label."""
    test = dataset.splits.get(TEST)
    if dataset.task == "multi" or test is None or "phenomenon" not in test:
        return {}
    correct = pd.Series(said[TEST].argmax(1) == dataset.targets(TEST))
    by_name = correct.groupby(test["phenomenon"].to_numpy()).mean()
    return {str(each): float(share) for each, share in by_name.items()}


def _tuned(dataset: Dataset, said: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Of several labels per text what their own thresholds change."""
    if dataset.task == "single" or VALIDATION not in said:
        return {}
    limits = multilabel.tuned_thresholds(dataset.targets(VALIDATION), said[VALIDATION])
    named = dict(zip(dataset.classes, map(float, limits), strict=True))
    return {"tuned": {"thresholds": named, "splits": _metrics(dataset, said, limits)}}


def _read(path: Path) -> dict[str, Any] | None:
    """A kept result; None if there is none or it is damaged, so that it is made anew."""
    try:
        return {**stored.read(path, KeptYardstick)}
    except FileNotFoundError:
        return None
    except RunDamaged as error:
        log.warning("%s; measuring again", error)
        return None
