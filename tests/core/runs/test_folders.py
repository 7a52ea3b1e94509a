import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

import core
from core import api
from core.atomic import write_text
from core.cache import get_cache_folder
from core.config import compose
from core.exceptions import InputError, RunNotFound
from core.runs import training_jobs
from core.runs.archive import export_run, import_zip
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, RECORD
from core.runs.store import RunStore, get_runs_dir, get_starters_dir, is_starter, list_starters
from core.runs.sweep import Plan
from core.runs.sweep import save as save_plan


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """A folder with `starter-small`, finished and with embeddings, and an ordinary run."""
    folder = tmp_path / "brought"
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(folder))
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "own"))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    making = RunStore(tmp_path / "making")
    for name in ("small", "other"):
        making.create(compose("vanilla"), "vanilla", name)
        making.update(name, status="done", classes=("negative", "positive"))
    split = making.get_path("small") / EVALUATION / "test"
    split.mkdir(parents=True)
    np.save(split / EMBEDDINGS, np.random.default_rng(0).normal(size=(40, 4)).astype("f4"))
    pd.DataFrame({"label": ["negative", "positive"] * 20}).to_parquet(split / PREDICTIONS)
    folder.mkdir()
    (making.folder / "small").rename(folder / "starter-small")
    (making.folder / "other").rename(folder / "other")
    return folder


@pytest.fixture
def store(brought):
    return RunStore()


def test_starters_are_in_the_installation_or_the_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("SENTISCOPE_STARTERS", raising=False)
    assert get_starters_dir() == Path(core.__file__).parents[1] / "trained" and len(list_starters()) >= 8
    package = tmp_path / "site-packages" / "core"
    (package / "starters" / "starter-one").mkdir(parents=True)
    monkeypatch.setattr(core, "__file__", str(package / "__init__.py"))
    assert list_starters() == [package / "starters" / "starter-one"]


def test_runs_and_starters_are_found_by_name(store, brought, tmp_path, monkeypatch):
    store.create(compose("vanilla"), "vanilla", "mine")
    assert [record.run for record in store.list()] == ["mine", "starter-small"]
    assert store.get_path("starter-small") == brought / "starter-small"
    assert store.get_path("mine") == store.folder / "mine"
    assert {row["run"]: row["starter"] for row in api.runs_list()["runs"]} == {"mine": False, "starter-small": True}
    check_raises(RunNotFound, None, store.get_path, "other")
    assert [record.run for record in RunStore(store.folder).list()] == ["mine"], "a folder that is named has its own"
    own = store.folder / "starter-small"
    own.mkdir()
    write_text(own / RECORD, (brought / "starter-small" / RECORD).read_text())
    assert store.get_path("starter-small") == own, "an own run hides the starter of its name"
    store.remove("starter-small")
    assert store.get_path("starter-small") == brought / "starter-small"
    monkeypatch.delenv("SENTISCOPE_RUNS")
    monkeypatch.chdir(tmp_path)
    assert store.folder == tmp_path / "own" and get_runs_dir() == tmp_path / "trained"


CHANGES = {
    "remove": lambda store: store.remove("starter-small"),
    "update": lambda store: store.update("starter-small", preset="other"),
    "write": lambda store: store.write(store.read("starter-small")),
    "start": lambda store: training_jobs.start(store, "starter-small"),
    "cancel": lambda store: training_jobs.cancel(store, "starter-small"),
    "resume": lambda store: api.resume("starter-small", store=store),
}


@pytest.mark.parametrize("change", CHANGES)
def test_starters_are_never_changed(brought, change):
    before = content(brought)
    for store in (RunStore(brought), RunStore()):
        check_raises(InputError, r"comes with Sentiscope|nothing to cancel", CHANGES[change], store)
    assert content(brought) == before


def test_starter_names_are_reserved(store):
    for name in ("starter-small", "/starter-mine"):
        check_raises(InputError, "begin with 'starter-'", store.create, compose("vanilla"), "vanilla", name)
    check_raises(InputError, "begin with 'starter-'", save_plan, store, Plan("starter"))
    assert not store.list() or [record.run for record in store.list()] == ["starter-small"]
    assert store.create(compose("vanilla"), "vanilla", "starter-").run == "starter"


def test_an_imported_starter_is_an_ordinary_run(store, brought):
    packed = export_run(store, "starter-small")
    assert zipfile.ZipFile(io.BytesIO(packed)).namelist()[0].startswith("starter-small/")
    run = import_zip(store, io.BytesIO(packed), "starter-small.zip")
    assert run == "small" and not is_starter(store.get_path(run))
    assert api.runs_import(brought / "starter-small", store=store)["run"] == "small-2"
    store.remove(run)


@pytest.mark.slow
def test_maps_of_starters_are_cached(store, brought):
    before = content(brought)
    first = api.project("starter-small", method="pca", store=store)
    assert first["computed"] and Path(first["file"]).is_relative_to(get_cache_folder())
    assert not api.project("starter-small", method="pca", store=store)["computed"] and content(brought) == before
