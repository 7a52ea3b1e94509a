"""Training sentences near to a selection: those of scikit-learn, counted by how many of it have them."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from answering import answering, right_where, texts
from sklearn.neighbors import NearestNeighbors

from core.exceptions import InputError
from core.failures import common as common_of
from core.failures.common import common
from core.failures.table import read_table
from core.runs.store import RunStore

RANDOM = np.random.default_rng(1)
TRAINED, ASKED = RANDOM.normal(size=(80, 5)).astype(np.float32), RANDOM.normal(size=(30, 5)).astype(np.float32)
LABELS = ["bad" if row % 3 else "good" for row in range(100)]
ROWS = np.sort(RANDOM.choice(100, 80, replace=False))
"""Of the training rows, those that are compared."""
TRAINING = SimpleNamespace(
    rows=ROWS, texts=[f"trained {row}" for row in range(100)], named=LABELS, vectors=lambda width: TRAINED
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    store, labels = RunStore(tmp_path_factory.mktemp("common") / "runs"), np.arange(30) % 2
    answering(store, "one", right_where(np.arange(30) > 8, labels), texts(labels))
    return read_table(store, "one")


def test_each_counts_for_the_selected_sentences_that_have_it_among_their_ten_nearest(table):
    places = np.array([2, 3, 5, 7, 11, 13])
    found = common(table, places, ASKED[places], TRAINING, most=25)
    distances, near = NearestNeighbors(n_neighbors=10, metric="cosine").fit(TRAINED).kneighbors(ASKED[places])
    votes = Counter(near.ravel().tolist())
    mean = {row: 1 - distances[near == row].mean() for row in votes}
    expected = sorted(votes, key=lambda row: (-votes[row], -mean[row]))[:25]
    assert found.found["row"].tolist() == ROWS[expected].tolist()
    assert found.found["near"].tolist() == [votes[row] for row in expected]
    assert found.found["share"].tolist() == [votes[row] / 6 for row in expected]
    assert found.found["likeness"].tolist() == pytest.approx([mean[row] for row in expected], abs=1e-6)
    assert found.found["text"].tolist() == [f"trained {ROWS[row]}" for row in expected]
    named = np.array(LABELS, object)[ROWS][near]
    truth, said = (table.frame[name].to_numpy(object)[places, None] for name in ("truth", "said"))
    assert (found.true, found.said) == pytest.approx(((named == truth).mean(), (named == said).mean()))
    assert (found.n, found.looked_at, found.among, found.each) == (6, 6, 80, 10)
    assert found.report()["neighbours"][0]["label"] == LABELS[ROWS[expected[0]]]


def test_nothing_selected_has_no_neighbours(table):
    found = common(table, np.empty(0, np.int64), np.empty((0, 5), np.float32), TRAINING)
    assert (found.n, found.true, found.said, len(found.found)) == (0, 0.0, 0.0, 0) and found.report()[
        "neighbours"
    ] == []


def test_of_very_many_a_sample_is_looked_at(table, monkeypatch):
    monkeypatch.setattr(common_of, "LOOKED_AT", 12)
    found = common(table, np.arange(30), ASKED, TRAINING)
    assert (found.n, found.looked_at) == (30, 12) and found.found["near"].max() <= 12


@pytest.mark.parametrize("most", [0, 201])
def test_so_many_cannot_be_asked_for(table, most):
    with pytest.raises(InputError, match="a number of sentences from 1 to 200"):
        common(table, np.arange(3), ASKED[:3], TRAINING, most=most)
