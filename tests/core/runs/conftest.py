import functools
import shutil

import numpy as np
import pytest
from tiny_runs import TINY

from core.config import compose
from core.models.config import READS
from core.models.presets import PRESETS
from core.runs.load import load_run
from core.runs.store import RunStore
from core.runs.training_jobs import execute


@pytest.fixture
def config():
    return compose("ndt-01-n2")


@pytest.fixture
def created(store, config):
    return store.create(config, "ndt-01-n2", "first")


def reviews(path):
    """Write 120 labelled texts to a file: only `good` and `bad` determine the label."""
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


@pytest.fixture
def tiny(table, monkeypatch, tmp_path):
    """Settings of a training run that takes a moment: tiny(preset, **settings)."""
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")

    return functools.partial(configure, table)


def small(preset):
    """The settings of `TINY` that a preset has."""
    reads = {f"model.{name}" for name in READS.get(PRESETS[preset].model.family, ("width", "ff_width"))}
    return {name: value for name, value in TINY.items() if not name.startswith("model.") or name in reads}


def configure(table, preset="ndt-01-n3", **settings):
    return compose(preset, {"data.name": str(table), **small(preset), **settings})


@pytest.fixture(scope="session")
def train_once(tmp_path_factory):
    """Train a run for several tests, which only read it: train_once(file, preset, name, **settings) → its store."""

    def train(file, preset, name, **settings):
        folder = tmp_path_factory.mktemp(name)
        store = RunStore(folder / "runs")
        config = compose(preset, {"data.name": str(file), **settings})
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
            patch.setenv("SENTISCOPE_JOBS", "1")
            execute(store, store.create(config, preset, name).run)
        return store

    return train


@pytest.fixture(scope="session")
def trained_on_reviews(train_once, tmp_path_factory):
    """Train on `reviews`: trained_on_reviews(preset, name, **settings) → the folder of the run."""

    def train(preset, name, **settings):
        file = reviews(tmp_path_factory.mktemp(name) / "reviews.csv")
        return train_once(file, preset, name, **{**small(preset), **settings}).get_path(name)

    return train


@pytest.fixture(scope="session")
def finished(trained_on_reviews):
    """A run directory with `mine`, which has learnt for an epoch; read only."""
    return trained_on_reviews("vanilla", "mine", **{"training.epochs": 1}).parent


@pytest.fixture
def run(store, finished):
    """The name of a run that a test may change: a copy of `mine`."""
    shutil.copytree(finished, store.folder)
    return "mine"


@pytest.fixture(scope="session")
def loaded(finished):
    return load_run(RunStore(finished), "mine")


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A store, its run of three epochs, and the recorded progress at each kind of event; read only."""
    folder, told = tmp_path_factory.mktemp("whole"), {}
    store = RunStore(folder / "runs")
    run = store.create(configure(reviews(folder / "reviews.csv")), "ndt-01-n3", "mine").run
    execute(store, run, on_event=lambda event: told.setdefault(event["kind"], store.read(run).progress))
    return store, run, told
