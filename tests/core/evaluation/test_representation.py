"""Silhouettes: scikit-learn's numbers, quicker, and a reason where there are none."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import silhouette_samples as reference

from core.evaluation import representation
from core.evaluation.representation import silhouette, silhouette_samples


def clusters(rows: int, classes: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, rows)
    labels[:classes] = np.arange(classes)
    centres = random.normal(size=(classes, width))
    return (centres[labels] + random.normal(size=(rows, width)) + 5).astype(np.float32), labels


@pytest.mark.slow
@given(st.integers(6, 60), st.integers(2, 5), st.integers(1, 9), st.integers(0, 10_000))
@settings(max_examples=60)
def test_samples_equal_scikit_learn(rows, classes, width, seed):
    points, labels = clusters(rows, classes, width, seed)
    found = silhouette_samples(torch.from_numpy(points), torch.from_numpy(labels)).numpy()
    np.testing.assert_allclose(found, reference(points, labels), atol=1e-5)


def test_blocks_change_nothing(monkeypatch):
    points, labels = clusters(50, 3, 4, 0)
    whole = silhouette(points, labels, ["a", "b", "c"]).samples
    monkeypatch.setattr(representation, "_BLOCK", 50 * 7)
    np.testing.assert_allclose(silhouette(points, labels, ["a", "b", "c"]).samples, whole, atol=1e-12)


def test_overall_and_per_class_are_means_of_the_samples():
    points, labels = clusters(50, 3, 4, 1)
    found = silhouette(points, labels, ["a", "b", "c"])
    assert found.overall == pytest.approx(reference(points, labels).mean(), abs=1e-5)
    assert found.per_class["b"] == pytest.approx(reference(points, labels)[labels == 1].mean(), abs=1e-5)
    assert found.summary() == {"rows": 50, "of": 50, "overall": found.overall, "per_class": found.per_class}
    assert json.loads(json.dumps(found.summary(), allow_nan=False)) == found.summary()


def test_a_class_with_one_row_counts_zero_and_one_without_rows_is_absent():
    points = np.array([[0.0], [1.0], [9.0]], np.float32)
    found = silhouette(points, np.array([0, 0, 2]), ["a", "b", "c"])
    np.testing.assert_allclose(found.samples, [8 / 9, 7 / 8, 0])
    assert set(found.per_class) == {"a", "c"}


def test_identical_vectors_have_silhouette_zero():
    points = np.full((8, 3), 0.1, np.float32)
    assert silhouette(points, np.arange(8) % 2, ["a", "b"]).overall == 0


def test_separated_duplicates_have_silhouette_one():
    points = np.repeat(np.array([[0.1, 7.3], [4.7, -0.3]], np.float32), 4, axis=0)
    assert silhouette(points, np.repeat([0, 1], 4), ["a", "b"]).overall == 1


def test_far_from_the_origin_nothing_is_lost():
    points, labels = clusters(60, 2, 3, 2)
    points = (points * 0.01 + 1000).astype(np.float32)
    np.testing.assert_allclose(
        silhouette(points, labels, ["a", "b"]).samples, reference(points.astype(float), labels), atol=1e-5
    )


def test_above_the_limit_a_seeded_sample_is_compared_and_recorded():
    points, labels = clusters(100, 2, 3, 3)
    found = silhouette(points, labels, ["a", "b"], seed=1, largest=40)
    assert (len(found.rows), len(found.samples), found.summary()["rows"], found.summary()["of"]) == (40, 40, 40, 100)
    assert (np.diff(found.rows) > 0).all()
    np.testing.assert_allclose(found.samples, reference(points[found.rows], labels[found.rows]), atol=1e-5)
    again = silhouette(points, labels, ["a", "b"], seed=1, largest=40)
    np.testing.assert_array_equal(again.rows, found.rows)
    assert (silhouette(points, labels, ["a", "b"], seed=2, largest=40).rows != found.rows).any()


@pytest.mark.parametrize(
    ("points", "labels", "reason"),
    [
        (np.ones((3, 2)), [1, 1, 1], "fewer than two classes"),
        (np.ones((0, 2)), [], "fewer than two classes"),
        (np.ones((2, 2)), [0, 1], "a class of its own"),
        (np.array([[1.0], [np.nan], [2.0]]), [0, 1, 1], "not finite"),
    ],
)
def test_where_it_is_undefined_it_is_left_out_with_a_reason(points, labels, reason):
    found = silhouette(points, np.array(labels, int), ["a", "b"])
    assert reason in found.summary()["left_out"]
    assert (found.overall, found.per_class, len(found.samples)) == (None, {}, 0)
