"""Labelled texts: data sets, their tokenizers, and files before they are one."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import streamlit as st

from core.config import RunConfig
from core.data import library
from core.data.config import DataConfig
from core.exceptions import NotAvailable
from core.fingerprint import file_version
from core.runs.record import RunRecord
from core.text.config import TextConfig
from dashboard.data.stored import store

if TYPE_CHECKING:
    from core.data.labeled_files import FileReport
    from core.data.table import Dataset
    from core.runs.judged import Offered
    from core.text.tokenizer import Tokenizer


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

    _held[config, version] = found = load(config)
    return found


_held: WeakValueDictionary[tuple[DataConfig, str], Dataset] = WeakValueDictionary()
"""Data sets that are in memory, by their settings and the version of their files."""


def held_dataset(config: DataConfig) -> Dataset | None:
    """Return a data set that `dataset` has read and still keeps; nothing is read for it."""
    return _held.get((config, _folder_version(config.name)))


def differences(data: Dataset) -> list[dict[str, Any]]:
    """Compare validation and test with training (`core.evaluation.differences`)."""
    return _differences(data.fingerprint, data.classes, data)


@st.cache_resource(max_entries=16, show_spinner="Comparing the splits")
def _differences(fingerprint: str, classes: tuple[str, ...], _data: Dataset) -> list[dict[str, Any]]:
    from core.evaluation.differences import dataset_differences

    return dataset_differences(_data)


def split_differences(record: RunRecord, split: str) -> dict[str, Any] | None:
    """Compare a split of a run's data with training; None: the data are not here."""
    version = _folder_version(record.config.data.name)
    return _split_differences((record.run, record.data_fingerprint, version), split, record)


@st.cache_resource(max_entries=64, show_spinner="Comparing with training")
def _split_differences(key: tuple[str, ...], split: str, _record: RunRecord) -> dict[str, Any] | None:
    from core.runs.differences import split_differences as compare

    try:
        return compare(_record, split)
    except NotAvailable:
        return None


def removed_rows(config: RunConfig) -> tuple[str, ...]:
    """Say which rows of validation and test a planned training would leave out, as its parents learned from them.

    Raises:
        SentiscopeError: as `core.runs.lineage.describe_removed`.
    """
    from core.runs.lineage import find_parents

    parents = [store().read(run) for run in find_parents(config)]
    if not parents:
        return ()
    known = tuple((record.run, record.created, record.lineage) for record in parents)
    return _removed_rows(known, config.data, _folder_version(config.data.name), config)


@st.cache_data(max_entries=64, show_spinner="Counting the rows that were learned")
def _removed_rows(parents: Any, data: DataConfig, version: str, _config: RunConfig) -> tuple[str, ...]:
    from core.runs.lineage import describe_removed

    return describe_removed(store(), _config)


def tokenizer(data: Dataset, text: TextConfig) -> Tokenizer:
    """The tokenizer that a training run on this data would fit."""
    return _tokenizer(data.fingerprint, text, data)


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(fingerprint: str, text: TextConfig, _data: Dataset) -> Tokenizer:
    from core.text.tokenizers import fit_tokenizer

    return fit_tokenizer(_data.splits["train"]["text"].tolist(), text)


def _folder_version(name: str) -> str:
    """Changes when a file of a named data set, folder or file does."""
    from core.data.held import local_folder

    path = local_folder(name) or Path(name).expanduser()
    inside = [*path.glob("*"), *path.glob("*/*.tsv"), *path.glob("*/*/")]  # folders too: a text in one of a class
    files = sorted(inside) if path.is_dir() else [path]
    return " ".join(file_version(file) for file in files)


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


def inspect_path(path: Path, config: DataConfig) -> FileReport:
    """What a file of this machine holds; arguments as `inspect_upload`."""
    return _inspect_path(str(path), file_version(path), config)


@st.cache_data(max_entries=32, show_spinner=False)
def _inspect_path(path: str, version: str, config: DataConfig) -> FileReport:
    return _inspect(Path(path), config)


def _inspect(path: Path, config: DataConfig) -> FileReport:
    from core.data import apart

    return apart.inspect_file(path, config.reading())


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
