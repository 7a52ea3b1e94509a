"""Overview and Sweeps: data sets with their models, what these cost, and which of them cannot be told apart."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import SentiscopeError
from core.fingerprint import file_version, fingerprint
from core.runs import efficiency as costs
from core.runs import sweep
from core.runs.efficiency import Efficiency
from core.runs.record import EVALUATION, HISTORY, METRICS, PREDICTIONS, RECORD, RunRecord
from core.runs.store import RunStore
from core.runs.sweep import Plan
from dashboard.data.histories import curves
from dashboard.data.stored import store
from dashboard.figures.drawing import Component
from dashboard.figures.files import Files
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from dashboard.figures.leaderboard import Board


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
    from dashboard.figures.leaderboard import boards

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
    from dashboard.figures.interval_drawing import component
    from dashboard.figures.leaderboard_table import models_table

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
