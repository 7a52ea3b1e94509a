"""Nearest neighbours and purity compared with scikit-learn and closed formulas."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from core.evaluation import projection
from core.evaluation.projection import compute_chance_purity, compute_purity, find_nearest


@pytest.fixture
def clouds():
    """Return ninety points in three overlapping clusters, and their classes."""
    random = np.random.default_rng(2)
    labels = np.arange(90) % 3
    return (random.normal(size=(90, 5)) + 1.5 * np.eye(3, 5)[labels]).astype(np.float32), labels


def test_nearest_neighbors_equal_scikit_learn(clouds, monkeypatch):
    points, _ = clouds
    distances, rows = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(points.astype(float)).kneighbors()
    monkeypatch.setattr(projection, "_BLOCK", 90 * 4)  # a few at a time
    found, away = find_nearest(points, points, 7, np.arange(90))
    assert (found == rows).all()
    assert away == pytest.approx(distances, abs=1e-6)


def test_candidate_selection_is_exact_for_repeated_rows_and_offsets(clouds, monkeypatch):
    points = np.concatenate([clouds[0], clouds[0][:30]]).astype(float) + 1e3
    own = np.arange(len(points))
    every = projection._search_all(points, points, own, 7)

    def refuse(*args):
        raise AssertionError("all distances")

    monkeypatch.setattr("scipy.spatial.distance.cdist", refuse)
    found = find_nearest(points, points, 7, own)
    assert (found[0] == every[0]).all() and found[1] == pytest.approx(every[1], abs=1e-12)


def test_ties_keep_row_order_and_rows_exclude_only_themselves(clouds):
    points = np.array([[2.0], [1], [1], [0], [1], [3], [1]])
    assert find_nearest(np.array([[0.0]]), points, 3)[0].tolist() == [[3, 1, 2]]
    assert find_nearest(np.array([[1.0], [0]]), points, 5)[0].tolist() == [[1, 2, 4, 6, 0], [3, 1, 2, 4, 6]]
    same = np.zeros((3_000, 500))
    assert find_nearest(same[:2], same, 3, np.arange(2))[0].tolist() == [[1, 2, 3], [0, 2, 3]]
    points, _ = clouds
    rows, distances = find_nearest(points[4:5], points, 3)
    assert rows[0, 0] == 4 and distances[0, 0] == 0
    assert 4 not in find_nearest(points[4:5], points, 89, np.array([4]))[0]
    assert find_nearest(points[4:5], points, 200, np.array([4]))[0].shape == (1, 89)
    assert find_nearest(points[:0], points, 3)[0].shape == (0, 3)


def test_purity_is_the_share_of_neighbors_with_the_same_class(clouds):
    points, labels = clouds
    rows = NearestNeighbors(n_neighbors=10).fit(points.astype(float)).kneighbors(return_distance=False)
    assert compute_purity(points, labels) == pytest.approx((labels[rows] == labels[:, None]).mean(1))
    assert compute_purity(points[:11], labels[:11]) is None
    points = np.arange(12.0)[:, None]
    labels = np.zeros((12, 2), int)
    labels[6:, 0] = 1
    labels[11] = 1
    found = compute_purity(points, labels)
    assert found[0] == 0.5, "of the ten nearest others of the first, five have no label as it has"
    assert found[11] == 0
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    same = labels[:, None] == labels
    np.fill_diagonal(same, False)
    assert compute_chance_purity(labels) == pytest.approx(same.sum() / (10 * 9))
    assert compute_chance_purity(np.zeros(1, int)) == 1.0
