"""A store of runs, and how often a study draws."""

from collections.abc import Callable
from pathlib import Path

import pytest
from studies import FEW

from core.runs.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Runs of this test alone."""
    return RunStore(tmp_path / "runs")


@pytest.fixture
def studies(pytestconfig: pytest.Config) -> Callable[..., int]:
    """Return studies(whole) → how many are drawn: all of them under `pytest -m study`, else `few` at most."""

    def count(whole: int, few: int = FEW) -> int:
        return whole if pytestconfig.option.markexpr == "study" else min(whole, few)

    return count
