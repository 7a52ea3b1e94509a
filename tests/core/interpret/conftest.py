import pytest
from starters import STARTERS

from core.runs.load import load_run
from core.runs.store import RunStore


@pytest.fixture
def starter():
    return lambda name: load_run(RunStore(STARTERS), f"starter-{name}")
