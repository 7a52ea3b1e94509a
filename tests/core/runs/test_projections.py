import json

import numpy as np
import pandas as pd
import psutil
import pytest
from refused import check_raises
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from core import api
from core.evaluation.projection import ProjectionConfig
from core.exceptions import InputError, RunDamaged
from core.runs import background_jobs
from core.runs.predictions import read_vectors
from core.runs.projections import LayerFiles, MapFiles
from core.runs.store import RunStore

PCA = ProjectionConfig("pca")
STAGES = ["embedding", "layer 1", "layer 2", "head"]


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


def test_stored_maps_are_read_unchanged_and_named_by_settings_and_embeddings(store, evaluated):
    here = list_files(store, evaluated)
    assert here.read() is None
    made = here.compute()
    again = here.read()
    assert (again.places == made.places).all() and (again.rows == np.arange(60)).all()
    assert again.quality.space == pytest.approx(made.quality.space, abs=1e-6) and again.explained == made.explained
    about = json.loads(here.get_path("json").read_text())
    assert about["arguments"] == {"method": "pca", "dimensions": 2, "rows": 3000, "seed": 0} and about["n"] == 60
    assert not here.get_path("progress.json").exists()
    changes = {}, {"dimensions": 3}, {"rows": 40}, {"seed": 1}, {"method": "tsne"}
    stems = {list_files(store, evaluated, **settings).stem for settings in changes}
    assert len(stems) == 5 and all(len(stem) == 64 for stem in stems)
    path = store.get_path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    np.save(path, np.load(path) + 1)
    assert list_files(store, evaluated).stem not in stems


def test_missing_splits_are_refused_with_the_existing_ones(store, evaluated):
    check_raises(InputError, "split 'dev'; it has test", MapFiles.from_run, store, evaluated, "dev", PCA)
    check_raises(InputError, None, MapFiles.from_run, store, evaluated, "../test", PCA)
    path = store.get_path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    whole = path.read_bytes()
    np.save(path, np.zeros((3, 6), np.float32))
    for content in (whole[:40], path.read_bytes()):
        path.write_bytes(content)
        check_raises(RunDamaged, r"embeddings\.npy", read_vectors, store.get_path(evaluated), "test", ("bad", "good"))


@pytest.mark.parametrize("harm", [lambda raw: raw[:-9], lambda raw: raw[:-1] + b"x", lambda raw: b""])
def test_damaged_maps_are_reported_and_recomputed(store, evaluated, harm):
    first = api.project(evaluated, method="pca", store=store)
    here = list_files(store, evaluated)
    raw = here.get_path("npy").read_bytes()
    here.get_path("npy").write_bytes(harm(raw))
    check_raises(RunDamaged, "npy: cannot be read", here.read)
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
    assert background_jobs.read_job(here).status == "done" and len(here.read().rows) == 60


@pytest.fixture
def own_store(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    return RunStore(finished)


@pytest.mark.slow
def test_every_layer_is_measured_and_its_vectors_stored(own_store):
    told = []
    found = api.layers("mine", store=own_store, on_progress=lambda what, share: told.append(share))
    here = LayerFiles.from_run(own_store, "mine", "test")
    vectors, labels = read_vectors(own_store.get_path("mine"), "test", ("negative", "positive"))
    assert [each["name"] for each in found["stages"]] == STAGES
    assert (found["n"], found["of"], found["neighbours"]) == (len(labels), len(labels), 10)
    for each in found["stages"]:
        rows, points = np.arange(len(labels)), vectors
        if each["name"] != "head":
            rows, points = here.load_vectors(each["name"])
        near = NearestNeighbors(n_neighbors=10).fit(points).kneighbors(return_distance=False)
        assert each["silhouette"] == pytest.approx(silhouette_score(points, labels[rows]), abs=1e-5)
        assert each["purity"] == pytest.approx((labels[rows][near] == labels[rows][:, None]).mean(), abs=0.01)
    shares = [share for share in told if share is not None]
    assert shares == sorted(shares) and shares[-1] < 1
    assert api.layers("mine", store=own_store, on_progress=lambda *about: pytest.fail("it is kept")) == found


@pytest.mark.slow
def test_maps_of_layers_have_separate_files_and_invalid_layers_are_refused(own_store):
    first, second = (api.project("mine", method="pca", space=space, store=own_store) for space in ("", "layer 2"))
    assert first["file"] != second["file"] and second["space"] == "layer 2" and first["n"] == second["n"]
    assert api.project("mine", method="pca", space="head", store=own_store)["file"] == first["file"]
    with pytest.raises(InputError, match=r"'layer 9'.*head, embedding, layer 1, layer 2"):
        api.project("mine", method="pca", space="layer 9", store=own_store)
    check_raises(InputError, "--most 0", api.neighbours, "mine", "good", most=0, store=own_store)
    check_raises(InputError, "split 'dev'", api.layers, "mine", split="dev", store=own_store)


@pytest.mark.slow
@pytest.mark.parametrize("space", ["", "layer 1"])
def test_neighbors_equal_scikit_learn_without_the_sentence_itself(own_store, space):
    table = api.errors("mine", where="all", store=own_store)["rows"]
    key = table[5]["key"]
    found = api.neighbours("mine", key=key, space=space, most=4, store=own_store)
    points, _ = read_vectors(own_store.get_path("mine"), "test", ("negative", "positive"))
    if space:
        points = LayerFiles.from_run(own_store, "mine", "test").load_vectors(space)[1]
    distances, rows = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(points.astype(float)).kneighbors()
    assert [each["distance"] for each in found["neighbours"]] == pytest.approx(distances[5].tolist(), abs=1e-3)
    assert key not in [each["key"] for each in found["neighbours"]]
    typed = api.neighbours("mine", table[5]["text"], space=space, most=1, store=own_store)["neighbours"]
    assert typed[0]["distance"] == pytest.approx(0, abs=1e-2), "the same text a second time"
    assert rows.shape[1] == len(found["neighbours"])
