import pytest

from core.config import compose
from core.runs.store import RunStore


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def config():
    return compose("ndt-01-n2")


@pytest.fixture
def created(store, config):
    return store.create(config, "ndt-01-n2", "first")
