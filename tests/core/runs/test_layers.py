"""The layers of a run: read once, kept, and as good a space for maps and neighbours as the head's."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from core import api
from core.exceptions import InputError
from core.runs.predictions import read_vectors
from core.runs.projections import LayerFiles
from core.runs.store import RunStore

STAGES = ["embedding", "layer 1", "layer 2", "head"]


@pytest.fixture
def store(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    return RunStore(finished)


@pytest.mark.slow
def test_every_layer_is_measured_and_its_vectors_stored(store):
    told = []
    found = api.layers("mine", store=store, on_progress=lambda what, share: told.append(share))
    here = LayerFiles.from_run(store, "mine", "test")
    vectors, labels = read_vectors(store.get_path("mine"), "test", ("negative", "positive"))
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
    assert api.layers("mine", store=store, on_progress=lambda *about: pytest.fail("it is kept")) == found


@pytest.mark.slow
def test_maps_of_layers_have_separate_files(store):
    first, second = (api.project("mine", method="pca", space=space, store=store) for space in ("", "layer 2"))
    assert first["file"] != second["file"] and second["space"] == "layer 2" and first["n"] == second["n"]
    assert api.project("mine", method="pca", space="head", store=store)["file"] == first["file"]
    with pytest.raises(InputError, match=r"'layer 9'.*head, embedding, layer 1, layer 2"):
        api.project("mine", method="pca", space="layer 9", store=store)


@pytest.mark.slow
@pytest.mark.parametrize("space", ["", "layer 1"])
def test_neighbors_equal_scikit_learn_without_the_sentence_itself(store, space):
    table = api.errors("mine", where="all", store=store)["rows"]
    key = table[5]["key"]
    found = api.neighbours("mine", key=key, space=space, most=4, store=store)
    points, _ = read_vectors(store.get_path("mine"), "test", ("negative", "positive"))
    if space:
        points = LayerFiles.from_run(store, "mine", "test").load_vectors(space)[1]
    distances, rows = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(points.astype(float)).kneighbors()
    assert [each["distance"] for each in found["neighbours"]] == pytest.approx(distances[5].tolist(), abs=1e-3)
    assert key not in [each["key"] for each in found["neighbours"]]
    typed = api.neighbours("mine", table[5]["text"], space=space, most=1, store=store)["neighbours"]
    assert typed[0]["distance"] == pytest.approx(0, abs=1e-2), "the same text a second time"
    assert rows.shape[1] == len(found["neighbours"])


@pytest.mark.slow
def test_invalid_layer_requests_are_refused(store):
    with pytest.raises(InputError, match="--most 0"):
        api.neighbours("mine", "good", most=0, store=store)
    with pytest.raises(InputError, match="split 'dev'"):
        api.layers("mine", split="dev", store=store)
