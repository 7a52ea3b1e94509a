"""Near duplicates against all pairs, neighbours against scikit-learn."""

import re

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from core.error_analysis import neighbors
from core.error_analysis.neighbors import find_conflicts, find_near_duplicates
from core.evaluation.nearest_neighbors import draw_rows


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


def test_near_duplicates_ignore_case_punctuation_and_order():
    found = find_near_duplicates(["GOOD film!", "film good", "bad film", "", "!!!"], ["Good film.", "...", ""])
    assert np.flatnonzero(found).tolist() == [0, 1]
    assert find_near_duplicates([], ["a"]).tolist() == [] and find_near_duplicates(["a"], []).tolist() == [False]


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


def test_many_training_rows_are_sampled_with_a_seed():
    assert draw_rows(50, 50).tolist() == list(range(50))
    many = draw_rows(51, 50)
    assert len(many) == 50 == len(np.unique(many)) and (draw_rows(51, 50) == many).all()
