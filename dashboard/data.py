"""The only place with caches: results of the core, keyed by run, fingerprint and options; never by a model or a frame.

torch is imported inside the functions that look into a model, so that all other pages open without it; pandas where
a table is read, so that the first page shows its head before that.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among, project
from core.exceptions import RunDamaged
from core.fingerprint import file_fingerprint, file_version, fingerprint
from core.runs import jobs, projections, sweep
from core.runs.predictions import read_predictions
from core.runs.record import CHECKPOINT, EVALUATION, HISTORY, PREDICTIONS, RECORD, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.runs.sweep import Plan
from core.training.history import read_history
from dashboard.figures.curves import Curves, history_curves, shown_metric, steps_per_epoch
from dashboard.figures.edits import UNCHANGED, Edits
from dashboard.figures.theme import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView
    from core.runs.load import LoadedRun
    from dashboard.figures.curves import Line, NumberLine, Place
    from dashboard.figures.decisions import Floats, Integers, Report


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


def drawn_runs(records: Sequence[RunRecord], tokens: Tokens) -> pd.DataFrame:
    """The table of all runs with its small pictures, drawn anew only where a record or a history has changed."""
    runs = store()
    folders = [(record, runs.path(record.run)) for record in records]
    versions = [
        (record.run, record.status, file_version(path / RECORD), file_version(path / HISTORY))
        for record, path in folders
    ]
    return _drawn_runs(str(runs.folder), fingerprint(versions), tokens, records)


@st.cache_resource(max_entries=4, show_spinner=False)
def _drawn_runs(folder: str, versions: str, tokens: Tokens, _records: Sequence[RunRecord]) -> pd.DataFrame:
    from dashboard.figures.runs import drawn_runs  # pandas

    return drawn_runs(_records, [None if one.status == "damaged" else curves(one)[0] for one in _records], tokens)


def runs_with_weights() -> list[RunRecord]:
    """The runs whose models can be asked, newest first."""
    runs = store()
    return [record for record in runs.list() if (runs.path(record.run) / WEIGHTS).is_file()]


def sweep_table(
    plan: Plan, version: str, metrics: tuple[str, ...] = (), baseline: str = "", *, tests: bool = True
) -> dict[str, Any]:
    """The table of a sweep as `core.runs.sweep_table.table` gives it; `version` changes when a member ends.

    Raises:
        InputError: no such baseline.
    """
    return _sweep_table(str(store().folder), plan.name, plan.created, version, metrics, baseline, tests)


@st.cache_data(max_entries=32, show_spinner="Comparing the runs")
def _sweep_table(
    folder: str, name: str, created: str, version: str, metrics: tuple[str, ...], baseline: str, tests: bool
) -> dict[str, Any]:
    from core.runs.sweep_table import table  # pandas

    runs = RunStore(Path(folder))
    return table(runs, sweep.read(runs, name), metrics=metrics, baseline=baseline, tests=tests)


def has_checkpoint(run: str) -> bool:
    """Whether a training that ended early can go on where it was."""
    return (store().path(run) / CHECKPOINT).is_dir()


def curves(record: RunRecord) -> tuple[Curves, int]:
    """The curves of a run so far, and how many damaged lines of its history were left out."""
    path = store().path(record.run) / HISTORY
    training, steps = record.config.training, int(record.progress.get("steps") or 0)
    rows = int(record.progress.get("rows", {}).get("validation") or 0)
    metric = shown_metric(training.metric, record.task)
    return _curves(str(path), file_version(path), training.epochs, metric, steps, rows)


@st.cache_resource(max_entries=1024, show_spinner=False)  # never changed: no copy for each of hundreds of runs
def _curves(path: str, version: str, epochs: int, metric: str, steps: int, rows: int) -> tuple[Curves, int]:
    history = read_history(Path(path))
    return history_curves(history, epochs, metric, steps, rows), history.skipped


def learned_numbers(record: RunRecord) -> dict[str, list[NumberLine]]:
    """The course of every other learned number (temperatures, factors, gates) over training, by its sign."""
    path = store().path(record.run) / HISTORY
    steps = int(record.progress.get("steps") or 0)
    return _learned_numbers(str(path), file_version(path), record.config.training.epochs, steps)


@st.cache_data(max_entries=64, show_spinner=False)
def _learned_numbers(path: str, version: str, epochs: int, steps: int) -> dict[str, list[NumberLine]]:
    from dashboard.figures.curves import number_lines  # pandas

    history = read_history(Path(path))
    return number_lines(history, steps_per_epoch(history, epochs, steps))


def lambda_heads(record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    """The lambda of each head over training, where heads have their own."""
    path = store().path(record.run) / HISTORY
    return _lambda_heads(str(path), file_version(path))


@st.cache_data(max_entries=64, show_spinner=False)
def _lambda_heads(path: str, version: str) -> dict[Place, tuple[Line, ...]]:
    from dashboard.figures.curves import head_lines  # pandas

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
    return _report(str(path), file_version(path), record.classes)


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and never changed: no copy for each visitor
def _report(path: str, version: str, classes: tuple[str, ...]) -> Report:
    from dashboard.figures.decisions import make_report

    return make_report(read_predictions(Path(path)), classes)


def embedded_splits(run: str) -> list[str]:
    """Evaluated splits whose embeddings are kept."""
    folder = store().path(run) / EVALUATION
    return [split for split in evaluated_splits(run) if (folder / split / projections.EMBEDDINGS).is_file()]


def points(record: RunRecord, split: str) -> pd.DataFrame:
    """What is known of each sentence of a split; read only.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    path = store().path(record.run) / EVALUATION / split / PREDICTIONS
    return _points(str(path), file_version(path), record.classes)


@st.cache_resource(max_entries=8, show_spinner=False)
def _points(path: str, version: str, classes: tuple[str, ...]) -> pd.DataFrame:
    from dashboard.figures.points import points_frame

    try:
        return points_frame(read_predictions(Path(path)), classes)
    except ValueError as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error


def map_files(run: str, split: str, config: ProjectionConfig) -> projections.MapFiles:
    """Where a map of this split is kept, or will be."""
    folder = store().path(run) / EVALUATION / split
    versions = file_version(folder / projections.EMBEDDINGS), file_version(folder / PREDICTIONS)
    return _map_files(str(store().path(run).parent), run, split, config, versions)


@st.cache_data(max_entries=256, show_spinner=False)
def _map_files(
    folder: str, run: str, split: str, config: ProjectionConfig, versions: tuple[str, str]
) -> projections.MapFiles:
    return projections.map_files(RunStore(Path(folder)), run, split, config)


def projection(record: RunRecord, files: projections.MapFiles) -> Projection | None:
    """PCA at once; any other map only if it has been computed.

    Raises:
        RunDamaged: the embeddings, or the map, cannot be read.
        InputError: there are too few embeddings for a map.
    """
    if files.config.method == "pca":
        return _pca_map(files, record.classes)
    return _saved_map(files, file_version(files.path("npy")), file_version(files.path("json")))


@st.cache_resource(max_entries=8, show_spinner=False)
def _saved_map(files: projections.MapFiles, table: str, about: str) -> Projection | None:
    return projections.read(files)


@st.cache_resource(max_entries=8, show_spinner=False)
def _pca_map(files: projections.MapFiles, classes: tuple[str, ...]) -> Projection:
    return project(*_vectors(files, classes), files.config)


@st.cache_resource(max_entries=4, show_spinner=False)
def _vectors(files: projections.MapFiles, classes: tuple[str, ...]) -> tuple[Floats, Integers]:
    return projections.read_vectors(files.run, files.split, classes)


def width(record: RunRecord, files: projections.MapFiles) -> int:
    """Dimensions of the original space."""
    return int(_vectors(files, record.classes)[0].shape[1])


def place(record: RunRecord, files: projections.MapFiles, made: Projection, text: str) -> Floats:
    """Where a typed text lies on a map: exactly for PCA, else among its nearest neighbours in the original space.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    vector = _pooled(str(store().path(record.run).parent), record.run, weights_fingerprint(record.run), key, text)
    vectors = _vectors(files, record.classes)[0]
    if files.config.method == "pca":
        return fit_pca(vectors, files.config.dimensions).transform(vector[None])[0]
    return place_among(vector, vectors[made.rows], made.places)[0]


@st.cache_data(max_entries=128, show_spinner=False)
def _pooled(folder: str, run: str, weights: str, key: str, _text: str) -> Floats:
    from core.evaluation.predict import predict_texts  # torch

    loaded = _loaded(folder, run, weights)
    return predict_texts(loaded.model, loaded.tokenizer, [_text]).pooled[0]


def weights_fingerprint(run: str) -> str:
    """What a model's results are keyed by; empty if the run has no weights."""
    path = store().path(run) / WEIGHTS
    version = file_version(path)
    return _weights_fingerprint(str(path), version) if version else ""


@st.cache_data(max_entries=256, show_spinner=False)
def _weights_fingerprint(path: str, version: str) -> str:
    return file_fingerprint(Path(path))


def sentence(run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
    """The inside of a run's model for one text, as trained or with changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return _sentence(str(store().path(run).parent), run, weights_fingerprint(run), key, edits, text)


@st.cache_resource(max_entries=48, show_spinner=False)  # read only; arrays of L × L are not worth copying
def _sentence(folder: str, run: str, weights: str, key: str, edits: Edits, _text: str) -> SentenceView:
    """`key` is the text's hash: a person's text never becomes part of a cache key as it is."""
    from core.interpret.sentence import inspect_text  # torch
    from core.models.trace import Intervention

    loaded = _loaded(folder, run, weights)
    change = Intervention(edits.lambdas, frozenset(edits.heads_off), frozenset(edits.components_off))
    intervene = change if edits else None
    record = loaded.record
    return inspect_text(loaded.model, loaded.tokenizer, record.classes, _text, task=record.task, intervene=intervene)


@st.cache_resource(max_entries=4, show_spinner=False)
def _loaded(folder: str, run: str, weights: str) -> LoadedRun:
    """One model for all visitors: nobody changes it, interventions are arguments."""
    import torch

    from core.runs.load import load_run

    torch.set_num_threads(1)  # one sentence is too little to share: threads waiting for each other cost far more
    return load_run(RunStore(Path(folder)), run)
