"""The starter runs."""

from pathlib import Path

import pytest

from core.runs.load import load_run
from core.runs.store import RunStore

TRAINED = Path(__file__).resolve().parents[3] / "trained"


@pytest.fixture
def starter():
    """starter(name): a run that is part of every checkout."""
    return lambda name: load_run(RunStore(TRAINED), f"starter-{name}")
