import sys

import numpy as np
import pytest
from refused import check_raises
from scipy.stats import gaussian_kde
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples
from sklearn.neighbors import NearestNeighbors

from core.evaluation import projection
from core.evaluation.projection import (
    NARROWER,
    ProjectionConfig,
    compute_chance_purity,
    compute_purity,
    estimate_density,
    find_nearest,
    fit_pca,
    measure_preservation,
    measure_quality,
    place_among,
    project_split,
    sample_rows,
)
from core.exceptions import InputError, NotAvailable


@pytest.fixture
def clouds():
    """Return sixty points in two clusters of eight dimensions, and their classes."""
    random = np.random.default_rng(0)
    labels = np.arange(60) % 2
    return (random.normal(size=(60, 8)) + 4 * labels[:, None]).astype(np.float32), labels


@pytest.mark.parametrize("dimensions", [2, 3])
def test_pca_equals_scikit_learn_up_to_sign(clouds, dimensions):
    points, _ = clouds
    ours, theirs = fit_pca(points, dimensions), PCA(dimensions).fit(points.astype(float))
    expected = theirs.transform(points.astype(float))
    signs = np.sign((ours.axes * theirs.components_).sum(1))
    assert ours.transform(points) == pytest.approx(expected * signs, abs=1e-5)
    assert ours.explained == pytest.approx(theirs.explained_variance_ratio_)


def test_pca_axes_have_a_fixed_sign(clouds):
    points, _ = clouds
    first, second = fit_pca(points, 2), fit_pca(points[::-1], 2)
    assert first.axes == pytest.approx(second.axes, abs=1e-6)
    assert (first.axes[np.arange(2), np.abs(first.axes).argmax(1)] > 0).all()


def test_map_silhouettes_equal_scikit_learn_and_preserved_neighbors_are_counted(clouds):
    points, labels = clouds
    made = project_split(points, labels, ProjectionConfig("pca"))
    assert fit_pca(points, 2).transform(points[7:8])[0] == pytest.approx(made.places[7], abs=1e-5)
    assert made.quality.space == pytest.approx(silhouette_samples(points.astype(float), labels), abs=1e-6)
    assert made.quality.plane == pytest.approx(silhouette_samples(made.places.astype(float), labels), abs=1e-6)
    found = measure_quality(points, points[:, :2], np.zeros_like(labels), 100, 0)
    assert "fewer than two classes" in found.reason and found.space.size == 0
    assert 0 < found.preserved < 1
    made = project_split(points, labels, ProjectionConfig("pca", rows=20))
    assert len(made.places) == 60 and len(made.quality.rows) == len(made.quality.space) == 20
    assert measure_preservation(clouds[0], -2 * clouds[0]) == 1.0
    assert measure_preservation(clouds[0][:11], clouds[0][:11]) is None
    before = np.concatenate([np.arange(11.0), 1000 + np.arange(11.0) ** 1.5])[:, None]
    after = before.copy()
    after[[0, 11]] = after[[11, 0]]  # two rows swap their groups of eleven
    # The two swapped rows keep none of ten neighbours; each of the twenty others loses one.
    assert measure_preservation(before, after) == pytest.approx((2 * 0 + 20 * 9) / 220)


def test_samples_are_stratified_and_depend_on_the_seed():
    labels = np.repeat([0, 1, 2], [600, 300, 100])
    rows = sample_rows(labels, 100, 0)
    assert np.bincount(labels[rows]).tolist() == [60, 30, 10] and (np.diff(rows) > 0).all()
    assert (rows == sample_rows(labels, 100, 0)).all() and (rows != sample_rows(labels, 100, 1)).any()
    assert sample_rows(labels, 1000, 0).tolist() == list(range(1000))


def test_new_texts_are_placed_at_the_mean_of_their_neighbors():
    points = np.array([[0.0, 0], [1, 0], [0, 1], [9, 9]])
    place, nearest = place_among(np.array([0.1, 0.2]), points, np.array([[0.0, 0], [2, 0], [0, 4], [50, 50]]), 3)
    assert sorted(nearest) == [0, 1, 2] and nearest[0] == 0 and place == pytest.approx([2 / 3, 4 / 3])


@pytest.mark.parametrize(("method", "dimensions"), [("tsne", 2), ("umap", 3)])
@pytest.mark.slow
def test_seeds_fix_the_map_and_clusters_stay_separate(clouds, method, dimensions):
    points, labels = clouds
    config = ProjectionConfig(method, dimensions, rows=50)
    told = []
    made = project_split(points, labels, config, lambda what, share: told.append((what, share)))
    assert made.places.shape == (50, dimensions) and made.quality.plane.mean() > 0.5
    assert (made.places == project_split(points, labels, config).places).all()
    assert told[-1] == ("measuring the map", None)
    if method == "tsne":
        shares = [share for _, share in told if share is not None]
        assert shares == sorted(shares) and shares[-1] == 1.0


@pytest.mark.parametrize(("method", "module", "package"), [("tsne", "openTSNE", "openTSNE"), ("umap", "umap", "umap-")])
def test_missing_libraries_are_reported(clouds, monkeypatch, method, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    check_raises(NotAvailable, f"{package}.* is not installed", project_split, *clouds, ProjectionConfig(method))


def test_impossible_settings_are_refused_and_a_small_split_gets_a_smaller_perplexity(clouds):
    for wrong in ({"method": "mds"}, {"dimensions": 4}, {"rows": 2}):
        check_raises(InputError, None, ProjectionConfig, **wrong)
    check_raises(InputError, "width 1 have no 2 dimensions", fit_pca, np.ones((6, 1)), 2)
    points, labels = clouds
    check_raises(InputError, "at least 5", project_split, points[:4], labels[:4], ProjectionConfig("pca"))
    points[3, 3] = np.nan
    check_raises(InputError, "not finite", project_split, points, labels, ProjectionConfig("pca"))
    assert [ProjectionConfig("tsne").list_arguments(rows)["perplexity"] for rows in (31, 3000)] == [10, 30]
    assert ProjectionConfig("umap").list_arguments(8)["n_neighbors"] == 7


@pytest.fixture
def two_clouds():
    """Return two clusters, one three times as large."""
    random = np.random.default_rng(3)
    return np.concatenate([random.normal(0, 1, (300, 2)), random.normal(8, 1, (100, 2))])


@pytest.mark.slow
def test_the_density_equals_scipys(two_clouds):
    # With identity covariance SciPy's kernel is isotropic, like ours.
    points = (two_clouds - two_clouds.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(two_clouds.T))).T
    found = estimate_density(points)  # on a grid, so a peak is wrong by at most 2 %
    x, y = np.meshgrid(found.x, found.y)
    wide = NARROWER * len(points) ** (-1 / 6) * np.sqrt(points.var(0).mean())
    expected = gaussian_kde(points.T, wide)(np.stack([x.ravel(), y.ravel()])).reshape(x.shape)
    assert found.values == pytest.approx(expected, abs=0.02 * expected.max())


def test_density_integrates_to_one_and_needs_two_dimensions(two_clouds):
    found = estimate_density(two_clouds)
    cell = (found.x[1] - found.x[0]) * (found.y[1] - found.y[0])
    assert found.values.sum() * cell == pytest.approx(1, abs=1e-6)
    for share in (0.1, 0.5, 0.9):
        assert found.values[found.held <= share].sum() * cell == pytest.approx(share, abs=0.01)
    dense, far = np.unravel_index(found.values.argmax(), found.values.shape), (0, 0)
    assert found.held[dense] < 0.01 and found.held[far] == pytest.approx(1)
    assert estimate_density(np.column_stack([np.arange(9.0), np.ones(9)])) is None
    assert estimate_density(np.zeros((1, 2))) is None


@pytest.fixture
def clusters():
    """Return ninety points in three overlapping clusters, and their classes."""
    random = np.random.default_rng(2)
    labels = np.arange(90) % 3
    return (random.normal(size=(90, 5)) + 1.5 * np.eye(3, 5)[labels]).astype(np.float32), labels


def test_nearest_neighbors_equal_scikit_learn(clusters, monkeypatch):
    points, _ = clusters
    distances, rows = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(points.astype(float)).kneighbors()
    monkeypatch.setattr(projection, "_BLOCK", 90 * 4)  # a few at a time
    found, away = find_nearest(points, points, 7, np.arange(90))
    assert (found == rows).all() and away == pytest.approx(distances, abs=1e-6)


def test_candidate_selection_is_exact_for_repeated_rows_and_offsets(clusters, monkeypatch):
    points = np.concatenate([clusters[0], clusters[0][:30]]).astype(float) + 1e3
    own = np.arange(len(points))
    every = projection._search_all(points, points, own, 7)

    def refuse(*args):
        raise AssertionError("all distances")

    monkeypatch.setattr("scipy.spatial.distance.cdist", refuse)
    found = find_nearest(points, points, 7, own)
    assert (found[0] == every[0]).all() and found[1] == pytest.approx(every[1], abs=1e-12)


def test_ties_keep_row_order_and_rows_exclude_only_themselves(clusters):
    points = np.array([[2.0], [1], [1], [0], [1], [3], [1]])
    assert find_nearest(np.array([[0.0]]), points, 3)[0].tolist() == [[3, 1, 2]]
    assert find_nearest(np.array([[1.0], [0]]), points, 5)[0].tolist() == [[1, 2, 4, 6, 0], [3, 1, 2, 4, 6]]
    same = np.zeros((3_000, 500))
    assert find_nearest(same[:2], same, 3, np.arange(2))[0].tolist() == [[1, 2, 3], [0, 2, 3]]
    points, _ = clusters
    rows, distances = find_nearest(points[4:5], points, 3)
    assert rows[0, 0] == 4 and distances[0, 0] == 0
    assert 4 not in find_nearest(points[4:5], points, 89, np.array([4]))[0]
    assert find_nearest(points[4:5], points, 200, np.array([4]))[0].shape == (1, 89)
    assert find_nearest(points[:0], points, 3)[0].shape == (0, 3)


def test_purity_is_the_share_of_neighbors_with_the_same_class(clusters):
    points, labels = clusters
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
