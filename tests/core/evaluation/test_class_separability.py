import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import silhouette_samples as reference
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors
from small_readers import reader

from core.evaluation import class_separability
from core.evaluation.class_separability import (
    compute_cka,
    compute_row_silhouettes,
    compute_silhouettes,
    explain_no_silhouette,
    measure_separability,
    read_layers,
)
from core.evaluation.inference import predict_texts
from core.evaluation.intervals import compute_mean_interval
from core.models.trace import Batch
from core.text.token_table import build_token_table

TEXTS = ["very very good", "", "never bad but good , good", "bad"]


def clusters(rows: int, classes: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, rows)
    labels[:classes] = np.arange(classes)
    centers = random.normal(size=(classes, width))
    return (centers[labels] + random.normal(size=(rows, width)) + 5).astype(np.float32), labels


@pytest.mark.slow
@given(st.integers(6, 60), st.integers(2, 5), st.integers(1, 9), st.integers(0, 10_000))
@settings(max_examples=60)
def test_silhouettes_equal_scikit_learn(rows, classes, width, seed):
    points, labels = clusters(rows, classes, width, seed)
    found = compute_row_silhouettes(torch.from_numpy(points), torch.from_numpy(labels)).numpy()
    np.testing.assert_allclose(found, reference(points, labels), atol=1e-5)


def test_silhouettes_do_not_depend_on_block_size_or_offset(monkeypatch):
    points, labels = clusters(50, 3, 4, 0)
    whole = compute_silhouettes(points, labels, ["a", "b", "c"]).samples
    monkeypatch.setattr(class_separability, "_BLOCK", 50 * 7)
    np.testing.assert_allclose(compute_silhouettes(points, labels, ["a", "b", "c"]).samples, whole, atol=1e-12)
    points, labels = clusters(60, 2, 3, 2)
    points = (points * 0.01 + 1000).astype(np.float32)
    found = compute_silhouettes(points, labels, ["a", "b"]).samples
    np.testing.assert_allclose(found, reference(points.astype(float), labels), atol=1e-5)


def test_silhouette_means_are_over_samples_and_single_rows_count_zero():
    points, labels = clusters(50, 3, 4, 1)
    found = compute_silhouettes(points, labels, ["a", "b", "c"])
    assert found.overall == pytest.approx(reference(points, labels).mean(), abs=1e-5)
    assert found.per_class["b"] == pytest.approx(reference(points, labels)[labels == 1].mean(), abs=1e-5)
    assert found.summarize() == {"rows": 50, "of": 50, "overall": found.overall, "per_class": found.per_class}
    assert json.loads(json.dumps(found.summarize(), allow_nan=False)) == found.summarize()
    points = np.array([[0.0], [1.0], [9.0]], np.float32)
    found = compute_silhouettes(points, np.array([0, 0, 2]), ["a", "b", "c"])
    np.testing.assert_allclose(found.samples, [8 / 9, 7 / 8, 0])
    assert set(found.per_class) == {"a", "c"}
    assert compute_silhouettes(np.full((8, 3), 0.1, np.float32), np.arange(8) % 2, ["a", "b"]).overall == 0, (
        "all the same"
    )
    apart = np.repeat(np.array([[0.1, 7.3], [4.7, -0.3]], np.float32), 4, axis=0)
    assert compute_silhouettes(apart, np.repeat([0, 1], 4), ["a", "b"]).overall == 1, "separated duplicates"


def test_large_splits_are_sampled_with_a_seed():
    points, labels = clusters(100, 2, 3, 3)
    found = compute_silhouettes(points, labels, ["a", "b"], seed=1, largest=40)
    assert len(found.rows) == len(found.samples) == found.summarize()["rows"] == 40 and found.summarize()["of"] == 100
    assert (np.diff(found.rows) > 0).all()
    np.testing.assert_allclose(found.samples, reference(points[found.rows], labels[found.rows]), atol=1e-5)
    np.testing.assert_array_equal(compute_silhouettes(points, labels, ["a", "b"], seed=1, largest=40).rows, found.rows)
    assert (compute_silhouettes(points, labels, ["a", "b"], seed=2, largest=40).rows != found.rows).any()


@pytest.mark.parametrize(
    ("points", "labels", "reason"),
    [
        (np.ones((3, 2)), [1, 1, 1], "fewer than two classes"),
        (np.ones((0, 2)), [], "fewer than two classes"),
        (np.ones((2, 2)), [0, 1], "a class of its own"),
        (np.array([[1.0], [np.nan], [2.0]]), [0, 1, 1], "not finite"),
    ],
)
def test_undefined_silhouettes_have_a_reason(points, labels, reason):
    found = compute_silhouettes(points, np.array(labels, int), ["a", "b"])
    assert reason in found.summarize()["left_out"]
    assert (found.overall, found.per_class, len(found.samples)) == (None, {}, 0)


@pytest.mark.parametrize("preset", ["vanilla", "ndt-01-n3", "tweet-v1-p2", "sentiformer"])
def test_text_vectors_are_means_over_their_tokens(preset):
    of = reader(preset)
    found = read_layers(of.model, of.tokenizer, TEXTS)
    assert found.shape == (len(of.model.layers) + 1, 4, of.model.embedding.embedding_dim)
    assert (found[:, 1] == 0).all(), "no token"
    for row in (0, 2, 3):
        table = build_token_table(of.tokenizer, [TEXTS[row]])
        with torch.no_grad():
            trace = of.model(Batch.from_arrays(table.pad_all()), trace=True).trace
        own = slice(of.model.first, of.model.first + int(table.lengths[0]))  # no class token, no padding
        seen = [trace.embedded, *(layer.hidden for layer in trace.layers)]
        expected = [vectors[0, own].mean(0).tolist() for vectors in seen]
        assert found[:, row] == pytest.approx(np.array(expected), abs=1e-5)


def test_layer_vectors_start_with_embeddings_and_end_with_the_head_input():
    of = reader("vanilla", norm_place="post")
    found = read_layers(of.model, of.tokenizer, TEXTS)
    assert found[-1] == pytest.approx(predict_texts(of.model, of.tokenizer, TEXTS).pooled, abs=1e-5)
    assert np.abs(found[0] - found[-1]).max() > 0.1
    of = reader("vanilla", position="none")
    rows = of.model.embedding.weight[list(of.tokenizer.encode_batch(["bad good"])[0])].detach().numpy() * of.model.scale
    assert read_layers(of.model, of.tokenizer, ["bad good"])[0, 0] == pytest.approx(rows.mean(0), abs=1e-6)


def test_batch_size_does_not_change_layer_vectors(monkeypatch):
    of = reader("vanilla")
    whole = read_layers(of.model, of.tokenizer, TEXTS)
    monkeypatch.setattr(class_separability, "PAIRS", 1)
    told = []
    assert read_layers(of.model, of.tokenizer, TEXTS, told.append) == pytest.approx(whole, abs=1e-5)
    assert told == [0, 0.25, 0.5, 0.75]


def test_separability_equals_scikit_learn():
    random = np.random.default_rng(0)
    labels = np.arange(80) % 2
    points = (random.normal(size=(80, 6)) + labels[:, None]).astype(np.float32)
    silhouette, purity, (low, high) = measure_separability(points, labels)
    assert low < silhouette < high and high - low < 0.2
    rows = NearestNeighbors(n_neighbors=10).fit(points).kneighbors(return_distance=False)
    assert silhouette == pytest.approx(silhouette_score(points, labels), abs=1e-6)
    assert purity == pytest.approx((labels[rows] == labels[:, None]).mean())
    assert measure_separability(points, np.zeros(80, int))[0] is None
    assert measure_separability(points, np.eye(2, dtype=int)[labels])[0] is None
    assert explain_no_silhouette(labels) == "" and "fewer than two" in explain_no_silhouette(np.zeros(80, int))


RANDOM = np.random.default_rng(0)
FIRST, SECOND = RANDOM.normal(size=(60, 8)), RANDOM.normal(size=(60, 5))


def test_cka_equals_the_formula_with_gram_matrices_and_ignores_rotation_shift_and_scale():
    center = np.eye(60) - 1 / 60
    own, other = (center @ (each @ each.T) @ center for each in (FIRST, SECOND))
    expected = np.trace(own @ other) / np.sqrt(np.trace(own @ own) * np.trace(other @ other))
    assert compute_cka(FIRST, SECOND) == pytest.approx(expected, abs=1e-12) and 0 < expected < 0.3
    assert compute_cka(SECOND, FIRST) == pytest.approx(expected, abs=1e-12)
    rotation = np.linalg.qr(RANDOM.normal(size=(8, 8)))[0]
    assert compute_cka(FIRST, 3 * FIRST @ rotation + 7) == pytest.approx(1, abs=1e-12)
    assert compute_cka(FIRST, np.ones((60, 3))) is None


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    values = RANDOM.normal(2, 1, 400)
    low, high = compute_mean_interval(values)
    assert (low, high) == pytest.approx(values.mean() + np.array([-1.96, 1.96]) * values.std() / 20, abs=0.02)
    assert compute_mean_interval([]) is None is compute_mean_interval([0.5] * 9)
