"""Nearest training texts against cosines written out, and texts that stand in training with other labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from answering import answering
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from core.exceptions import NotAvailable
from core.failures.nearest import MODEL, WORDS, Nearest
from core.failures.table import read_table
from core.failures.training import Training
from core.runs.store import RunStore

KNOWN = ["the film was good", "The film was bad", "a dull book", "nothing of it", "the film was good."]


@pytest.fixture
def near(tmp_path, monkeypatch):
    """Of three rows, five training texts and vectors that are given."""
    store = RunStore(tmp_path / "runs")
    rows = pd.DataFrame({"text": ["the film was good", "a dull film", "zzz"], "label": [0, 1, 0]})
    answering(store, "one", np.full((3, 2), 0.5), rows)
    table = read_table(store, "one")
    training = Training(store, table.record)
    given = {"texts": KNOWN, "named": ["bad", "good", "good", "bad", "good"], "rows": np.arange(5)}
    for name, value in given.items():
        training.__dict__[name] = value
    vectors = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    monkeypatch.setattr(Training, "vectors", lambda self, width: vectors[:, :width])
    return Nearest(table, training), training, vectors


def test_neighbours_are_those_of_the_largest_cosines(near):
    nearest, _, vectors = near
    asked = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    known = tfidf.fit_transform(KNOWN)
    texts = ["the film was good", "a dull film", "zzz"]
    for row, found in enumerate(nearest.of([0, 1, 2], 2, asked)):
        for kind, likeness in (
            (WORDS, cosine_similarity(tfidf.transform([texts[row]]), known)[0]),
            (MODEL, cosine_similarity(asked[row : row + 1], vectors)[0]),
        ):
            best = sorted((value for value in likeness if value > 0), reverse=True)[:2]
            own = [each for each in found if each.by == kind]
            np.testing.assert_allclose([each.likeness for each in own], best, rtol=1e-5)
            assert [likeness[KNOWN.index(each.text)] for each in own] == pytest.approx(best, rel=1e-5)


def test_a_model_without_vectors_has_neighbours_in_words_only(near):
    assert {each.by for each in near[0].of([0], 2, None)[0]} == {WORDS}


def test_the_same_text_in_training_is_counted_by_its_labels(near):
    _, training, _ = near
    assert training.same(["The film was GOOD", "new"])[1] == {}
    assert sum(training.same(["the film was good"])[0].values()) >= 1


def test_without_the_data_it_says_why(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "one", [[0.4, 0.6]], pd.DataFrame({"text": ["one"], "label": [0]}), data__name="/no/such.csv")
    table = read_table(store, "one")
    with pytest.raises(NotAvailable, match="cannot be read here"):
        Nearest(table, Training(store, table.record)).of([0], 2, None)
