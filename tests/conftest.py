"""A machine of its own for every test: nothing that lies outside the checkout can make one pass, or fail.

A developer's home holds tags found by another version, downloads, settings of Streamlit; their environment names
folders of ours. None of it is there for a test, for a fixture of the session, or for a process that either starts.
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

FOREIGN = ("SENTISCOPE_", "STREAMLIT_", "HF_", "HUGGINGFACE_", "XDG_")
"""Variables that begin so say where things of ours and of our libraries lie, or how they behave.

So does COLUMNS, which a terminal or a CI sets: how wide a table is printed.
"""
WORKERS = 4
"""Each worker imports torch and Streamlit and uses 1 GB: more workers cost more than they save."""
GARBAGE = 50_000, 20, 100
"""New objects and rounds before Python's garbage collector runs; it took 1/6 of the time."""
SESSION = pytest.StashKey[Path]()
EMPTY = pytest.StashKey[list[Path]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give the session an isolated machine too, for imports during collection and for session fixtures."""
    gc.set_threshold(*GARBAGE)
    settings.register_profile("ours", deadline=None)  # the time of a case depends on the load of the machine
    settings.load_profile("ours")
    folder = Path(tempfile.mkdtemp(prefix="sentiscope-tests-")).resolve()
    patch = pytest.MonkeyPatch()
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.add_cleanup(patch.undo)
    config.stash[SESSION] = folder
    _move_to(folder / "session", patch)
    patch.setattr(os, "fsync", lambda handle: None)  # test files need not survive a power failure
    patch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))  # like `_one_thread`


def pytest_collection_finish() -> None:
    """Exclude imported and collected objects from garbage collection; they live to the end."""
    gc.collect()
    gc.freeze()
    _one_thread()  # session fixtures run before the first test


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty labelled sentences in a file."""
    from trained_runs import write_films

    return write_films(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """A run directory with `finished`, `baseline` and `damaged`; read only."""
    from trained_runs import train_reviews

    return train_reviews(tmp_path_factory.mktemp("reviews"), table)


@pytest.fixture(scope="session")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The store of runs on pairs; read only."""
    from trained_runs import train_pairs

    return train_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def starters(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store without runs of its own, with the starter runs beside it."""
    from starters import STARTERS

    from core.runs.store import RunStore

    monkeypatch.setenv("SENTISCOPE_STARTERS", str(STARTERS))
    return RunStore()


@pytest.fixture(autouse=True)
def machine(pytestconfig: pytest.Config) -> Iterator[Path]:
    """The home of this test, empty, and its working directory; caches and runs go below it.

    A test that wrote nothing leaves its home to the next one, which saves a tenth of the time of the quick tests.
    """
    kept = pytestconfig.stash.setdefault(EMPTY, [])
    home = kept.pop() if kept else Path(tempfile.mkdtemp(dir=pytestconfig.stash[SESSION]))
    _one_thread()
    with pytest.MonkeyPatch.context() as patch:  # separate: a test may undo its own patches
        _move_to(home, patch)
        patch.chdir(home)
        yield home
    if home.is_dir() and not any(home.iterdir()):
        kept.append(home)
    else:
        shutil.rmtree(home, ignore_errors=True)  # an ended child process may still write


def _one_thread() -> None:
    """Reset the number of torch threads, which a training run of an earlier test may have set."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def _move_to(home: Path, patch: pytest.MonkeyPatch) -> None:
    home.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.startswith(FOREIGN) or name == "COLUMNS"]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("HF_HUB_OFFLINE", "1")  # a library that needs the hub raises an error
    patch.setenv("SENTISCOPE_RUNS", str(home / "runs"))
    patch.setenv("SENTISCOPE_STARTERS", str(home / "no-starters"))  # tests of the starter runs set it


def _everything(config: pytest.Config) -> bool:
    """Whether the call names no room and no file."""
    here = Path(__file__).resolve().parent
    return any(Path(argument).resolve() in (here, here.parent) for argument in config.args)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process per core for whatever runs everything, with a browser or without.

    None of their own for a room or a file, which ends before another process has imported torch.
    """
    return min(WORKERS, os.cpu_count() or 1) if _everything(config) else 0
