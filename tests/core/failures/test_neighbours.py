"""Neighbours of several rows of a split: those of scikit-learn, counted by how many rows have them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from answering import answering, right_where, texts
from sklearn.neighbors import NearestNeighbors

from core.failures import neighbours
from core.failures.neighbours import around
from core.failures.table import read_table
from core.runs.projections import Space
from core.runs.store import RunStore

VECTORS = np.random.default_rng(4).normal(size=(30, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    store, labels = RunStore(tmp_path_factory.mktemp("around") / "runs"), np.arange(30) % 2
    answering(store, "one", right_where(np.arange(30) > 8, labels), texts(labels))
    return read_table(store, "one")


def test_those_outside_count_for_every_row_that_has_them_among_its_ten_nearest(table):
    places = np.array([2, 3, 5, 7, 11])
    outside = np.setdiff1d(np.arange(30), places)
    found = around(table, Space(np.arange(30), VECTORS, np.zeros(30)), places, most=30)
    distances, near = NearestNeighbors(n_neighbors=10).fit(VECTORS[outside]).kneighbors(VECTORS[places])
    votes = Counter(outside[near].ravel().tolist())
    assert dict(zip(found["row"], found["near"], strict=True)) == votes
    assert found["near"].is_monotonic_decreasing and found["row"].isin(outside).all()
    mean = {row: distances[outside[near] == row].mean() for row in votes}
    assert found["distance"].tolist() == pytest.approx([mean[row] for row in found["row"]], abs=1e-6)
    assert (
        around(table, Space(np.arange(30), VECTORS, np.zeros(30)), places)["row"].tolist() == found["row"].tolist()[:10]
    )


def test_of_rows_that_lie_not_in_the_space_or_are_all_of_it_there_are_none(table, monkeypatch):
    half = Space(np.arange(15), VECTORS[:15], np.zeros(15))
    assert len(around(table, half, np.arange(15))) == len(around(table, half, np.array([20, 21]))) == 0
    monkeypatch.setattr(neighbours, "LOOKED_AT", 3)
    assert around(table, half, np.arange(8), most=15)["near"].max() <= 3, "a sample of them is looked at"
