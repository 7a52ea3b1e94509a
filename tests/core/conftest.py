from collections.abc import Callable
from pathlib import Path

import pytest
from studies import FEW

from core.runs.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Return a store of runs for one test."""
    return RunStore(tmp_path / "runs")


@pytest.fixture
def studies(pytestconfig: pytest.Config) -> Callable[..., int]:
    """Return a function of a number of draws: all of them under `pytest -m study`, else at most `few`."""

    def count(whole: int, few: int = FEW) -> int:
        return whole if pytestconfig.option.markexpr == "study" else min(whole, few)

    return count
