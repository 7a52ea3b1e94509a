"""Dataset shift: how a split or other rows differ from a run's training texts."""

import json
from collections.abc import Callable
from typing import Any

import pandas as pd

from core import json_store
from core.cache import get_cache_folder, keep_files, mark_used
from core.data.dataset import TRAIN, Dataset, encode_targets
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
from core.runs.record import RunRecord

VERSION = 1  # increased when the same data give other results


def compare_run_split(record: RunRecord, split: str, dataset: Dataset | None = None) -> dict[str, Any] | None:
    """Return how a split differs from a run's training split, cached; None: it is that, NotAvailable: no data set."""
    if split == TRAIN:
        return None

    def compare() -> dict[str, Any]:
        data = dataset or load_trained_data(record)
        if split not in data.splits:
            raise NotAvailable(f"the data set has no split '{split}'")
        return compare_split(data, split)

    return _read_or_compute(record, {"split": split}, compare)


def compare_run_rows(
    record: RunRecord, dataset: Callable[[], Dataset], rows: pd.DataFrame, name: str
) -> dict[str, Any]:
    """Compare labelled rows, called `name`, with a run's training data, cached; `dataset` is called if not cached."""
    labels, texts = encode_targets(rows, len(record.classes), record.task), rows["text"].tolist()

    def compare() -> dict[str, Any]:
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
