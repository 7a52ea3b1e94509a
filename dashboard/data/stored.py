"""What lies on disk, looked up anew each time, and what everything that is kept of it is known by."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path

import streamlit as st

from core.fingerprint import file_fingerprint, file_version
from core.runs import jobs
from core.runs.predictions import lacks_texts as lacking
from core.runs.record import CHECKPOINT, EVALUATION, PREDICTIONS, WEIGHTS, RunRecord
from core.runs.store import RunStore
from dashboard.figures.files import Files


@st.cache_resource
def freeze_once() -> None:
    """Put everything imported so far out of the garbage collector's sight: full collections get short."""
    gc.collect()
    gc.freeze()


@st.cache_resource
def adopt_once() -> None:
    """After a restart of the server: runs that wait or died are found again."""
    jobs.adopt(store())


def store() -> RunStore:
    """Where the runs are; looked up anew each time, it holds no state."""
    return RunStore()


def store_in(folder: str) -> RunStore:
    """The store of this folder, with the starters where it is the usual one."""
    return store() if str(store().folder) == folder else RunStore(Path(folder))


def runs() -> list[RunRecord]:
    """All runs as they are on disk now, newest first."""
    return store().list()


def runs_with_weights() -> list[RunRecord]:
    """The runs whose models can be asked about whole texts, newest first."""
    runs = store()
    there = [record for record in runs.list() if record.task != "tokens"]
    return [record for record in there if (runs.path(record.run) / WEIGHTS).is_file()]


def has_checkpoint(run: str) -> bool:
    """Whether a training run that ended early can go on where it was."""
    return (store().path(run) / CHECKPOINT).is_dir()


def evaluated_splits(run: str) -> list[str]:
    """Splits with saved predictions, in the order train, validation, test, others."""
    return Files(store()).evaluated_splits(run)


def lacks_texts(record: RunRecord) -> str:
    """Why the texts of a run cannot be shown here, and what to do; empty: they can."""
    return lacking(store().path(record.run), record)


def predictions(record: RunRecord, split: str) -> tuple[str, str]:
    """The file with what a run says of a split, and its version."""
    path = store().path(record.run) / EVALUATION / split / PREDICTIONS
    return str(path), file_version(path)


def files_above(path: str, folders: int) -> Files:
    """The store whose run holds this file, so many folders above it."""
    return Files(RunStore(Path(path).parents[folders]))


def hashed(typed: object) -> str:
    """What a cache knows by which a person typed: that never becomes part of a key as it is."""
    return hashlib.sha256(repr(typed).encode("utf-8", "surrogatepass")).hexdigest()


def weights_fingerprint(run: str) -> str:
    """What a model's results are keyed by; empty if the run has no weights."""
    path = store().path(run) / WEIGHTS
    version = file_version(path)
    # That is known last, when the weights have long been read by somebody who could not wait.
    return f"{_weights_fingerprint(str(path), version)} {store().read(run).answering}" if version else ""


@st.cache_data(max_entries=256, show_spinner=False)
def _weights_fingerprint(path: str, version: str) -> str:
    return file_fingerprint(Path(path))
