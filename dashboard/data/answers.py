"""What runs say of the rows of a split and of the tests of a suite, alone and side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.fingerprint import file_version
from core.runs.record import RunRecord
from dashboard.data.stored import files_above, predictions, store, store_in, weights_fingerprint
from dashboard.figures.files import Files

if TYPE_CHECKING:
    from core.behaviour.judge import Judged
    from core.behaviour.suite import Suite
    from core.runs.sides import Sides
    from dashboard.figures.decisions import Report


def report(record: RunRecord, split: str) -> Report:
    """The report of a run on a split that `evaluated_splits` lists.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    return _report(*predictions(record, split), split, record.classes, record)


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and never changed: no copy for each visitor
def _report(path: str, version: str, split: str, classes: tuple[str, ...], _record: RunRecord) -> Report:
    return files_above(path, 3).report(_record, split)


def sides(runs: Sequence[str], split: str) -> Sides:
    """Several runs with what they say of the rows of a split that all have.

    Raises:
        InputError: they have other rows or classes, or one is not finished.
    """
    return _sides(*_answered(runs, split), split)


def _answered(runs: Sequence[str], split: str) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The folder, and the runs with the versions of what they say."""
    records = [store().read(run) for run in runs]
    return str(store().folder), tuple((each.run, *predictions(each, split)) for each in records)


@st.cache_resource(max_entries=8, show_spinner=False)
def _sides(folder: str, versions: tuple[tuple[str, str, str], ...], split: str) -> Sides:
    return Files(store_in(folder)).sides([run for run, _, _ in versions], split)


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

    return judged(store_in(folder), run, _asked, dict(sides))


def behaviour(record: RunRecord) -> Judged:
    """As `dashboard.figures.files.Files.behaviour`."""
    return Files(store()).behaviour(record)
