import functools

import numpy as np
import pytest

from core.config import compose
from core.models.config import READS
from core.models.presets import PRESETS
from core.runs.store import RunStore
from core.runs.worker import execute


@pytest.fixture
def config():
    return compose("ndt-01-n2")


@pytest.fixture
def created(store, config):
    return store.create(config, "ndt-01-n2", "first")


def reviews(path):
    """120 labelled texts in a file: `good` and `bad` decide, other words do not."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(120):
        words = [f"word{each}" for each in random.integers(0, 30, random.integers(1, 12))]
        label = ("bad", "good")[number % 2]
        words.insert(int(random.integers(0, len(words) + 1)), label)
        rows.append(f"{' '.join(words)},{'positive' if label == 'good' else 'negative'}")
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    """Labelled texts in a file that a test may change."""
    return reviews(tmp_path / "reviews.csv")


TINY = {
    "model.width": 8,
    "model.ff_width": 8,
    "training.epochs": 3,
    "training.batch_size": 8,
    "training.lr": 0.01,
    "training.patience": 0,
    "training.threads": 1,
    "text.min_freq": 1,
}


@pytest.fixture
def tiny(table, monkeypatch, tmp_path):
    """Settings of a training run that takes a moment: tiny(preset, **settings)."""
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")

    return functools.partial(configure, table)


def configure(table, preset="ndt-01-n3", **settings):
    family = PRESETS[preset].model.family
    small = {name: value for name, value in TINY.items() if is_read(family, name)}
    return compose(preset, {"data.name": str(table), **small, **settings})


def is_read(family, name):
    room, _, setting = name.partition(".")
    return room != "model" or family == "encoder" or setting in READS[family]


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run directory with `mine`, which has learnt for an epoch; read only."""
    folder = tmp_path_factory.mktemp("finished")
    store = RunStore(folder / "runs")
    config = configure(reviews(folder / "reviews.csv"), "vanilla", **{"training.epochs": 1})
    execute(store, store.create(config, "vanilla", "mine").run)
    return store.folder
