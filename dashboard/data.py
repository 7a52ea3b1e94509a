"""The only place with caches: results of the core, keyed by run, fingerprint and options; never by a model or a frame.

torch is imported inside the functions that look into a model, so that all other pages open without it.
"""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from core.exceptions import RunDamaged
from core.fingerprint import file_fingerprint
from core.runs import jobs
from core.runs.record import HISTORY, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.training.history import read_history
from dashboard.charts.lambdas import Line, Place
from dashboard.charts.training import Curves
from dashboard.views.lambdas import head_lines
from dashboard.views.results import Report, make_report
from dashboard.views.training import history_curves

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView
    from core.runs.load import LoadedRun

EVALUATION = "evaluation"
PREDICTIONS = "predictions.parquet"


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


def runs() -> list[RunRecord]:
    """All runs as they are on disk now, newest first."""
    return store().list()


def curves(record: RunRecord) -> tuple[Curves, int]:
    """The curves of a run so far, and how many damaged lines of its history were left out."""
    path = store().path(record.run) / HISTORY
    training, steps = record.config.training, int(record.progress.get("steps") or 0)
    return _curves(str(path), _version(path), training.epochs, training.metric, steps)


@st.cache_data(max_entries=64, show_spinner=False)
def _curves(path: str, version: str, epochs: int, metric: str, steps: int) -> tuple[Curves, int]:
    history = read_history(Path(path))
    return history_curves(history, epochs, metric, steps), history.skipped


def lambda_heads(record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    """The lambda of each head over training, where heads have their own."""
    path = store().path(record.run) / HISTORY
    return _lambda_heads(str(path), _version(path))


@st.cache_data(max_entries=64, show_spinner=False)
def _lambda_heads(path: str, version: str) -> dict[Place, tuple[Line, ...]]:
    return head_lines(read_history(Path(path)))


def evaluated_splits(run: str) -> list[str]:
    """Splits with saved predictions, in the order train, validation, test, others."""
    order = {"train": 0, "validation": 1, "test": 2}
    found = [path.parent.name for path in (store().path(run) / EVALUATION).glob(f"*/{PREDICTIONS}")]
    return sorted(found, key=lambda split: (order.get(split, 3), split))


def report(record: RunRecord, split: str) -> Report:
    """The report of a run on a split that `evaluated_splits` lists.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    path = store().path(record.run) / EVALUATION / split / PREDICTIONS
    return _report(str(path), _version(path), record.classes)


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and never changed: no copy for each visitor
def _report(path: str, version: str, classes: tuple[str, ...]) -> Report:
    try:
        saved = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    return make_report(saved, classes)


def weights_fingerprint(run: str) -> str:
    """What a model's results are keyed by; empty if the run has no weights."""
    path = store().path(run) / WEIGHTS
    version = _version(path)
    return _weights_fingerprint(str(path), version) if version else ""


@st.cache_data(max_entries=256, show_spinner=False)
def _weights_fingerprint(path: str, version: str) -> str:
    return file_fingerprint(Path(path))


def sentence(run: str, text: str) -> SentenceView:
    """The inside of a run's model for one text.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return _sentence(str(store().folder), run, weights_fingerprint(run), key, text)


@st.cache_resource(max_entries=128, show_spinner=False)  # read only; arrays of L × L are not worth copying
def _sentence(folder: str, run: str, weights: str, key: str, _text: str) -> SentenceView:
    """`key` is the text's hash: a person's text never becomes part of a cache key as it is."""
    from core.interpret.sentence import inspect_text  # torch

    loaded = _loaded(folder, run, weights)
    return inspect_text(loaded.model, loaded.tokenizer, loaded.record.classes, _text)


@st.cache_resource(max_entries=4, show_spinner=False)
def _loaded(folder: str, run: str, weights: str) -> LoadedRun:
    """One model for all visitors: nobody changes it, interventions are arguments."""
    from core.runs.load import load_run  # torch

    return load_run(RunStore(Path(folder)), run)


def _version(path: Path) -> str:
    """Changes when the file does; empty when there is none."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}"
