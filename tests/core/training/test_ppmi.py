"""PPMI word vectors compared with dense matrices and loops."""

import math

import numpy as np
import pytest
import torch

from core.config import compose
from core.models.builder import build_model
from core.text.special_ids import FIRST, UNKNOWN
from core.text.token_table import TokenTable
from core.training.mlm import compute_ppmi, compute_word_vectors, place_vectors, sum_cooccurrences

RANDOM = np.random.default_rng(0)
WEIGHTS = 1 / np.arange(1, 29) / (1 / np.arange(1, 29)).sum()
TEXTS = [RANDOM.choice(np.arange(1, 29), RANDOM.integers(0, 14), p=WEIGHTS).tolist() for _ in range(60)]
SIZE = 30
"""Ids 28 and 29 occur never or rarely; 1 is the unknown word."""


def dense(texts, size):
    """The definition, pair by pair."""
    counts = np.zeros((size, size))
    for text in texts:
        for i, word in enumerate(text):
            for j, context in enumerate(text):
                if 0 < abs(i - j) <= 4 and min(word, context) >= FIRST:
                    counts[word, context] += 1 / abs(i - j)
    chance = counts.sum(0) ** 0.75 / (counts.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        mutual = np.log(counts / counts.sum(1, keepdims=True) / chance)
    return counts, np.where(counts > 0, np.maximum(mutual, 0), 0)


def test_cooccurrences_and_ppmi_match_their_definition():
    counts, expected = dense(TEXTS, SIZE)
    found = sum_cooccurrences(TokenTable.from_ids(TEXTS), SIZE)
    assert found.toarray() == pytest.approx(counts)
    assert compute_ppmi(found).toarray() == pytest.approx(expected)
    assert not counts[UNKNOWN].any() and counts.any()


@pytest.mark.parametrize("width", [6, 64])
def test_vectors_equal_a_dense_svd(width):
    """Equal up to the sign of a column; with fewer words than columns the last ones are 0."""
    found, known = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=width, seed=3)
    _, expected = dense(TEXTS, SIZE)
    left, singular, _ = np.linalg.svd(expected)
    rows = left[:, :width] * np.sqrt(singular[:width])
    rows = rows[known] / np.linalg.norm(rows[known], axis=1, keepdims=True)
    assert known.tolist() == expected.any(1).tolist()
    assert found.shape == (SIZE, width)
    assert found[known] @ found[known].T == pytest.approx(rows @ rows.T, abs=1e-5)
    assert not found[~known].any() and not found[:, SIZE:].any()
    again, _ = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=width, seed=3)
    assert np.array_equal(again, found), "the same seed gives the same bits"
    for texts in ([], [[]], [[5], [UNKNOWN, 6]]):
        vectors, known = compute_word_vectors(TokenTable.from_ids(texts), size=SIZE, width=width, seed=0)
        assert not vectors.any() and not known.any(), "without a pair of words there are none"


@pytest.mark.parametrize(("preset", "long"), [("vanilla", 1), ("tweet-v1-p1", math.sqrt(128)), ("cnn", math.sqrt(300))])
def test_vectors_have_the_length_of_random_rows_and_unknown_words_keep_theirs(preset, long):
    torch.manual_seed(0)
    model = build_model(compose(preset).model, vocabulary=SIZE, classes=2, max_length=8)
    drawn = model.embedding.weight.detach().clone()
    vectors, known = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=drawn.shape[1], seed=0)
    place_vectors(model, vectors, known)
    rows = model.embedding.weight.detach()
    assert rows[known].norm(dim=1).numpy() == pytest.approx(long, rel=1e-5)
    assert torch.equal(rows[~known], drawn[~known]) and not known[:FIRST].any()
    assert drawn.norm(dim=1).mean().item() == pytest.approx(long, rel=0.1)
