"""Maps kept with a run: files named after what they depend on, processes that can be found again."""

import json

import numpy as np
import pandas as pd
import psutil
import pytest

from core import api
from core.evaluation.projection import ProjectionConfig
from core.exceptions import InputError, RunDamaged
from core.runs import background_jobs
from core.runs.predictions import read_vectors
from core.runs.projections import MapFiles

PCA = ProjectionConfig("pca")


@pytest.fixture
def evaluated(store, created):
    """A run with sixty embeddings of two classes in its test split."""
    store.update(created.run, classes=("bad", "good"))
    folder = store.get_path(created.run) / "evaluation" / "test"
    folder.mkdir(parents=True)
    labels = np.arange(60) % 2
    vectors = np.random.default_rng(0).normal(size=(60, 6)) + 3 * labels[:, None]
    np.save(folder / "embeddings.npy", vectors.astype(np.float32))
    pd.DataFrame({"text": "t", "label": np.array(["bad", "good"])[labels]}).to_parquet(folder / "predictions.parquet")
    return created.run


def list_files(store, run, **settings):
    return MapFiles.from_run(store, run, "test", ProjectionConfig(**{"method": "pca", **settings}))


def test_stored_maps_are_read_unchanged_with_their_arguments(store, evaluated):
    here = list_files(store, evaluated)
    assert here.read() is None
    made = here.compute()
    again = here.read()
    assert (again.places == made.places).all() and (again.rows == np.arange(60)).all()
    assert again.quality.space == pytest.approx(made.quality.space, abs=1e-6)
    assert again.explained == made.explained
    about = json.loads(here.get_path("json").read_text())
    assert about["arguments"] == {"method": "pca", "dimensions": 2, "rows": 3000, "seed": 0}
    assert about["n"] == 60
    assert not here.get_path("progress.json").exists()


def test_settings_and_embeddings_determine_the_map_file(store, evaluated):
    changes = {}, {"dimensions": 3}, {"rows": 40}, {"seed": 1}, {"method": "tsne"}
    stems = {list_files(store, evaluated, **settings).stem for settings in changes}
    assert len(stems) == 5
    assert all(len(stem) == 64 for stem in stems)
    path = store.get_path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    np.save(path, np.load(path) + 1)
    assert list_files(store, evaluated).stem not in stems


def test_missing_splits_are_refused_with_the_existing_ones(store, evaluated):
    with pytest.raises(InputError, match="split 'dev'; it has test"):
        MapFiles.from_run(store, evaluated, "dev", PCA)
    with pytest.raises(InputError):
        MapFiles.from_run(store, evaluated, "../test", PCA)
    path = store.get_path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    whole = path.read_bytes()
    np.save(path, np.zeros((3, 6), np.float32))
    for content in (whole[:40], path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(RunDamaged, match=r"embeddings\.npy"):
            read_vectors(store.get_path(evaluated), "test", ("bad", "good"))


@pytest.mark.parametrize("harm", [lambda raw: raw[:-9], lambda raw: raw[:-1] + b"x", lambda raw: b""])
def test_damaged_maps_are_reported_and_recomputed(store, evaluated, harm):
    first = api.project(evaluated, method="pca", store=store)
    here = list_files(store, evaluated)
    raw = here.get_path("npy").read_bytes()
    here.get_path("npy").write_bytes(harm(raw))
    with pytest.raises(RunDamaged, match="npy: cannot be read"):
        here.read()
    assert api.project(evaluated, method="pca", store=store)["computed"]
    assert here.get_path("npy").read_bytes() == raw
    assert api.project(evaluated, method="pca", store=store) == {**first, "computed": False}


@pytest.mark.slow
def test_start_computes_in_a_background_process(store, evaluated):
    here = list_files(store, evaluated)
    here.start()
    assert background_jobs.read_job(here).status in ("running", "done")
    told = here.get_path("progress.json")
    if told.exists():
        with open(told) as stream:
            psutil.Process(json.load(stream)["process"]["pid"]).wait(60)
    assert background_jobs.read_job(here).status == "done"
    assert len(here.read().rows) == 60
