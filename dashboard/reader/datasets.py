"""Readings of data sets, their tokenizers, and files before they become a data set."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from core import data as labelled
from core import evaluation, runs
from core.config import RunConfig
from core.data import library
from core.data.config import DataConfig
from core.exceptions import NotAvailable
from core.fingerprint import file_version
from core.runs.record import RunRecord
from core.text.config import TextConfig
from dashboard.reader.memo import Key, kept
from dashboard.reader.runs import RunReader

if TYPE_CHECKING:
    from core.data.labeled_files import FileReport
    from core.data.table import Dataset
    from core.runs.judged import Offered
    from core.text.tokenizer import Tokenizer

_held: WeakValueDictionary[tuple[DataConfig, str], Dataset] = WeakValueDictionary()
"""Data sets that are in memory, by their settings and the version of their files."""


class DatasetReader(RunReader):
    """Reader of data sets; DataError or InputError: they cannot be used."""

    @kept(4, lambda self, config: (config, _folder_version(config.name)))
    def dataset(self, config: DataConfig) -> Dataset:
        """Load a data set, once for all visitors; NotAvailable: it cannot be read here."""
        _held[config, _folder_version(config.name)] = found = labelled.load.load(config)
        return found

    def held_dataset(self, config: DataConfig) -> Dataset | None:
        """Return a data set that is still in memory; None otherwise, and nothing is read."""
        return _held.get((config, _folder_version(config.name)))

    @kept(16, lambda self, data: (data.fingerprint, data.classes), spinner="Comparing the splits")
    def differences(self, data: Dataset) -> list[dict[str, Any]]:
        """Compare validation and test with training (`core.evaluation.differences`)."""
        return evaluation.differences.dataset_differences(data)

    def _data_version(self, record: RunRecord, split: str) -> Key:
        return record.run, record.data_fingerprint, _folder_version(record.config.data.name), split

    @kept(64, _data_version, spinner="Comparing with training")
    def split_differences(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """Compare a split of a run's data with training; None: the data are not here."""
        try:
            return runs.differences.split_differences(record, split)
        except NotAvailable:
            return None

    def _lineage(self, config: RunConfig) -> Key:
        parents = map(self.store().read, runs.lineage.find_parents(config))
        known = tuple((record.run, record.created, record.lineage) for record in parents)
        return known and (known, config.data, _folder_version(config.data.name))

    @kept(64, _lineage, spinner="Counting the rows that were learned", copied=True)
    def removed_rows(self, config: RunConfig) -> tuple[str, ...]:
        """Say which rows of validation and test a training would leave out, as its parents learned from them."""
        return runs.lineage.describe_removed(self.store(), config)

    @kept(8, lambda self, data, text: (data.fingerprint, text))
    def tokenizer(self, data: Dataset, text: TextConfig) -> Tokenizer:
        """Return the tokenizer that a training run on this data would fit."""
        from core.text.tokenizers import fit_tokenizer

        return fit_tokenizer(data.splits["train"]["text"].tolist(), text)

    def _upload_version(self, name: str, content: bytes, config: DataConfig) -> Key:
        return hashlib.sha256(content).hexdigest(), library.safe_name(name), config

    @kept(32, _upload_version, copied=True)
    def inspect_upload(self, name: str, content: bytes, config: DataConfig) -> FileReport:
        """Inspect an uploaded file before it is stored; the name in `config` is not used."""
        with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
            path = Path(folder) / library.safe_name(name)
            path.write_bytes(content)
            return _inspect(path, config)

    @kept(32, lambda self, path, config: (path, file_version(path), config), copied=True)
    def inspect_path(self, path: Path, config: DataConfig) -> FileReport:
        """Inspect a file of this machine; arguments as `inspect_upload`."""
        return _inspect(path, config)

    def _labels_version(self, record: RunRecord, name: str, *asked: object) -> Key:
        version = file_version(Path(name)) if Path(name).is_file() else ""
        return record.run, record.classes, name, version, *asked

    @kept(32, _labels_version, spinner="Reading the labels", copied=True)
    def offered(self, record: RunRecord, name: str, split: str, settings: tuple[tuple[str, Any], ...]) -> Offered:
        """Return the labels of other data, read with `settings`, and the class of a run that each would mean."""
        return runs.judged.offered(record, runs.judged.Wanted(name, split, settings=dict(settings)))


def _inspect(path: Path, config: DataConfig) -> FileReport:
    return labelled.apart.inspect_file(path, config.reading())


def _folder_version(name: str) -> str:
    """Return a text that changes when a file of a named data set, folder or file does."""
    path = labelled.held.local_folder(name) or Path(name).expanduser()
    if not path.is_dir():
        return file_version(path)
    inside = [*path.glob("*"), *path.glob("*/*.tsv"), *path.glob("*/*/"), *labelled.folders.class_texts(path)]
    versions = " ".join(map(file_version, sorted(inside)))
    return hashlib.sha256(versions.encode()).hexdigest()
