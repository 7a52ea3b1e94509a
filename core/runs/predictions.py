"""Stored predictions of a run on a split, validated when read, as an imported file may be wrong."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from core import data
from core.exceptions import DataError, InputError, NotAvailable, RunDamaged, RunNotFound
from core.runs.record import EMBEDDINGS, EVALUATION, LABEL, PREDICTIONS, PROBABILITY, RunRecord, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def list_evaluated_splits(run: Path) -> list[str]:
    """List the splits for which a run directory has predictions, in alphabetical order."""
    return sorted(path.parent.name for path in (run / EVALUATION).glob(f"*/{PREDICTIONS}"))


def choose_split(store: RunStore, run: str, split: str) -> str:
    """Return the given split if the run has predictions on it; if empty, test or the last evaluated split."""
    splits = list_evaluated_splits(store.get_path(run))
    refuse_tagged(store.read(run))
    chosen = split or ("test" if "test" in splits else next(reversed(splits), ""))
    if chosen not in splits:
        found = ", ".join(splits) or "none: it is not evaluated yet"
        raise InputError(f"run '{run}' has no predictions{f' of a split {split!r}' * bool(split)}; it has {found}")
    return chosen


def refuse_misfit(frame: pd.DataFrame, classes: Sequence[str]) -> NoReturn:
    """Raise RunDamaged with the reason why a predictions table does not fit a run with these classes."""
    lacking = [name for name in classes if f"{PROBABILITY}{name}" not in frame]
    why = "a column is missing or holds something else"
    if lacking:
        why = f"they have none of the class {lacking[0]!r:.60}"
    raise RunDamaged(f"the saved predictions do not fit the classes of the run: {why}")


def read_predictions(path: Path) -> pd.DataFrame:
    """Read the stored predictions of a split as a table; RunDamaged: the file cannot be read.

    If the run stores no texts, they are read from its data set; without the data set they are placeholders.
    """
    try:
        table = data.parquet.read_parquet(path)
    except DataError as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    if "text" in table:
        return table
    try:
        return _join_texts(path, table)
    except (NotAvailable, RunNotFound):
        absent = [f"(row {row} of {path.parent.name}: its text is not kept with this run)" for row in range(len(table))]
        table.insert(min(1, len(table.columns)), "text", absent)
        return table


def explain_lacking_texts(folder: Path, record: RunRecord) -> str:
    """Explain why the texts of a run cannot be shown on this machine, and what to do; empty if they can."""
    if record.config.data.texts:
        return ""
    try:
        for split in list_evaluated_splits(folder):
            _read_texts(folder, split)
    except (NotAvailable, RunNotFound) as error:
        return f"It was made without its texts, and {error}; with the data set here they are shown again"
    return ""


def _join_texts(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """Add texts and data columns to predictions stored without texts; NotAvailable: no data set, or it changed."""
    from core.runs.results import select_own_columns

    rows = _read_texts(path.parents[2], path.parent.name)
    if len(rows) != len(table):
        raise NotAvailable(f"{path}: {len(table)} predictions, but {len(rows)} rows in the data set")
    table.insert(1, "text", rows["text"].to_numpy())
    return table.assign(**select_own_columns(rows, set(table.columns)))


@functools.lru_cache(maxsize=8)
def _read_texts(folder: Path, split: str) -> pd.DataFrame:
    from core.runs.train_overlap import load_trained_data

    splits = load_trained_data(RunStore(folder.parent).read(folder.name)).splits
    if split not in splits:
        raise NotAvailable(f"the data set has no split '{split}'")
    return splits[split]


def list_embedded_splits(store: RunStore, run: str) -> list[str]:
    """List the splits of a run whose embeddings are stored, in alphabetical order."""
    found = (store.get_path(run) / EVALUATION).glob(f"*/{EMBEDDINGS}")
    return sorted(path.parent.name for path in found if (path.parent / PREDICTIONS).is_file())


def read_vectors(run: Path, split: str, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return a split's text embeddings (n, d) and true class numbers (n,), or (n, C) zeros and ones for multi-label.

    Raises RunDamaged if a file is incomplete, or the files do not belong together.
    """
    import numpy as np

    path = run / EVALUATION / split / EMBEDDINGS
    try:
        vectors = np.load(path, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    table = run / EVALUATION / split / PREDICTIONS
    try:
        said, bits = read_predictions(table), [f"{LABEL}{name}" for name in classes]
        multi = set(bits) <= set(said.columns)
        labels = said[bits if multi else ["label"]]
        if not multi:
            labels = labels["label"].map({name: number for number, name in enumerate(classes)}).to_frame()
    except (ValueError, KeyError) as error:
        raise RunDamaged(f"{table}: cannot be read: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(labels) or labels.isna().to_numpy().any():
        raise RunDamaged(f"{path}: does not fit {len(labels)} predictions of the classes {', '.join(classes)}")
    found = labels.to_numpy(np.int64)
    return vectors, found if multi else found[:, 0]
