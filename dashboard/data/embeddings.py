"""Maps of the sentences of a split, and where a typed one lies on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among
from core.exceptions import NotAvailable
from core.fingerprint import file_version
from core.runs import layers as layers_of_runs
from core.runs import projections
from core.runs.layers import LayerFiles, Layers
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore
from dashboard.data.inside import loaded
from dashboard.data.stored import evaluated_splits, files_above, hashed, predictions, store, weights_fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from core.failures.found_groups import FoundGroups
    from core.failures.table import Table
    from dashboard.figures.decisions import Floats

STORES = {RunStore: lambda runs: str(runs.folder)}
"""How Streamlit tells stores apart that are part of an argument."""


def embedded_splits(run: str) -> list[str]:
    """Evaluated splits whose embeddings are kept."""
    folder = store().path(run) / EVALUATION
    return [split for split in evaluated_splits(run) if (folder / split / EMBEDDINGS).is_file()]


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
    versions = file_version(folder / EMBEDDINGS), file_version(folder / PREDICTIONS)
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
        try:
            return _pca_map(files, record.classes, _layers_version(files))
        except NotAvailable:
            return None
    return _saved_map(files, file_version(files.path("npy")), file_version(files.path("json")))


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=STORES)
def _saved_map(files: projections.MapFiles, table: str, about: str) -> Projection | None:
    return projections.read(files)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=STORES)
def _pca_map(files: projections.MapFiles, classes: tuple[str, ...], version: str) -> Projection:
    return projections.project_space(_space(files, classes, version), files.config)


def space(record: RunRecord, files: projections.MapFiles) -> projections.Space:
    """The vectors that a map is made from; read only.

    Raises:
        RunDamaged: they cannot be read.
        NotAvailable: the layers of the model have not been read.
    """
    return _space(files, record.classes, _layers_version(files))


def _layers_version(files: projections.MapFiles) -> str:
    """Changes when the layers that a map is made from are read."""
    if not files.config.space:
        return ""
    return file_version(layer_files(files.run, files.split).path("json"))


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=STORES)
def _space(files: projections.MapFiles, classes: tuple[str, ...], version: str) -> projections.Space:
    return projections.read_space(store(), files, classes)


def layer_files(run: str, split: str) -> LayerFiles:
    """Where the layers of a split are, or will be.

    Raises:
        NotAvailable: the model has none, or no weights.
    """
    folder = store().path(run)
    versions = tuple(file_version(folder / name) for name in (WEIGHTS, TOKENIZER))
    return _layer_files(str(folder), *predictions(store().read(run), split), versions, split)


@st.cache_data(max_entries=64, show_spinner=False)
def _layer_files(folder: str, path: str, version: str, versions: tuple[str, ...], split: str) -> LayerFiles:
    return layers_of_runs.files(store(), Path(folder).name, split)


def layers(record: RunRecord, split: str) -> Layers | None:
    """How the classes lie at each stage of a model; None: nobody has read them.

    Raises:
        NotAvailable: the model has no layers, or no weights.
    """
    return layers_of_runs.read(layer_files(record.run, split))


def vector(record: RunRecord, files: projections.MapFiles, text: str) -> Floats:
    """(d,) of a typed text in the space of a map.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    about = str(store().path(record.run).parent), record.run, weights_fingerprint(record.run), hashed(text)
    return _vector(*about, files.config.space, text)


@st.cache_data(max_entries=128, show_spinner=False)
def _vector(folder: str, run: str, weights: str, key: str, space: str, _text: str) -> Floats:
    return loaded(folder, run, weights).vector(_text, space)


def place(record: RunRecord, files: projections.MapFiles, made: Projection, text: str) -> Floats:
    """Where a typed text lies on a map: exactly for PCA, else among its nearest neighbours in the original space.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    asked, here = vector(record, files, text), space(record, files)
    if files.config.method == "pca":
        return fit_pca(here.vectors, files.config.dimensions).transform(asked[None])[0]
    return place_among(asked, here.vectors[np.searchsorted(here.rows, made.rows)], made.places)[0]


def found_groups(record: RunRecord, split: str) -> tuple[Table, FoundGroups]:
    """The groups of a split in embedding space, and the table of which they are rows; read only.

    Raises:
        RunDamaged: the predictions or the embeddings cannot be read.
        NotAvailable: no embeddings of the split are kept.
    """
    vectors = store().path(record.run) / EVALUATION / split / EMBEDDINGS
    return _found_groups(*predictions(record, split), file_version(vectors), split, record)


@st.cache_resource(max_entries=8, show_spinner="Looking for groups")
def _found_groups(path: str, version: str, vectors: str, split: str, _record: RunRecord) -> tuple[Table, FoundGroups]:
    return files_above(path, 3).found_groups(_record, split)
