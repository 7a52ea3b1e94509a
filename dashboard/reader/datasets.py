"""Cached reading of data sets and their tokenizers, and inspection of data files before they are imported."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from core import data as labeled
from core import evaluation, lessons, runs
from core.config import RunConfig
from core.data import uploads
from core.data.config import DataConfig
from core.exceptions import NotAvailable
from core.fingerprint import get_file_version
from core.runs.record import RunRecord
from core.text.config import TextConfig
from dashboard.reader.read_cache import Key, cache_result
from dashboard.reader.runs import RunReader

if TYPE_CHECKING:
    from core.data.dataset import Dataset
    from core.data.labeled_files import FileReport
    from core.runs.evaluation_data import DatasetLabels
    from core.text.tokenizer import Tokenizer

_held: WeakValueDictionary[tuple[DataConfig, str], Dataset] = WeakValueDictionary()
"""(settings, version of the files) → data set in memory."""


class DatasetReader(RunReader):
    """A class that reads data sets with caching; DataError or InputError if a data set cannot be used."""

    @cache_result(4, lambda self, config: (config, _read_folder_version(config.name)))
    def load_dataset(self, config: DataConfig) -> Dataset:
        """Load a data set, once for all visitors; NotAvailable if it cannot be read on this machine."""
        _held[config, _read_folder_version(config.name)] = found = labeled.load.load_dataset(config)
        return found

    def get_loaded_dataset(self, config: DataConfig) -> Dataset | None:
        """Return a data set if it is still in memory, without reading any file; None otherwise."""
        return _held.get((config, _read_folder_version(config.name)))

    @cache_result(16, lambda self, name: (name, lessons.content.get_version(name)), spinner="Preparing the lesson")
    def read_lesson(self, name: str) -> dict[str, Any]:
        """Return the content of a lesson (`core.lessons.content.read_content`)."""
        return lessons.content.read_content(name, self.store())

    @cache_result(16, lambda self, data: (data.fingerprint, data.classes), spinner="Comparing the splits")
    def compare_splits(self, data: Dataset) -> list[dict[str, Any]]:
        """Compare texts and labels of the validation and test splits with training; return a summary for each split."""
        return evaluation.split_differences.compare_dataset(data)

    def _make_data_key(self, record: RunRecord, split: str) -> Key:
        return record.run, record.data_fingerprint, _read_folder_version(record.config.data.name), split

    @cache_result(64, _make_data_key, spinner="Comparing with training")
    def compare_split(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """Compare a split of a run's data with the training split; None if the data set is not on this machine."""
        try:
            return runs.data_shift.compare_run_split(record, split)
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


def _inspect_file(path: Path, config: DataConfig) -> FileReport:
    return labeled.sandbox.inspect_file(path, config.get_read_settings())


def _read_folder_version(name: str) -> str:
    """Return a cache key that changes with any file of a data set (given by its name, its folder or its file)."""
    path = labeled.sources.find_local_folder(name) or Path(name).expanduser()
    if not path.is_dir():
        return get_file_version(path)
    inside = [*path.glob("*"), *path.glob("*/*.tsv"), *path.glob("*/*/"), *labeled.folders.find_class_texts(path)]
    versions = " ".join(map(get_file_version, sorted(inside)))
    return hashlib.sha256(versions.encode()).hexdigest()
