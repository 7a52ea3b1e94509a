from pathlib import Path

import pytest

from core.runs.load import load_run
from core.runs.store import RunStore


@pytest.fixture
def starter():
    return lambda name: load_run(RunStore(Path(__file__).resolve().parents[3] / "trained"), f"starter-{name}")
