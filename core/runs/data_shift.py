"""Dataset shift: how a split, other rows or a file differ from a run's training texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core import json_store
from core.cache import get_cache_folder, keep_files, mark_used
from core.data.dataset import TEST, TRAIN, VALIDATION, Dataset, encode_targets
from core.evaluation.metrics import HALF
from core.evaluation.split_differences import (
    ComparedTexts,
    compare_split,
    find_differences,
    get_split_texts,
    to_class_matrix,
)
from core.exceptions import NotAvailable, RunDamaged
from core.fingerprint import hash_value
from core.runs.lineage import load_trained_data
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, PROBABILITY, RunRecord

if TYPE_CHECKING:
    from core.runs.load import LoadedRun

VERSION = 1  # increased when the same data give other results
SAMPLED = 2000  # rows of a file that are compared, at most


def compare_run_split(record: RunRecord, split: str, dataset: Dataset | None = None) -> dict[str, Any] | None:
    """Return how a split of a run's data differs from its training split, cached; None for the training split itself.

    Without `dataset`, the data set is read if the result is not cached; NotAvailable if it is missing.
    """
    if split == TRAIN:
        return None

    def compare() -> dict[str, Any]:
        """Compute the differences between the requested split and the training split."""
        data = dataset or load_trained_data(record)
        if split not in data.splits:
            raise NotAvailable(f"the data set has no split '{split}'")
        return compare_split(data, split)

    return _read_or_compute(record, {"split": split}, compare)


def compare_run_rows(
    record: RunRecord, dataset: Callable[[], Dataset], rows: pd.DataFrame, name: str
) -> dict[str, Any]:
    """Compare other labelled rows (labels as class numbers) with the training data of a run; `name` describes them.

    `dataset` is called, and may raise its errors, if the result is not cached.
    """
    labels, texts = encode_targets(rows, len(record.classes), record.task), rows["text"].tolist()

    def compare() -> dict[str, Any]:
        """Compute the differences between the given rows and the training split."""
        other = ComparedTexts(texts, to_class_matrix(labels, len(record.classes)))
        return find_differences(get_split_texts(dataset(), TRAIN), other, record.classes, name=name)

    return _read_or_compute(record, {"name": name, "texts": texts, "labels": labels.tolist()}, compare)


def _read_or_compute(record: RunRecord, about: dict[str, Any], compare: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    known = {"version": VERSION, "data": record.data_fingerprint, "classes": record.classes}
    path = get_cache_folder() / f"differences-{hash_value(known | about)}.json"
    try:
        found = json_store.read_tree(path)
        mark_used(path)
        if isinstance(found, dict) and isinstance(found.get("warnings"), list):
            return found
    except (FileNotFoundError, RunDamaged):
        pass
    made = compare()
    keep_files([(path, json.dumps(made, ensure_ascii=False).encode())], "differences")
    return made


class FileSample:
    """A random sample (with a seed) of the rows of a file, drawn during reading, with a run's predictions."""

    def __init__(self, loaded: LoadedRun, name: str) -> None:
        """Start an empty sample of a file's rows; `name` is the name of the file in reports."""
        self._loaded, self._name = loaded, name
        self._rows: list[tuple[str, np.ndarray]] = []
        self._passed, self._rng = 0, np.random.default_rng(0)

    def add(self, texts: Sequence[str], chances: np.ndarray) -> None:
        """Add the next rows of a file to the sample, with predicted probabilities (n, C)."""
        for row in zip(texts, chances, strict=True):
            self._passed += 1
            if len(self._rows) < SAMPLED:
                self._rows.append(row)
            elif (place := int(self._rng.integers(self._passed))) < SAMPLED:  # reservoir sampling
                self._rows[place] = row

    def compare_with_test(self) -> dict[str, Any]:
        """Compare the sampled rows with the run's test texts by predicted labels, or give the reason why not."""
        record, folder = self._loaded.record, self._loaded.folder
        there = list_evaluated_splits(folder)
        split = next((name for name in (TEST, VALIDATION) if name in there), "")
        missing = "" if split else "the run has no predictions of a test split"
        if why := explain_lacking_texts(folder, record) or missing:
            return {"name": self._name, "known": "", "measures": [], "warnings": [], "left_out": why}
        frame = read_predictions(folder / EVALUATION / split / PREDICTIONS)
        columns = [f"{PROBABILITY}{name}" for name in record.classes]
        known = ComparedTexts(frame["text"].tolist(), self._predict_labels(frame[columns].to_numpy(float)))
        texts = [text for text, _ in self._rows]
        chances = np.array([each for _, each in self._rows]).reshape(len(texts), len(record.classes))
        other, about = ComparedTexts(texts, self._predict_labels(chances)), f"the {split} split of the run"
        return find_differences(known, other, record.classes, name=self._name, known=about, learned=False)

    def _predict_labels(self, chances: np.ndarray) -> np.ndarray:
        if self._loaded.record.task == "single":
            return to_class_matrix(chances.argmax(1), chances.shape[1])
        return chances > HALF
