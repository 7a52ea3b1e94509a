import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from core.error_analysis import neighbors
from core.error_analysis.neighbors import (
    MODEL,
    WORDS,
    NearestTraining,
    TrainingRows,
    find_conflicts,
    find_near_duplicates,
    find_shared,
    find_surrounding,
)
from core.error_analysis.predictions_table import read_table
from core.evaluation.projection import draw_rows
from core.exceptions import InputError, NotAvailable
from core.runs.projections import Space
from core.runs.store import RunStore

KNOWN = ["the film was good", "The film was bad", "a dull book", "nothing of it", "the film was good."]
VECTORS = np.random.default_rng(4).normal(size=(30, 4)).astype(np.float32)


@pytest.fixture
def near(tmp_path, monkeypatch):
    """Return neighbours for three rows, five training texts and given vectors."""
    store = RunStore(tmp_path / "runs")
    rows = pd.DataFrame({"text": ["the film was good", "a dull film", "zzz"], "label": [0, 1, 0]})
    answering(store, "one", np.full((3, 2), 0.5), rows)
    table = read_table(store, "one")
    training = TrainingRows(store, table.record)
    for name, value in {"texts": KNOWN, "named": ["bad", "good", "good", "bad", "good"], "rows": np.arange(5)}.items():
        training.__dict__[name] = value
    vectors = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    monkeypatch.setattr(TrainingRows, "read_vectors", lambda self, width: vectors[:, :width])
    return NearestTraining(table, training), training, vectors


def test_neighbors_have_the_largest_cosines_or_without_vectors_the_same_words(near):
    nearest, _, vectors = near
    asked = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    known = tfidf.fit_transform(KNOWN)
    texts = ["the film was good", "a dull film", "zzz"]
    for row, found in enumerate(nearest.find_nearest([0, 1, 2], 2, asked)):
        for kind, likeness in (
            (WORDS, cosine_similarity(tfidf.transform([texts[row]]), known)[0]),
            (MODEL, cosine_similarity(asked[row : row + 1], vectors)[0]),
        ):
            best = sorted((value for value in likeness if value > 0), reverse=True)[:2]
            own = [each for each in found if each.by == kind]
            np.testing.assert_allclose([each.likeness for each in own], best, rtol=1e-5)
            assert [likeness[KNOWN.index(each.text)] for each in own] == pytest.approx(best, rel=1e-5)
    assert {each.by for each in near[0].find_nearest([0], 2, None)[0]} == {WORDS}
    training = near[1]
    assert training.count_labels(["The film was GOOD", "new"])[1] == {}
    assert sum(training.count_labels(["the film was good"])[0].values()) >= 1


def test_missing_data_are_explained(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "one", [[0.4, 0.6]], pd.DataFrame({"text": ["one"], "label": [0]}), data__name="/no/such.csv")
    table = read_table(store, "one")
    with pytest.raises(NotAvailable, match="cannot be read here"):
        NearestTraining(table, TrainingRows(store, table.record)).find_nearest([0], 2, None)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    store, labels = RunStore(tmp_path_factory.mktemp("around") / "runs"), np.arange(30) % 2
    answering(store, "one", right_where(np.arange(30) > 8, labels), texts(labels))
    return read_table(store, "one")


def test_surrounding_rows_are_ranked_by_votes(table):
    places = np.array([2, 3, 5, 7, 11])
    outside = np.setdiff1d(np.arange(30), places)
    found = find_surrounding(table, Space(np.arange(30), VECTORS, np.zeros(30)), places, most=30)
    distances, near = NearestNeighbors(n_neighbors=10).fit(VECTORS[outside]).kneighbors(VECTORS[places])
    votes = Counter(outside[near].ravel().tolist())
    assert dict(zip(found["row"], found["near"], strict=True)) == votes
    assert found["near"].is_monotonic_decreasing and found["row"].isin(outside).all()
    mean = {row: distances[outside[near] == row].mean() for row in votes}
    assert found["distance"].tolist() == pytest.approx([mean[row] for row in found["row"]], abs=1e-6)
    ten = find_surrounding(table, Space(np.arange(30), VECTORS, np.zeros(30)), places)
    assert ten["row"].tolist() == found["row"].tolist()[:10]


def test_no_or_all_selected_rows_have_no_surrounding_rows(table, monkeypatch):
    half = Space(np.arange(15), VECTORS[:15], np.zeros(15))
    assert (
        len(find_surrounding(table, half, np.arange(15))) == len(find_surrounding(table, half, np.array([20, 21]))) == 0
    )
    monkeypatch.setattr(neighbors, "LOOKED_AT", 3)
    assert find_surrounding(table, half, np.arange(8), most=15)["near"].max() <= 3, "a sample of them is looked at"


RANDOM = np.random.default_rng(1)
TRAINED, ASKED = RANDOM.normal(size=(80, 5)).astype(np.float32), RANDOM.normal(size=(30, 5)).astype(np.float32)
LABELS = ["bad" if row % 3 else "good" for row in range(100)]
ROWS = np.sort(RANDOM.choice(100, 80, replace=False))  # Of the training rows, those that are compared
TRAINING = SimpleNamespace(
    rows=ROWS, texts=[f"trained {row}" for row in range(100)], named=LABELS, read_vectors=lambda width: TRAINED
)


def test_shared_neighbors_are_ranked_by_votes(table):
    places = np.array([2, 3, 5, 7, 11, 13])
    found = find_shared(table, places, ASKED[places], TRAINING, most=25)
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
    truth, said = (table.frame[name].to_numpy(object)[places, None] for name in ("true", "predicted"))
    assert (found.true, found.said) == pytest.approx(((named == truth).mean(), (named == said).mean()))
    assert (found.n, found.looked_at, found.among, found.each) == (6, 6, 80, 10)
    assert found.found["label"].iloc[0] == LABELS[ROWS[expected[0]]]


def test_empty_selections_have_no_neighbors_and_large_ones_are_sampled(table, monkeypatch):
    found = find_shared(table, np.empty(0, np.int64), np.empty((0, 5), np.float32), TRAINING)
    assert (found.n, found.true, found.said, len(found.found)) == (0, 0.0, 0.0, 0)
    monkeypatch.setattr(neighbors, "MOST_SELECTED", 12)
    found = find_shared(table, np.arange(30), ASKED, TRAINING)
    assert (found.n, found.looked_at) == (30, 12) and found.found["near"].max() <= 12


@pytest.mark.parametrize("most", [0, 201])
def test_too_many_neighbors_are_refused(table, most):
    with pytest.raises(InputError, match="a number of sentences from 1 to 200"):
        find_shared(table, np.arange(3), ASKED[:3], TRAINING, most=most)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_near_duplicates_equal_a_search_of_all_pairs(seed):
    random = np.random.default_rng(seed)
    words = [f"w{n}" for n in range(40)]
    training = [" ".join(random.choice(words, random.integers(1, 16))) for _ in range(150)]
    texts = [" ".join(random.choice(words, random.integers(0, 16))) for _ in range(60)]
    for number in range(60):  # half of the texts are training texts with a few words replaced
        if number % 2:
            own = training[number].split()
            for place in random.integers(0, len(own), random.integers(0, 3)):
                own[place] = random.choice(words)
            texts[number] = " ".join(own)

    def alike(one, other):
        first, second = set(re.findall(r"\w+", one)), set(re.findall(r"\w+", other))
        return bool(first) and 5 * len(first & second) >= 4 * len(first | second)

    expected = [any(alike(text, other) for other in training) for text in texts]
    assert 5 < sum(expected) < 55
    np.testing.assert_array_equal(find_near_duplicates(texts, training), expected)


def test_near_duplicates_ignore_case_and_order_and_many_training_rows_are_sampled():
    found = find_near_duplicates(["GOOD film!", "film good", "bad film", "", "!!!"], ["Good film.", "...", ""])
    assert np.flatnonzero(found).tolist() == [0, 1]
    assert find_near_duplicates([], ["a"]).tolist() == [] and find_near_duplicates(["a"], []).tolist() == [False]
    assert draw_rows(50, 50).tolist() == list(range(50))
    many = draw_rows(51, 50)
    assert len(many) == 50 == len(np.unique(many)) and (draw_rows(51, 50) == many).all()


def test_conflicts_are_decided_by_the_majority_of_ten_neighbors(monkeypatch):
    random = np.random.default_rng(0)
    known, asked = random.normal(size=(300, 5)).astype("f4"), random.normal(size=(80, 5)).astype("f4")
    known_labels, labels = (known[:, 0] > 0).astype(int), random.integers(0, 2, 80)
    nearest = NearestNeighbors(n_neighbors=10).fit(known).kneighbors(asked, return_distance=False)
    expected = (known_labels[nearest] != labels[:, None]).mean(1) > 0.5
    np.testing.assert_array_equal(find_conflicts(asked, labels, known, known_labels), expected)
    monkeypatch.setattr(neighbors, "_BLOCK", 900)  # a few rows at a time
    np.testing.assert_array_equal(find_conflicts(asked, labels, known, known_labels), expected)
    known, labels = np.zeros((3, 2), "f4"), np.array([[1, 0], [1, 0], [0, 1]])
    asked = np.zeros((2, 2), "f4")
    assert find_conflicts(asked, np.array([[1, 0], [0, 1]]), known, labels).tolist() == [False, True]
    assert find_conflicts(np.zeros((0, 2), "f4"), np.zeros((0, 2), int), known, labels).tolist() == []
