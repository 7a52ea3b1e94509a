"""Maps of the sentences of a split, and where a typed one lies on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among, project
from core.fingerprint import file_version
from core.runs import projections
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore
from dashboard.data.inside import loaded
from dashboard.data.stored import evaluated_splits, files_above, hashed, predictions, store, weights_fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from core.failures.found_groups import FoundGroups
    from core.failures.table import Table
    from dashboard.figures.decisions import Floats, Integers


def embedded_splits(run: str) -> list[str]:
    """Evaluated splits whose embeddings are kept."""
    folder = store().path(run) / EVALUATION
    return [split for split in evaluated_splits(run) if (folder / split / projections.EMBEDDINGS).is_file()]


def points(record: RunRecord, split: str) -> pd.DataFrame:
    """What is known of each sentence of a split; read only.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    return _points(*predictions(record, split), split, record.classes, record)


@st.cache_resource(max_entries=8, show_spinner=False)
def _points(path: str, version: str, split: str, classes: tuple[str, ...], _record: RunRecord) -> pd.DataFrame:
    return files_above(path, 3).points(_record, split)


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
    key = hashed(text)
    vector = _pooled(str(store().path(record.run).parent), record.run, weights_fingerprint(record.run), key, text)
    vectors = _vectors(files, record.classes)[0]
    if files.config.method == "pca":
        return fit_pca(vectors, files.config.dimensions).transform(vector[None])[0]
    return place_among(vector, vectors[made.rows], made.places)[0]


@st.cache_data(max_entries=128, show_spinner=False)
def _pooled(folder: str, run: str, weights: str, key: str, _text: str) -> Floats:
    return loaded(folder, run, weights).predict([_text]).pooled[0]


def found_groups(record: RunRecord, split: str) -> tuple[Table, FoundGroups]:
    """The groups of a split in the model's space, and the table of which they are rows; read only.

    Raises:
        RunDamaged: the predictions or the embeddings cannot be read.
        NotAvailable: no embeddings of the split are kept.
    """
    vectors = store().path(record.run) / EVALUATION / split / projections.EMBEDDINGS
    return _found_groups(*predictions(record, split), file_version(vectors), split, record)


@st.cache_resource(max_entries=8, show_spinner="Looking for groups")
def _found_groups(path: str, version: str, vectors: str, split: str, _record: RunRecord) -> tuple[Table, FoundGroups]:
    return files_above(path, 3).found_groups(_record, split)
