"""What training runs have logged, as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.fingerprint import file_version
from core.runs.record import HISTORY, RunRecord
from dashboard.data.stored import files_above, store

if TYPE_CHECKING:
    from dashboard.figures.curves import Curves, Line, NumberLine, Place


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
    return files_above(path, 1).curves(_record)


def learned_numbers(record: RunRecord) -> dict[str, list[NumberLine]]:
    """The course of every other learned number (temperatures, factors, gates) over training, by its sign."""
    return _learned_numbers(*_history(record), record)


@st.cache_resource(max_entries=64, show_spinner=False)
def _learned_numbers(path: str, version: str, settings: str, _record: RunRecord) -> dict[str, list[NumberLine]]:
    return files_above(path, 1).learned_numbers(_record)


def lambda_heads(record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    """The lambda of each head over training, where heads have their own."""
    return _lambda_heads(*_history(record), record)


@st.cache_resource(max_entries=64, show_spinner=False)
def _lambda_heads(path: str, version: str, settings: str, _record: RunRecord) -> dict[Place, tuple[Line, ...]]:
    return files_above(path, 1).lambda_heads(_record)
