"""A vector of each text at every layer: means of its own tokens, and what the classes come to there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors
from small_readers import reader

from core.evaluation import layers
from core.evaluation.layers import measure, read_layers, without_silhouette
from core.evaluation.predict import predict_texts
from core.models.trace import Batch
from core.text.token_table import token_table

TEXTS = ["very very good", "", "never bad but good , good", "bad"]


@pytest.mark.parametrize("preset", ["vanilla", "ndt-01-n3", "tweet-v1-p2", "sentiformer"])
def test_each_is_the_mean_of_the_tokens_of_its_text_alone(preset):
    of = reader(preset)
    found = read_layers(of.model, of.tokenizer, TEXTS)
    assert found.shape == (len(of.model.layers) + 1, 4, of.model.embedding.embedding_dim)
    assert (found[:, 1] == 0).all(), "no token"
    for row in (0, 2, 3):
        table = token_table(of.tokenizer, [TEXTS[row]])
        with torch.no_grad():
            trace = of.model(Batch.of(table.whole()), trace=True).trace
        own = slice(of.model.first, of.model.first + int(table.lengths[0]))  # no class token, no padding
        seen = [trace.embedded, *(layer.hidden for layer in trace.layers)]
        expected = [vectors[0, own].mean(0).tolist() for vectors in seen]
        assert found[:, row] == pytest.approx(np.array(expected), abs=1e-5)


def test_behind_the_last_layer_without_a_norm_stands_what_a_linear_head_reads():
    of = reader("vanilla", norm_place="post")
    found = read_layers(of.model, of.tokenizer, TEXTS)
    assert found[-1] == pytest.approx(predict_texts(of.model, of.tokenizer, TEXTS).pooled, abs=1e-5)
    assert np.abs(found[0] - found[-1]).max() > 0.1


def test_what_enters_the_first_layer_is_the_mean_of_embeddings_and_positions():
    of = reader("vanilla", position="none")
    ids = of.tokenizer.encode_batch(["bad good"])[0]
    rows = of.model.embedding.weight[list(ids)].detach().numpy() * of.model.scale
    assert read_layers(of.model, of.tokenizer, ["bad good"])[0, 0] == pytest.approx(rows.mean(0), abs=1e-6)


def test_how_many_are_read_at_once_changes_nothing(monkeypatch):
    of = reader("vanilla")
    whole = read_layers(of.model, of.tokenizer, TEXTS)
    monkeypatch.setattr(layers, "PAIRS", 1)
    told = []
    assert read_layers(of.model, of.tokenizer, TEXTS, told.append) == pytest.approx(whole, abs=1e-5)
    assert told == [0, 0.25, 0.5, 0.75]


def test_a_stage_has_the_numbers_of_scikit_learn():
    random = np.random.default_rng(0)
    labels = np.arange(80) % 2
    points = (random.normal(size=(80, 6)) + labels[:, None]).astype(np.float32)
    found = measure("layer 1", points, labels)
    rows = NearestNeighbors(n_neighbors=10).fit(points).kneighbors(return_distance=False)
    assert (found.name, found.width) == ("layer 1", 6)
    assert found.silhouette == pytest.approx(silhouette_score(points, labels), abs=1e-6)
    assert found.purity == pytest.approx((labels[rows] == labels[:, None]).mean())
    assert measure("head", points, np.zeros(80, int)).silhouette is None
    assert measure("head", points, np.eye(2, dtype=int)[labels]).silhouette is None
    assert without_silhouette(labels) == "" and "fewer than two" in without_silhouette(np.zeros(80, int))
