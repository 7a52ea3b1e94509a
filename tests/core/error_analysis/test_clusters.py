"""Groups in a space where they were planted: who is in them, what they are called, and who is in none."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import HDBSCAN

from core.error_analysis.clusters import NAMELESS, cluster_vectors, name_clusters, report_clusters
from core.error_analysis.keywords import Phrases


@pytest.fixture
def planted():
    """Three clouds of sixty sentences, two with their own words, and thirty scattered sentences."""
    random = np.random.default_rng(1)
    middles = np.eye(6)[:3] * 30
    clouds = [middle + random.normal(size=(60, 6)) for middle in middles]
    strewn = random.uniform(-200, 200, (30, 6))
    says = ["late delivery again", "money refund please", "it was there"]
    texts = [f"{says[kind]} {number % 7}" for kind in range(3) for number in range(60)]
    texts += [f"it was there {number % 7}" for number in range(30)]
    return np.concatenate([*clouds, strewn]), texts, np.repeat([0, 1, 2, -1], [60, 60, 60, 30])


def test_planted_clouds_are_found_and_scattered_points_have_no_cluster(planted):
    vectors, _, kinds = planted
    found = cluster_vectors(vectors, 10)
    assert [np.unique(found[kinds == kind]).size for kind in range(3)] == [1, 1, 1]
    assert np.unique(found[kinds >= 0]).size == 3 and (found[kinds >= 0] >= 0).all()
    assert (found[kinds < 0] == -1).mean() > 0.9
    assert (cluster_vectors(vectors, 10) == found).all()


def test_clusters_are_named_by_keywords_and_report_their_rows(planted):
    _, texts, kinds = planted
    rows = np.arange(len(texts)) * 2  # every second row of the split is clustered
    found = name_clusters(kinds, rows, texts, 10)
    first, second, third = found.groups
    assert {first.name, second.name} == {"again · delivery · late", "money · please · refund"}
    assert third.name == "it · there · was", "more often than elsewhere, though what is strewn says it too"
    words = Phrases(texts).find_keywords(kinds == 0)
    assert first.words[0] == words[0] and first.words[0].selected == 60
    assert first.places.tolist() == list(range(0, 120, 2)) and found.none.tolist() == list(range(360, 420, 2))
    wrong = np.arange(len(texts)) % 3 == 0
    frame = pd.DataFrame({"key": [f"k{row}" for row in range(len(texts))], "wrong": wrong})
    told = SimpleNamespace(frame=frame, wrong=wrong, split="test", record=SimpleNamespace(run="r"))
    found = report_clusters(told, name_clusters(kinds, np.arange(len(texts)), texts, 10))
    assert [each["n"] for each in found["groups"]] == [60, 60, 60]
    assert [each["wrong"] for each in found["groups"]] == [int(wrong[kinds == kind].sum()) for kind in range(3)]
    assert found["groups"][0]["keys"] == [f"k{row}" for row in range(60)]
    assert found["none"]["n"] + sum(each["n"] for each in found["groups"]) == found["looked_at"] == len(texts)


def test_a_cluster_of_most_rows_is_split():
    random = np.random.default_rng(0)
    middles = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 900.0]], [60, 60, 40], axis=0)
    vectors = middles + random.normal(size=middles.shape)
    alone = HDBSCAN(min_cluster_size=10, min_samples=5, copy=True).fit_predict(vectors)
    assert sorted(np.bincount(alone[alone >= 0])) == [40, 120], "by itself it takes the two that touch for one"
    found = cluster_vectors(vectors, 10)
    assert len(np.unique(found[found >= 0])) == 3 and np.bincount(found[found >= 0]).max() <= 80
    assert np.unique(found[:60][found[:60] >= 0]).size == 1


def test_sparse_data_have_no_clusters_and_names_are_unique():
    found = cluster_vectors(np.random.default_rng(0).normal(size=(100, 20)) * np.arange(1, 101)[:, None] ** 2, 10)
    assert (found == -1).all()
    assert name_clusters(found, np.arange(100), ["a"] * 100, 10).none.tolist() == list(range(100))
    kinds = np.repeat([0, 1, 2], 20)
    found = name_clusters(kinds, np.arange(60), [f"alike {row % 5}" for row in range(60)], 10)
    assert [each.name for each in found.groups] == [NAMELESS, f"{NAMELESS} (2)", f"{NAMELESS} (3)"]
