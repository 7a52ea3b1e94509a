"""Cached reading: the declaration of caches, runs (curves, predictions, costs, comparisons), data sets and files."""

from __future__ import annotations

import functools
import hashlib
import inspect
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from core import data as labeled
from core import error_analysis, evaluation, json_store, lessons, runs
from core import runs as run_files
from core.api import papers
from core.config import RunConfig
from core.data import uploads
from core.data.config import DataConfig
from core.data.dataset import TEST, TRAIN, VALIDATION
from core.exceptions import NotAvailable, RunDamaged, SentiscopeError
from core.fingerprint import get_file_version, hash_file
from core.runs import efficiency as costs
from core.runs import sweep
from core.runs.efficiency import Efficiency
from core.runs.predictions import explain_lacking_texts, read_predictions
from core.runs.record import CHECKPOINT, EVALUATION, HISTORY, METRICS, PREDICTIONS, RECORD, TAGS, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.runs.sweep import Plan
from core.text.config import TextConfig
from core.text.lexicon import VADER
from core.training.history import History, read_history
from dashboard.figures import decisions
from dashboard.figures import training_log as lines
from dashboard.figures.training_log import Curves, Line, NumberLine, Place

if TYPE_CHECKING:
    import pandas as pd

    from core.data.dataset import Dataset
    from core.data.labeled_files import FileReport
    from core.runs.comparison import ComparisonData
    from core.runs.evaluation_data import DatasetLabels
    from core.runs.run_names import RunName
    from core.text.tokenizer import Tokenizer
    from dashboard.figures.drawing import Component
    from dashboard.figures.leaderboard import Board
    from dashboard.figures.theme import Look

Given = ParamSpec("Given")
Found = TypeVar("Found")
Reading: TypeAlias = Callable[Concatenate[Any, Given], Found]  # a reader method
Key = tuple[object, ...]  # file paths and versions, names and frozen options, but no models or tables
TELL = "tell"  # progress argument of reader methods, not part of the cache key


@dataclass(frozen=True)
class CachePolicy:
    """The caching rule of one method: number of stored results, lifetime, and whether each caller gets a copy."""

    name: str
    entries: int  # most results that are kept for all visitors
    spinner: str  # text shown while the method runs
    copied: bool  # whether each visitor gets a copy of a result; otherwise all share one object that must not change
    seconds: float | None  # lifetime in seconds; None: only the key decides


class Memo:
    """The cache of methods that read files; this base class stores nothing, so every call reads the disk."""

    shared = False  # whether many visitors use it at the same time

    def get_or_read(self, how: CachePolicy, key: Callable[[], Key], read: Callable[[], Found]) -> Found:
        """Return the result that is cached under a key, or call `read` to compute it."""
        return read()


def cache_result(
    entries: int, key: Callable[..., Key], *, spinner: str = "", copied: bool = False, seconds: float | None = None
) -> Callable[[Reading[Given, Found]], Reading[Given, Found]]:
    """Return a decorator that caches a method; the function `key` makes the cache key from the method's arguments."""

    def wrap_method(read: Reading[Given, Found]) -> Reading[Given, Found]:
        how, signature = CachePolicy(read.__name__, entries, spinner, copied, seconds), inspect.signature(read)

        @functools.wraps(read)
        def read_cached(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
            def make_key() -> Key:
                asked = signature.bind(self, *args, **kwargs)
                asked.apply_defaults()
                asked.arguments.pop(TELL, None)
                return key(*asked.arguments.values())

            return self.memo.get_or_read(how, make_key, lambda: read(self, *args, **kwargs))

        return read_cached

    return wrap_method


ORDER = {TRAIN: 0, VALIDATION: 1, TEST: 2}
_held: WeakValueDictionary[tuple[DataConfig, str], Dataset] = WeakValueDictionary()  # by settings and file version
_testing = threading.Lock()  # one visitor runs the tests; the others reuse the result


@dataclass
class ModelTies:
    """The groups of leaderboard models without a significant difference; empty until the tests have run."""

    groups: list[list[int]] | None = None  # indices of measured models; None: not tested yet
    reason: str = ""


class RunReader:
    """A class that reads runs and data sets with caching.

    RunDamaged: predictions cannot be read; DataError or InputError: a data set cannot be used.
    """

    def __init__(self, store: RunStore | None = None, memo: Memo | None = None) -> None:
        """Set up the reading of runs from a store (default: looked up at each call) with a cache (default: none)."""
        self._store, self.memo = store, memo or Memo()

    def store(self) -> RunStore:
        """Return the store (folder on disk) from which runs are read."""
        return RunStore() if self._store is None else self._store

    def list_runs(self) -> list[RunRecord]:
        """List all runs that are on disk now, newest first."""
        return self.store().list()

    def label_run(self, run: str) -> str:
        """Return how figures name a run or a model of several runs: by its id, which files and commands need."""
        return run

    def list_loadable_runs(self) -> list[RunRecord]:
        """List the runs whose models can predict whole texts, newest first."""
        return [record for record in self.list_runs() if record.task != "tokens" and self.has_weights(record.run)]

    def has_weights(self, run: str) -> bool:
        """Return whether a run has stored weights, so that its model can predict."""
        return (self.store().get_path(run) / WEIGHTS).is_file()

    def has_checkpoint(self, run: str) -> bool:
        """Return whether a run has a training checkpoint, so that a stopped training can be resumed."""
        return (self.store().get_path(run) / CHECKPOINT).is_dir()

    def list_splits(self, run: str) -> list[str]:
        """List a run's splits that have predictions, in the order train, validation, test, others."""
        there = self.store().get_path(run) / EVALUATION
        found = [path.parent.name for name in (PREDICTIONS, TAGS) for path in there.glob(f"*/{name}")]
        return sorted(found, key=lambda split: (ORDER.get(split, 3), split))

    def explain_no_texts(self, record: RunRecord) -> str:
        """Explain why the texts of a run cannot be shown here, and what the user can do; empty if they can be shown."""
        return explain_lacking_texts(self.store().get_path(record.run), record)

    def make_key(self, run: str, split: str, *names: str) -> Key:
        """Return the cache key of some files of a run or of one of its splits: folder, split and file versions."""
        return make_folder_key(self.store().get_path(run), split, *names)

    def make_split_key(self, record: RunRecord, split: str, *names: str) -> Key:
        """Return the cache key of a split's predictions and of named files: folder, split, file versions, classes."""
        return *self.make_key(record.run, split, PREDICTIONS, *names), record.classes

    def make_model_key(self, run: str, *asked: object) -> Key:
        """Return the cache key of a model computation: store, run, hash of the weights, and arguments."""
        return str(self.store().get_path(run).parent), run, self.hash_weights(run), *asked

    def hash_weights(self, run: str) -> str:
        """Return the hash of a model's weights, used in cache keys; empty if the run has no weights."""
        path = self.store().get_path(run) / WEIGHTS
        # `answering` is recorded after the weights, which may have been read before.
        version = get_file_version(path)
        return f"{_hash_file(path, version)} {self.store().read(run).answering}" if version else ""

    def _read_history(self, record: RunRecord) -> History:
        return read_history(self.store().get_path(record.run) / HISTORY)

    def _make_history_key(self, record: RunRecord) -> Key:
        chosen, progress = record.config.training, record.progress
        settings = chosen.epochs, chosen.metric, progress.get("steps"), progress.get("rows")
        return *self.make_key(record.run, "", HISTORY), *settings

    @cache_result(1024, _make_history_key)
    def read_curves(self, record: RunRecord) -> tuple[Curves, int]:
        """Return the training curves of a run so far, and the number of damaged log lines that were skipped."""
        history, chosen, progress = self._read_history(record), record.config.training, record.progress
        steps, rows = int(progress.get("steps") or 0), int(progress.get("rows", {}).get("validation") or 0)
        metric = lines.choose_metric(chosen.metric, record.task, ordered=record.ordered)
        return lines.build_curves(history, chosen.epochs, metric, steps, rows), history.skipped

    @cache_result(64, _make_history_key)
    def read_learned_scalars(self, record: RunRecord) -> dict[str, list[NumberLine]]:
        """Return the curves of a run's learned numbers, except map weights λ, over epochs, as symbol → curves."""
        history, steps = self._read_history(record), int(record.progress.get("steps") or 0)
        per_epoch = lines.compute_epoch_steps(history, record.config.training.epochs, steps)
        return lines.build_number_lines(history, per_epoch)

    @cache_result(64, _make_history_key)
    def read_head_lambdas(self, record: RunRecord) -> dict[Place, tuple[Line, ...]]:
        """Return the map weight λ of each attention head over training; only for models with a separate λ per head."""
        return lines.build_head_lines(self._read_history(record))

    def read_predictions(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the file with a run's predictions on a split."""
        return read_predictions(self.store().get_path(record.run) / EVALUATION / split / PREDICTIONS)

    @cache_result(16, make_split_key)
    def make_report(self, record: RunRecord, split: str) -> decisions.SplitPredictions:
        """Return a run's predictions and true labels on a split."""
        return decisions.parse_predictions(self.read_predictions(record, split), record.classes)

    @cache_result(8, make_split_key)
    def read_points(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Return a table with a row for each text of a split, with its predictions."""
        return decisions.build_points_table(self.read_predictions(record, split), record.classes)

    @cache_result(64, make_split_key)
    def list_colorings(self, record: RunRecord, split: str) -> tuple[str, ...]:
        """Return what the points of a split's embedding map can be coloured by; a page asks for it many times."""
        from dashboard.figures.embedding_map import list_colorings

        return tuple(list_colorings(self.read_points(record, split)))

    @cache_result(8, lambda self, record, split: self.make_key(record.run, split, TAGS))
    def read_tags(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the predicted word tags of a split (`core.runs.word_tagging`); NotAvailable if there are none."""
        return run_files.word_tagging.read_tags(self.store().get_path(record.run), split)

    def _make_sides_key(self, runs: Sequence[str], split: str, *asked: object) -> Key:
        return str(self.store().folder), [self.make_split_key(self.store().read(run), split) for run in runs], *asked

    @cache_result(8, _make_sides_key)
    def align_predictions(self, runs: Sequence[str], split: str) -> ComparisonData:
        """Return the predictions of several runs on the rows that all runs share; InputError if there are none."""
        return run_files.comparison.read_comparison_data(self.store(), runs, split=split)

    @cache_result(64, _make_sides_key, spinner="Comparing the runs")
    def compare_runs(self, runs: Sequence[str], split: str, metric: str) -> dict[str, Any]:
        """Compare every pair of runs by a metric (`core.runs.comparison`); InputError: no shared rows."""
        return run_files.comparison.compare_models(self.align_predictions(runs, split), metrics=[metric])

    @cache_result(
        1024, lambda self, record: (*self.make_key(record.run, "", RECORD), costs.get_version(self.store(), record.run))
    )
    def read_efficiency(self, record: RunRecord) -> Efficiency:
        """Return the costs of a run (size, time, speed, memory), as far as they are known on this machine."""
        return costs.read_efficiency(self.store(), record)

    @cache_result(256, lambda self, record: self.make_key(record.run, TEST, METRICS), copied=True)
    def count_test_rows(self, record: RunRecord) -> int:
        """Return the number of test texts that a run was evaluated on; 0 without evaluation on the test split."""
        try:
            found = json_store.read_tree(self.store().get_path(record.run) / EVALUATION / TEST / METRICS)
        except (FileNotFoundError, RunDamaged):
            return 0
        return found["n"] if isinstance(found, dict) and isinstance(found.get("n"), int) else 0

    def _make_records_key(self, records: Sequence[RunRecord], *asked: object) -> Key:
        path = self.store().get_path
        return *((one.status, *make_folder_key(path(one.run), "", RECORD, HISTORY)) for one in records), *asked

    @cache_result(16, _make_records_key)
    def build_boards(self, records: Sequence[RunRecord], metric: str) -> list[Board]:
        """Return a leaderboard for each data set, its models ordered by a metric."""
        from dashboard.figures.leaderboard import list_boards

        return list_boards(records, metric)

    def _make_board_key(self, board: Board, *asked: object) -> Key:
        records = [record for entry in board.entries for record in entry.model.records]
        return self._make_records_key(records, board.metric, board.name, *asked)

    @cache_result(64, _make_board_key)
    def draw_models_table(
        self,
        board: Board,
        groups: Sequence[Sequence[str]],
        ticked: Sequence[str],
        look: Look,
        names: Mapping[str, RunName],
    ) -> Component:
        """Draw the table of a leaderboard's models, with rows that can be ticked and selected."""
        from dashboard.figures.interval_drawing import build_component
        from dashboard.figures.leaderboard import build_models_table

        table = build_models_table(board, groups, names)
        return build_component(table, look, picks=True, tick="compare", ticked=ticked)

    def _make_ties_key(self, board: Board) -> Key:
        path, models = self.store().get_path, _list_runs(board)
        files = [make_folder_key(path(run), TEST, PREDICTIONS) for model in models for run in model]
        return board.metric, models, files

    @cache_result(64, _make_ties_key)
    def get_ties(self, board: Board) -> ModelTies:
        """Return the groups of leaderboard models without a significant difference, as far as already tested."""
        return ModelTies()

    def test_ties(self, board: Board) -> None:
        """Test every pair of leaderboard models for significance, and store the groups without a clear difference."""
        with _testing:
            found, models = self.get_ties(board), _list_runs(board)
            if found.groups is not None:
                return
            try:
                groups = run_files.comparison.find_ties(self.store(), models, board.metric) if len(models) > 1 else []
            except SentiscopeError as error:
                groups, found.reason = [], str(error)
            found.groups = groups

    def _make_plan_key(self, plan: Plan, *asked: object) -> Key:
        return str(self.store().folder), plan.name, plan.created, *asked

    @cache_result(32, _make_plan_key, spinner="Comparing the runs", copied=True)
    def build_sweep_table(
        self, plan: Plan, version: str, metrics: tuple[str, ...] = (), baseline: str = "", *, tests: bool = True
    ) -> dict[str, Any]:
        """Return the results of a sweep as a table; `version` is a cache key; InputError: there is no such baseline."""
        store = self.store()
        plan = sweep.read(store, plan.name)
        return run_files.sweep_table.build_table(store, plan, metrics=metrics, baseline=baseline, tests=tests)

    @cache_result(4, lambda self, config: (config, _read_folder_version(config.name)))
    def load_dataset(self, config: DataConfig) -> Dataset:
        """Load a data set, once for all visitors; NotAvailable if it cannot be read on this machine."""
        _held[config, _read_folder_version(config.name)] = found = labeled.load.load_dataset(config)
        return found

    def get_loaded_dataset(self, config: DataConfig) -> Dataset | None:
        """Return a data set if it is still in memory, without reading any file; None otherwise."""
        return _held.get((config, _read_folder_version(config.name)))

    @cache_result(16, lambda self, name: (name, lessons.catalog.get_version(name)), spinner="Preparing the lesson")
    def read_lesson(self, name: str) -> dict[str, Any]:
        """Return the content of a lesson (`core.lessons.catalog.read_content`)."""
        return lessons.catalog.read_content(name, self.store())

    @cache_result(8, lambda self, name: (name, self.has_weights(papers.RUN)))
    def read_theory(self, name: str) -> dict[str, Any]:
        """Return an experiment on SentiFormer's theory (`core.api.papers.theory`); NotAvailable: no run."""
        return papers.theory(name, store=self.store())

    @cache_result(16, lambda self, data: (data.fingerprint, data.classes), spinner="Comparing the splits")
    def compare_splits(self, data: Dataset) -> list[dict[str, Any]]:
        """Compare texts and labels of the validation and test splits with training; return a summary for each split."""
        return evaluation.split_differences.compare_dataset(data)

    @cache_result(16, lambda self, data: (data.fingerprint, data.classes), spinner="Counting neutral tokens")
    def measure_neutral(self, data: Dataset) -> list[dict[str, Any]]:
        """Measure the share of tokens outside VADER for each tokenizer."""
        return error_analysis.lexicon_fit.measure_neutral(VADER, data)

    def _make_data_key(self, record: RunRecord, split: str) -> Key:
        return record.run, record.data_fingerprint, _read_folder_version(record.config.data.name), split

    @cache_result(64, _make_data_key, spinner="Comparing with training")
    def compare_split(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """Compare a split of a run's data with the training split; None if the data set is not on this machine."""
        try:
            return runs.lineage.compare_run_split(record, split)
        except NotAvailable:
            return None

    def _make_lineage_key(self, config: RunConfig) -> Key:
        parents = map(self.store().read, runs.lineage.find_parents(config))
        known = tuple((record.run, record.created, record.lineage) for record in parents)
        return known and (known, config.data, _read_folder_version(config.data.name))

    @cache_result(64, _make_lineage_key, spinner="Counting rows seen in training", copied=True)
    def describe_removed_rows(self, config: RunConfig) -> tuple[str, ...]:
        """Return notes on validation and test rows that are left out because a parent run was trained on them."""
        return runs.lineage.describe_removed(self.store(), config)

    @cache_result(8, lambda self, data, text: (data.fingerprint, text))
    def fit_tokenizer(self, data: Dataset, text: TextConfig) -> Tokenizer:
        """Return the tokenizer that a training run would fit on this data set."""
        from core.text.tokenizer_factory import fit_tokenizer

        return fit_tokenizer(data.splits["train"]["text"].tolist(), text)

    def _make_upload_key(self, name: str, content: bytes, config: DataConfig) -> Key:
        return hashlib.sha256(content).hexdigest(), uploads.make_safe_name(name), config

    @cache_result(32, _make_upload_key, copied=True)
    def inspect_upload(self, name: str, content: bytes, config: DataConfig) -> FileReport:
        """Inspect an uploaded data file before it is stored, with the reading settings of `config`."""
        with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
            path = Path(folder) / uploads.make_safe_name(name)
            path.write_bytes(content)
            return _inspect_file(path, config)

    @cache_result(32, lambda self, path, config: (path, get_file_version(path), config), copied=True)
    def inspect_path(self, path: Path, config: DataConfig) -> FileReport:
        """Inspect a data file on this machine, with the reading settings of `config`."""
        return _inspect_file(path, config)

    def _make_labels_key(self, record: RunRecord, name: str, *asked: object) -> Key:
        version = get_file_version(Path(name)) if Path(name).is_file() else ""
        return record.run, record.classes, name, version, *asked

    @cache_result(32, _make_labels_key, spinner="Reading the labels", copied=True)
    def match_labels(
        self, record: RunRecord, name: str, split: str, settings: tuple[tuple[str, Any], ...]
    ) -> DatasetLabels:
        """Return the labels of another data set, and for each the class of a run that it is mapped to."""
        asked = runs.evaluation_data.DataRequest(name, split, settings=dict(settings))
        return runs.evaluation_data.list_labels(record, asked)


def make_folder_key(folder: Path, split: str, *names: str) -> Key:
    """Return the cache key of some files in a run folder or in one of its splits: folder, split, file versions."""
    if not split:
        return str(folder), *(get_file_version(folder / name) for name in names)
    inside = folder / EVALUATION / split
    versions = (get_file_version(inside / name) or get_file_version(folder / name) for name in names)
    return str(folder), split, *versions


@functools.lru_cache(256)
def _hash_file(path: Path, version: str) -> str:
    return hash_file(path)


def _list_runs(board: Board) -> list[list[str]]:
    return [[record.run for record in entry.model.runs.values()] for entry in board.measured]


def _inspect_file(path: Path, config: DataConfig) -> FileReport:
    return labeled.sandbox.inspect_file(path, config.get_read_settings())


def _read_folder_version(name: str) -> str:
    """Return a cache key that changes with any file of a data set (given by its name, its folder or its file)."""
    path = labeled.sources.find_local_folder(name) or Path(name).expanduser()
    if not path.is_dir():
        return get_file_version(path)
    inside = [*path.glob("*"), *path.glob("*/*.tsv"), *path.glob("*/*/"), *labeled.folders.find_class_texts(path)]
    return hashlib.sha256(" ".join(map(get_file_version, sorted(inside))).encode()).hexdigest()
