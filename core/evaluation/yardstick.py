"""What a bag of words reaches on a data set: the number to read every model's number against."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd

from core.atomic import write_text
from core.data.table import TEST, TRAIN, VALIDATION, Dataset
from core.evaluation.metrics import evaluate
from core.evaluation.predict import predict_texts
from core.exceptions import NotAvailable, StorageError
from core.fingerprint import fingerprint
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.training.linear import STRENGTHS, fit_linear

log = logging.getLogger(__name__)

MODEL = "tfidf-logreg"
VERSION = 1
"""Raised whenever the same data and settings would give other numbers."""
TEXT = TextConfig(max_vocab=PRESETS[MODEL].settings["text.max_vocab"])
"""Lower-cased words and pairs found in at least two texts, whatever the run beside it reads."""


def yardstick(dataset: Dataset) -> dict[str, Any]:
    """TF-IDF of 1-2-grams with logistic regression, fitted once per data set and kept on disk.

    Returns:
        `model`, `C`, `splits` (metrics of every split but train), `phenomena` (test accuracy of each named phenomenon,
        where the data has them) and `seconds` (of the fit, when it was made).

    Raises:
        NotAvailable: for a multi-label data set.
        DataError: if the training split holds one class only.
    """
    if dataset.task != "single":
        raise NotAvailable("the TF-IDF yardstick needs one label per text; this data set has several")
    path = cache_folder() / f"yardstick-{_key(dataset)}.json"
    known = _read(path)
    if known is not None:
        return known
    result = _measure(dataset)
    _write(path, result)
    return result


def cache_folder() -> Path:
    """SENTISCOPE_CACHE, else ~/.cache/sentiscope."""
    chosen = os.environ.get("SENTISCOPE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "sentiscope"


def _key(dataset: Dataset) -> str:
    settings = {"version": VERSION, "model": MODEL, "text": TEXT, "strengths": STRENGTHS}
    return fingerprint({"data": dataset.fingerprint, "classes": dataset.classes, **settings})


def _measure(dataset: Dataset) -> dict[str, Any]:
    started = time.perf_counter()
    train, validation = dataset.splits[TRAIN], dataset.splits.get(VALIDATION)
    held = train.iloc[:0] if validation is None else validation
    fit = fit_linear(
        train["text"].tolist(),
        train["label"].to_numpy(),
        held["text"].tolist(),
        held["label"].to_numpy(),
        config=TEXT,
        classes=len(dataset.classes),
    )
    splits, phenomena = {}, {}
    for name, frame in dataset.splits.items():
        if name == TRAIN:
            continue
        probabilities = predict_texts(fit.model, fit.tokenizer, frame["text"].tolist()).probabilities
        splits[name] = evaluate(frame["label"].to_numpy(), probabilities)
        if name == TEST and "phenomenon" in frame:
            correct = pd.Series(probabilities.argmax(1) == frame["label"].to_numpy())
            by_name = correct.groupby(frame["phenomenon"].to_numpy()).mean()
            phenomena = {str(each): float(share) for each, share in by_name.items()}
    return {
        "model": MODEL,
        "C": fit.strength,
        "splits": splits,
        "phenomena": phenomena,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _read(path: Path) -> dict[str, Any] | None:
    """A kept result; None if there is none or it is damaged, so that it is made anew."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s); measuring again", path, error)
        return None
    complete = isinstance(result, dict) and {"model", "C", "splits", "phenomena", "seconds"} <= set(result)
    return result if complete else None


def _write(path: Path, result: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(result))
    except (OSError, StorageError) as error:
        log.warning("the yardstick is not kept: %s", error)
