"""The only place with caches: what the core knows, keyed by run or data set, version and options, never by a frame.

Runs and data sets are read by `dashboard.figures.files` and `core.data`; here stands how long what was read is kept.
torch is imported inside the functions that look into a model, so that all other pages open without it; pandas where
a table is read, so that the first page shows its head before that.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import streamlit as st

from core.data import library
from core.data.config import DataConfig
from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among, project
from core.exceptions import NotAvailable, SentiscopeError
from core.fingerprint import file_fingerprint, file_version, fingerprint
from core.interpret.edits import UNCHANGED, Edits
from core.interpret.watched import OnProgress, Watched, silent
from core.models.provides import provides
from core.runs import efficiency as costs
from core.runs import jobs, projections, sweep
from core.runs.efficiency import Efficiency
from core.runs.predictions import lacks_texts as lacking
from core.runs.record import CHECKPOINT, EVALUATION, HISTORY, METRICS, PREDICTIONS, RECORD, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.runs.sweep import Plan
from core.text.config import TextConfig
from dashboard.figures.drawing import Component, Drawing, Kept
from dashboard.figures.figure import Figure, Shape
from dashboard.figures.files import Files
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

    from core.behaviour.judge import Judged
    from core.behaviour.suite import Suite
    from core.data.inspect import FileReport
    from core.data.table import Dataset
    from core.failures.chosen import Group
    from core.failures.codes import Codes
    from core.failures.selection import Selected, Selection
    from core.interpret.belief import Own
    from core.interpret.believed import Belief
    from core.interpret.distance import Reach
    from core.interpret.explain import Methods
    from core.interpret.flip import Search
    from core.interpret.lambdas import LambdaCurves
    from core.interpret.parts import Parts
    from core.interpret.patch import Patches
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Steps
    from core.interpret.templates import Step
    from core.runs.judged import Offered
    from core.runs.load import LoadedRun
    from core.runs.sides import Sides
    from core.text.tokenizer import Tokenizer
    from dashboard.figures.analysis import Analysis, Known
    from dashboard.figures.boards import Board
    from dashboard.figures.curves import Curves, Line, NumberLine, Place
    from dashboard.figures.decisions import Floats, Integers, Report
    from dashboard.figures.errors import Detail
    from dashboard.figures.pushed import Pushed


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


def boards(records: Sequence[RunRecord], metric: str) -> list[Board]:
    """Every data set with its models, ordered by a metric; shared, nobody changes them."""
    return _boards(*_records(records), metric, records)


def _records(records: Sequence[RunRecord]) -> tuple[str, str]:
    """The folder, and what changes when a record or a history does."""
    runs = store()
    paths = [(record, runs.path(record.run)) for record in records]
    found = [(one.run, one.status, file_version(path / RECORD), file_version(path / HISTORY)) for one, path in paths]
    return str(runs.folder), fingerprint(found)


@st.cache_resource(max_entries=16, show_spinner=False)
def _boards(folder: str, versions: str, metric: str, _records: Sequence[RunRecord]) -> list[Board]:
    from dashboard.figures.boards import boards

    return boards(_records, metric)


def models_table(board: Board, groups: Sequence[Sequence[str]], ticked: Sequence[str], look: Look) -> Component:
    """The table of a board's models, to be ticked and picked; shared, nobody changes it."""
    records = [record for entry in board.entries for record in entry.model.records]
    chosen = fingerprint([board.name, groups, ticked])
    return _models_table(*_records(records), board.metric, chosen, look, board, groups, ticked)


@st.cache_resource(max_entries=64, show_spinner=False)
def _models_table(
    folder: str,
    versions: str,
    metric: str,
    chosen: str,
    look: Look,
    _board: Board,
    _groups: Sequence[Sequence[str]],
    _ticked: Sequence[str],
) -> Component:
    from dashboard.figures.marks_drawing import component
    from dashboard.figures.runs import models_table

    lines = {entry.record.run: curves(entry.record)[0] for entry in _board.measured}
    table = models_table(_board, lines, _groups, look.tokens)
    return component(table, look, picks=True, tick="compare", ticked=_ticked)


def test_rows(record: RunRecord) -> int:
    """Texts of the test split that a run was measured on; 0 where it was not."""
    path = store().path(record.run) / EVALUATION / "test" / METRICS
    return _test_rows(str(path), file_version(path))


@st.cache_data(max_entries=256, show_spinner=False)
def _test_rows(path: str, version: str) -> int:
    return Files.rows(Path(path)) if version else 0


def efficiency(record: RunRecord) -> Efficiency:
    """What a run costs, as far as it is known on this machine."""
    runs = store()
    versions = file_version(runs.path(record.run) / RECORD), costs.version(runs, record.run)
    return _efficiency(str(runs.path(record.run)), versions, record)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _efficiency(path: str, versions: tuple[str, str], _record: RunRecord) -> Efficiency:
    return costs.efficiency(store(), _record)


@dataclass
class Ties:
    """Which models of a board cannot be told apart; filled by the first visitor whose page has been drawn without."""

    groups: list[list[int]] | None = None
    """Places of the models that were measured; None before it has been tested."""
    reason: str = ""
    """Why nothing could be tested."""


def ties(board: Board) -> Ties:
    """What is known so far; `test_ties` finds out."""
    runs = store()
    models = [[record.run for record in entry.model.runs.values()] for entry in board.measured]
    files = [runs.path(run) / EVALUATION / "test" / PREDICTIONS for model in models for run in model]
    return _ties(str(runs.folder), board.metric, fingerprint([models, [file_version(file) for file in files]]))


@st.cache_resource(max_entries=64, show_spinner=False)
def _ties(folder: str, metric: str, versions: str) -> Ties:
    return Ties()


_testing = threading.Lock()
"""One visitor tests; the others find it done."""


def test_ties(board: Board) -> None:
    """Test every pair of a board's models, seconds where they are many, and keep what comes out."""
    from core.runs.ties import ties as tested  # SciPy

    with _testing:
        found = ties(board)
        if found.groups is not None:
            return
        models = [[record.run for record in entry.model.runs.values()] for entry in board.measured]
        try:
            groups = tested(store(), models, board.metric) if len(models) > 1 else []
        except SentiscopeError as error:
            groups, found.reason = [], str(error)
        found.groups = groups


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
    """Whether a training run that ended early can go on where it was."""
    return (store().path(run) / CHECKPOINT).is_dir()


def curves(record: RunRecord) -> tuple[Curves, int]:
    """The curves of a run so far, and how many damaged lines of its history were left out."""
    return _curves(*_history(record), record)


def _history(record: RunRecord) -> tuple[str, str, str]:
    """The file, its version, and what else changes how it is read."""
    path, chosen, progress = store().path(record.run) / HISTORY, record.config.training, record.progress
    return (
        str(path),
        file_version(path),
        f"{chosen.epochs} {chosen.metric} {progress.get('steps')} {progress.get('rows')}",
    )


@st.cache_resource(max_entries=1024, show_spinner=False)  # never changed: no copy for each of hundreds of runs
def _curves(path: str, version: str, settings: str, _record: RunRecord) -> tuple[Curves, int]:
    return _files_of(path, 1).curves(_record)


def _files_of(path: str, above: int) -> Files:
    """The store whose run holds this file, so many folders `above` it."""
    return Files(RunStore(Path(path).parents[above]))


def learned_numbers(record: RunRecord) -> dict[str, list[NumberLine]]:
    """The course of every other learned number (temperatures, factors, gates) over training, by its sign."""
    return _learned_numbers(*_history(record), record)


@st.cache_resource(max_entries=64, show_spinner=False)
def _learned_numbers(path: str, version: str, settings: str, _record: RunRecord) -> dict[str, list[NumberLine]]:
    return _files_of(path, 1).learned_numbers(_record)


def lambda_heads(record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    """The lambda of each head over training, where heads have their own."""
    return _lambda_heads(*_history(record), record)


@st.cache_resource(max_entries=64, show_spinner=False)
def _lambda_heads(path: str, version: str, settings: str, _record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    return _files_of(path, 1).lambda_heads(_record)


def drawn(figure: Figure[Shape], source: Source, look: Look) -> tuple[Shape, Drawing]:
    """The shape of a figure of one run and its drawing; both are shared, nobody changes them.

    Raises:
        NotAvailable: this run has nothing of the kind.
    """
    runs = store()
    folders = [runs.path(record.run) for record in (source.record, *source.others)]
    files = (RECORD, HISTORY, WEIGHTS, f"{EVALUATION}/{source.split}/{PREDICTIONS}")
    versions = tuple(each for path in folders for each in (str(path), *(file_version(path / name) for name in files)))
    key = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
    made: tuple[Shape, Drawing] = _drawn(
        figure.name, versions, source.split, key, source.edits, figure.chosen(source), look, figure, source
    )
    return made


@st.cache_resource(max_entries=256, show_spinner=False)
def _drawn(
    name: str,
    versions: tuple[str, ...],
    split: str,
    text: str,
    edits: Edits,
    chosen: tuple[str, ...],
    look: Look,
    _figure: Figure[Any],
    _source: Source,
) -> tuple[Any, Drawing]:
    shape = _figure.shape(_source)
    drawing = _figure.draw(shape, look)
    return shape, Kept(drawing) if isinstance(drawing, go.Figure) else drawing


def sides(runs: Sequence[str], split: str) -> Sides:
    """Several runs with what they say of the rows of a split that all have.

    Raises:
        InputError: they have other rows or classes, or one is not finished.
    """
    return _sides(*_answered(runs, split), split)


def _answered(runs: Sequence[str], split: str) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The folder, and the runs with the versions of what they say."""
    records = [store().read(run) for run in runs]
    return str(store().folder), tuple((each.run, *_predictions(each, split)) for each in records)


@st.cache_resource(max_entries=8, show_spinner=False)
def _sides(folder: str, versions: tuple[tuple[str, str, str], ...], split: str) -> Sides:
    return Files(_store(folder)).sides([run for run, _, _ in versions], split)


def compared(runs: Sequence[str], split: str, metric: str) -> dict[str, Any]:
    """Every pair of them by a metric, as `core.runs.comparison.compare` gives it; read only.

    Raises:
        InputError: they cannot be compared by it.
    """
    return _compared(*_answered(runs, split), split, metric)


@st.cache_resource(max_entries=64, show_spinner="Comparing the runs")
def _compared(folder: str, versions: tuple[tuple[str, str, str], ...], split: str, metric: str) -> dict[str, Any]:
    from core.runs.comparison import compare  # pandas

    return compare(_sides(folder, versions, split), metrics=[metric])


def _store(folder: str) -> RunStore:
    """The store of this folder, with the starters where it is the usual one."""
    return store() if str(store().folder) == folder else RunStore(Path(folder))


def evaluated_splits(run: str) -> list[str]:
    """Splits with saved predictions, in the order train, validation, test, others."""
    return Files(store()).evaluated_splits(run)


def lacks_texts(record: RunRecord) -> str:
    """Why the texts of a run cannot be shown here, and what to do; empty: they can."""
    return lacking(store().path(record.run), record)


def report(record: RunRecord, split: str) -> Report:
    """The report of a run on a split that `evaluated_splits` lists.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    return _report(*_predictions(record, split), split, record.classes, record)


def _predictions(record: RunRecord, split: str) -> tuple[str, str]:
    path = store().path(record.run) / EVALUATION / split / PREDICTIONS
    return str(path), file_version(path)


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and never changed: no copy for each visitor
def _report(path: str, version: str, split: str, classes: tuple[str, ...], _record: RunRecord) -> Report:
    return _files_of(path, 3).report(_record, split)


def known(record: RunRecord, split: str) -> Known:
    """What is known of the rows of a split for Errors; its tags as far as they have been found.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    model = file_version(store().path(record.run) / WEIGHTS)
    return _known(*_predictions(record, split), model, split, record)


@st.cache_resource(max_entries=8, show_spinner=False)
def _known(path: str, version: str, model: str, split: str, _record: RunRecord) -> Known:
    from dashboard.figures.analysis import make_known

    return make_known(RunStore(Path(path).parents[3]), _record, split)


def analysis(record: RunRecord, split: str, select: str, author: str = "") -> Analysis:
    """The rows of a split that a selection has, with the codes that an author may see; read only.

    Raises:
        InputError: a rule is not understood, or the sentences are not kept any more.
        RunDamaged: the predictions, or what was kept, cannot be read.
    """
    from dashboard.figures.analysis import analyse

    return analyse(known(record, split), select, store(), codes(record).coded().seen_by(author))


def codes(record: RunRecord) -> Codes:
    """The codebook of a run's data set and what was said with it; every look at it is a look at the disk."""
    from core.failures.codes import Codes, data_of

    return Codes(store().folder, data_of(record))


_asking = threading.Lock()
"""One thread asks; whoever comes later finds it at work."""


@dataclass
class Finding:
    """Tags that a thread finds, for all who want to know."""

    error: Exception | None = None
    thread: threading.Thread | None = None


@st.cache_resource(max_entries=8, show_spinner=False)
def _finding(path: str, version: str, model: str, split: str) -> Finding:
    return Finding()


def find_tags(record: RunRecord, split: str, patience: float) -> Finding | None:
    """Begin to find the tags of a split, if nobody has, and wait so many seconds; None: they are there.

    Raises:
        Exception: what finding them raised.
    """
    model, wanted = file_version(store().path(record.run) / WEIGHTS), known(record, split)
    if wanted.whole:
        return None
    finding = _finding(*_predictions(record, split), model, split)

    def prepare() -> None:
        _ = wanted.phrases, wanted.groups
        pooled = (
            _loaded_of(record.run).predict([""]).pooled if model and "pooled" in provides(record.config.model) else None
        )
        with contextlib.suppress(NotAvailable):
            wanted.nearest.prepare(0 if pooled is None else pooled.shape[1])

    def find() -> None:
        try:
            wanted.find(prepare)
        except Exception as error:  # a thread has nobody to raise it to: whoever waits does
            finding.error = error

    with _asking:
        if finding.thread is None:
            finding.thread = threading.Thread(target=find, daemon=True)
            finding.thread.start()
    finding.thread.join(patience)
    if finding.error is not None:
        raise finding.error
    return None if wanted.whole else finding


def details(shown: Analysis, keys: Sequence[str]) -> dict[str, Detail]:
    """What a reader is told of rows: the words with their pushes, and the nearest training texts.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    record, split = shown.table.record, shown.table.split
    path = store().path(record.run)
    about = str(path), file_version(path / WEIGHTS), _predictions(record, split)[1], split, shown.known.whole
    return _details(*about, tuple(keys), shown)


@st.cache_resource(max_entries=64, show_spinner=False)
def _details(
    path: str, weights: str, version: str, split: str, whole: bool, keys: tuple[str, ...], _shown: Analysis
) -> dict[str, Detail]:
    from dashboard.figures.files import read_rows

    return read_rows(_loaded_of(Path(path).name) if weights else None, _shown, keys)


def _loaded_of(run: str) -> LoadedRun:
    return _loaded(str(store().path(run).parent), run, weights_fingerprint(run))


def slices(record: RunRecord, split: str) -> list[dict[str, Any]]:
    """The saved slices of the data of a run, with what they come to on a split; read only.

    Raises:
        RunDamaged: the predictions or a slice cannot be read.
    """
    from core.failures.slices import version

    return _slices(*_predictions(record, split), version(store(), record), split, record)


@st.cache_resource(max_entries=16, show_spinner=False)
def _slices(path: str, version: str, kept: str, split: str, _record: RunRecord) -> list[dict[str, Any]]:
    return Files(store()).slices(_record, split)


def chosen_group(digest: str) -> Group:
    """Sentences that were chosen one by one.

    Raises:
        InputError: they are not kept any more.
        RunDamaged: they cannot be read.
    """
    from core.failures.chosen import FOLDER, recall

    runs = store()
    path = runs.folder / FOLDER / f"{digest}.json"
    return _chosen_group(str(path), file_version(path), digest) if digest.isalnum() else recall(runs, digest)


@st.cache_resource(max_entries=32, show_spinner=False)
def _chosen_group(path: str, version: str, digest: str) -> Group:
    from core.failures.chosen import recall

    return recall(store(), digest)


def selected(record: RunRecord, selection: Selection, split: str) -> Selected:
    """The rows of `known` that are selected; shared, nobody changes them.

    Raises:
        InputError: the selection is not understood, or its sentences are not kept any more.
        RunDamaged: the predictions, or what was kept, cannot be read.
    """
    key = hashlib.sha256(str(selection).encode("utf-8", "surrogatepass")).hexdigest()
    return _selected(*_predictions(record, split), key, record, selection, split)


@st.cache_resource(max_entries=64, show_spinner=False)
def _selected(path: str, version: str, key: str, _record: RunRecord, _selection: Selection, _split: str) -> Selected:
    from core.failures.selection import select

    there = known(_record, _split)
    return select(_selection, there.table, there.tagged, store())


def doubted(record: RunRecord, split: str) -> dict[str, Any] | None:
    """The labels that are likely wrong; read only. None: nobody has looked."""
    from core.failures import doubted as kept

    here = kept.files(store(), record, split)
    return _doubted(str(here.folder), here.stem, file_version(here.path("json")))


@st.cache_resource(max_entries=8, show_spinner=False)
def _doubted(folder: str, stem: str, version: str) -> dict[str, Any] | None:
    from core.failures import doubted as kept
    from core.runs.errands import Files as Kept

    return kept.kept(Kept(Path(folder), stem)) if version else None


def embedded_splits(run: str) -> list[str]:
    """Evaluated splits whose embeddings are kept."""
    folder = store().path(run) / EVALUATION
    return [split for split in evaluated_splits(run) if (folder / split / projections.EMBEDDINGS).is_file()]


def points(record: RunRecord, split: str) -> pd.DataFrame:
    """What is known of each sentence of a split; read only.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    return _points(*_predictions(record, split), split, record.classes, record)


@st.cache_resource(max_entries=8, show_spinner=False)
def _points(path: str, version: str, split: str, classes: tuple[str, ...], _record: RunRecord) -> pd.DataFrame:
    return _files_of(path, 3).points(_record, split)


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
    return _loaded(folder, run, weights).predict([_text]).pooled[0]


def weights_fingerprint(run: str) -> str:
    """What a model's results are keyed by; empty if the run has no weights."""
    path = store().path(run) / WEIGHTS
    version = file_version(path)
    # That is known last, when the weights have long been read by somebody who could not wait.
    return f"{_weights_fingerprint(str(path), version)} {store().read(run).answering}" if version else ""


@st.cache_data(max_entries=256, show_spinner=False)
def _weights_fingerprint(path: str, version: str) -> str:
    return file_fingerprint(Path(path))


def suite(file: str) -> Suite:
    """The suite of a file, or ours where none is named.

    Raises:
        DataError: it cannot be read.
    """
    return _suite(file, file_version(Path(file)) if file else "")


@st.cache_resource(max_entries=8, show_spinner=False)  # frozen; thousands of cases are not worth copying
def _suite(file: str, version: str) -> Suite:
    from core.behaviour.read import read_suite

    return read_suite(file)


def judged(run: str, asked: Suite, sides: Mapping[str, str]) -> Judged:
    """What a run says to a suite; `sides` by class, where a person says what it means.

    Raises:
        InputError: the run cannot be asked.
        RunDamaged: its model cannot be read.
    """
    return _judged(
        str(store().folder), run, weights_fingerprint(run), asked.digest, tuple(sorted(sides.items())), asked
    )


@st.cache_resource(max_entries=32, show_spinner="Asking the model")
def _judged(
    folder: str, run: str, weights: str, digest: str, sides: tuple[tuple[str, str], ...], _asked: Suite
) -> Judged:
    from core.behaviour.answers import judged  # torch

    return judged(_store(folder), run, _asked, dict(sides))


def behaviour(record: RunRecord) -> Judged:
    """As `dashboard.figures.files.Files.behaviour`."""
    return Files(store()).behaviour(record)


def sentence(run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
    """The inside of a run's model for one text, as trained or with changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _sentence(*_read_by(run, text), edits, text)


def _read_by(run: str, text: str) -> tuple[str, str, str, str]:
    """What a cache knows a reading by: folder, run, its weights and the text's hash.

    A person's text never becomes part of a cache key as it is.
    """
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return str(store().path(run).parent), run, weights_fingerprint(run), key


@st.cache_resource(max_entries=48, show_spinner=False)  # read only; arrays of L × L are not worth copying
def _sentence(folder: str, run: str, weights: str, key: str, edits: Edits, _text: str) -> SentenceView:
    from dashboard.figures.files import look_inside

    return look_inside(_loaded(folder, run, weights), _text, edits)


def pushed(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Pushed:
    """What each word of a text does to the log-odds of a class, as the run was trained or with changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _pushed(*_read_by(run, text), target, edits, text, tell)


@st.cache_resource(max_entries=48, show_spinner=False)
def _pushed(
    folder: str, run: str, weights: str, key: str, target: str, edits: Edits, _text: str, _tell: OnProgress
) -> Pushed:
    from dashboard.figures.files import push_words

    return push_words(_loaded(folder, run, weights).watched(_tell), _text, target, edits)


Wanted = tuple[Any, ...]
"""Something that asks a model for long: its name, the run, and further arguments of the function of that name."""


@dataclass(frozen=True)
class Asking:
    """What a page waits for: somebody has asked it already, or does so now."""

    wanted: tuple[Wanted, ...]
    known: Watched[Any]
    steps: Callable[[OnProgress], Iterator[Any]]

    def wait(self, patience: float | None = None) -> Watched[Any]:
        """Begin, if nobody has, and wait so many seconds for the end; None: until it is there.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        self.known.ask(self.steps, patience)
        return self.known


def asking(*wanted: Wanted) -> Asking:
    """Several of them, one after the other; the names are those of `_STREAMED` and `_FOUND`."""

    def steps(tell: OnProgress) -> Iterator[Any]:
        for name, *about in wanted:
            tell(name, None)
            if name in _STREAMED:
                yield from _STREAMED[name](*about, tell=tell)
            else:
                yield _FOUND[name](*about, tell=tell)

    kept = tuple((name, weights_fingerprint(run), *map(_private, about)) for name, run, *about in wanted)
    return Asking(wanted, _watched(tuple(run for _, run, *_ in wanted), kept), steps)


def _private(about: Any) -> Any:
    """What a person typed never becomes part of a cache key as it is."""
    if not isinstance(about, str | tuple):
        return about
    return hashlib.sha256(repr(about).encode("utf-8", "surrogatepass")).hexdigest()


@st.cache_resource(max_entries=96, show_spinner=False)
def _watched(runs: tuple[str, ...], wanted: tuple[Any, ...]) -> Watched[Any]:
    return Watched()


def _side_by_side(
    run: str, text: str, target: str, edits: Edits, named: Sequence[str], *, tell: OnProgress
) -> Iterator[Methods]:
    from dashboard.figures.files import side_by_side

    return side_by_side(_loaded_of(run).watched(tell), text, target, edits, named)


def methods(run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
    """What each word does to the log-odds of a class by these methods, as far as the model can be explained so.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    known = asking(("methods", run, text, target, edits, tuple(named))).wait()
    assert known.found is not None  # the page shows what was stopped by itself
    found: Methods = known.found
    return found


def belief(record: RunRecord) -> Belief | None:
    """How far the explanations of a run can be believed; None: it was not measured, or cannot be read."""
    return Files(store()).belief(record)


def own_belief(run: str, text: str, tell: OnProgress = silent) -> tuple[Own, ...]:
    """What one text says of that, by method, as the run was trained.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _own_belief(*_read_by(run, text), text, tell)


@st.cache_resource(max_entries=48, show_spinner=False)
def _own_belief(folder: str, run: str, weights: str, key: str, _text: str, _tell: OnProgress) -> tuple[Own, ...]:
    from dashboard.figures.files import ask_sentence

    return ask_sentence(_loaded(folder, run, weights).watched(_tell), _text)


def patches(run: str, text: str, donor: str, target: str, edits: Edits, tell: OnProgress = silent) -> Patches:
    """What the inside of a donor in the text does to the log-odds of a class, one place at a time.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
        InputError: the two texts have different numbers of tokens.
    """
    return _patches(*_read_by(run, text), _private(donor), target, edits, text, donor, tell)


@st.cache_resource(max_entries=24, show_spinner=False)
def _patches(
    folder: str,
    run: str,
    weights: str,
    key: str,
    donor: str,
    target: str,
    edits: Edits,
    _text: str,
    _donor: str,
    _tell: OnProgress,
) -> Patches:
    from dashboard.figures.files import put_inside

    return put_inside(_loaded(folder, run, weights).watched(_tell), _text, _donor, target, edits)


def parts(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Parts:
    """What each part of the model does to them, as the run was trained or besides changes.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _parts(*_read_by(run, text), target, edits, text, tell)


@st.cache_resource(max_entries=48, show_spinner=False)
def _parts(
    folder: str, run: str, weights: str, key: str, target: str, edits: Edits, _text: str, _tell: OnProgress
) -> Parts:
    from dashboard.figures.files import silence_parts

    return silence_parts(_loaded(folder, run, weights).watched(_tell), _text, target, edits)


def reach(run: str, steps: Sequence[Step], target: str, tell: OnProgress = silent) -> Reach:
    """What a run says of a template with more and more words put in.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    asked = tuple(steps)
    return _reach(*_read_by(run, "\n".join(f"{step.text}\t{step.without}" for step in asked)), target, asked, tell)


@st.cache_resource(max_entries=128, show_spinner=False)
def _reach(
    folder: str, run: str, weights: str, key: str, target: str, _steps: tuple[Step, ...], _tell: OnProgress
) -> Reach:
    return _loaded(folder, run, weights).watched(_tell).reach(_steps, target)


def steps(
    run: str, text: str, layer: int | None, head: int | None, component: int | None, edits: Edits = UNCHANGED
) -> Steps:
    """The forward pass of a text as stages, as edited; layer and head from 1, component from 0.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
        NotAvailable: the text has no token, or too many.
    """
    return _steps(*_read_by(run, text), layer, head, component, edits, text)


@st.cache_resource(max_entries=24, show_spinner=False)
def _steps(
    folder: str,
    run: str,
    weights: str,
    key: str,
    layer: int | None,
    head: int | None,
    component: int | None,
    edits: Edits,
    _text: str,
) -> Steps:
    loaded = _loaded(folder, run, weights)
    return loaded.steps(_text, layer, head, component, edits.intervention(), unmixed=edits.unmixed)


def flips(run: str, text: str, target: str, edits: Edits) -> Iterator[Search]:
    """The search for the smallest change of a text that changes its answer, which goes on as it is asked.

    Raises:
        InputError: no such class, or a change inside at single tokens.
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _loaded_of(run).flips(text, target, intervene=edits.intervention(), unmixed=edits.unmixed)


def lambdas(run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> LambdaCurves:
    """What each λ does to them, all else as trained or as changed.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    return _lambdas(*_read_by(run, text), target, edits, text, tell)


@st.cache_resource(max_entries=48, show_spinner=False)
def _lambdas(
    folder: str, run: str, weights: str, key: str, target: str, edits: Edits, _text: str, _tell: OnProgress
) -> LambdaCurves:
    from dashboard.figures.files import along_lambdas

    return along_lambdas(_loaded(folder, run, weights).watched(_tell), _text, target, edits)


_STREAMED: dict[str, Callable[..., Iterator[Any]]] = {"methods": _side_by_side}
_FOUND: dict[str, Callable[..., Any]] = {
    "pushed": pushed,
    "parts": parts,
    "lambdas": lambdas,
    "patches": patches,
    "own": own_belief,
    "reach": reach,
}


@st.cache_resource(max_entries=4, show_spinner="Loading the model")
def _loaded(folder: str, run: str, weights: str) -> LoadedRun:
    """One model for all visitors: nobody changes it, interventions are arguments."""
    import torch

    from core.runs.load import load_run

    torch.set_num_threads(1)  # one sentence is too little to share: threads waiting for each other cost far more
    return load_run(RunStore(Path(folder)), run)


def dataset(config: DataConfig) -> Dataset:
    """The texts, once for all visitors; nobody changes them.

    Raises:
        DataError: they cannot be used.
        NotAvailable: they cannot be had here.
    """
    return _dataset(config, _folder_version(config.name))


@st.cache_resource(max_entries=4, show_spinner=False)
def _dataset(config: DataConfig, version: str) -> Dataset:
    from core.data.load import load

    return load(config)


def tokenizer(data: Dataset, text: TextConfig) -> Tokenizer:
    """The tokenizer that a training run on this data would fit."""
    return _tokenizer(data.fingerprint, text, data)


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(fingerprint: str, text: TextConfig, _data: Dataset) -> Tokenizer:
    from core.text.tokenizers import fit_tokenizer

    return fit_tokenizer(_data.splits["train"]["text"].tolist(), text)


def inspect_upload(name: str, content: bytes, config: DataConfig) -> FileReport:
    """What an uploaded file holds, before it is kept.

    Args:
        name: As the browser gave it.
        content: The whole file.
        config: Columns, delimiter, encoding and header; its name is not used.

    Raises:
        DataError: it cannot be read as a table at all.
    """
    return _inspect_upload(hashlib.sha256(content).hexdigest(), library.safe_name(name), config, content)


@st.cache_data(max_entries=32, show_spinner=False)
def _inspect_upload(key: str, name: str, config: DataConfig, _content: bytes) -> FileReport:
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
        path = Path(folder) / name
        path.write_bytes(_content)
        return _inspect(path, config)


def offered(record: RunRecord, name: str, split: str, settings: tuple[tuple[str, Any], ...]) -> Offered:
    """Which labels other data have and what each would mean to a run; `settings` are how they are read.

    Raises:
        InputError: they cannot be read, or have no such split.
    """
    version = file_version(Path(name)) if Path(name).is_file() else ""
    return _offered(name, version, split, settings, (record.run, record.classes), record)


@st.cache_data(max_entries=32, show_spinner="Reading the labels")
def _offered(
    name: str, version: str, split: str, settings: tuple[tuple[str, Any], ...], run: Any, _record: RunRecord
) -> Offered:
    from core.runs.judged import Wanted, offered

    return offered(_record, Wanted(name, split, settings=dict(settings)))


def inspect_path(path: Path, config: DataConfig) -> FileReport:
    """What a file of this machine holds; arguments as `inspect_upload`."""
    return _inspect_path(str(path), file_version(path), config)


@st.cache_data(max_entries=32, show_spinner=False)
def _inspect_path(path: str, version: str, config: DataConfig) -> FileReport:
    return _inspect(Path(path), config)


def _inspect(path: Path, config: DataConfig) -> FileReport:
    from core.data import apart

    return apart.inspect_file(path, config.reading())


def _folder_version(name: str) -> str:
    """Changes when a file of a named data set, folder or file does."""
    from core.data.load import local_folder

    path = local_folder(name) or Path(name).expanduser()
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return " ".join(file_version(file) for file in files)
