"""Word vectors from word cooccurrences: a truncated SVD of positive pointwise mutual information (PPMI).

Levy, Goldberg and Dagan (2015), "Improving distributional similarity with lessons learned from word embeddings": a
dynamic window, context distribution smoothing (section 3.2), and U S^p with p = 1/2 (section 3.3).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds

from core.models.builder import Model
from core.text.special_ids import FIRST
from core.text.token_table import TokenTable

WINDOW = 4
"""Words on each side that count, each with weight 1 / distance."""
SMOOTHING = 0.75
"""Exponent on the frequency of a context word, which lowers the PPMI of rare ones."""


def sum_cooccurrences(tokens: TokenTable, size: int) -> csr_array:
    """Count word pairs up to `WINDOW` apart, weighted by 1 / distance, as a sparse symmetric matrix (size, size)."""
    flat = tokens.flat.astype(np.int64)
    text = np.repeat(np.arange(len(tokens)), tokens.lengths)
    total = csr_array((size, size), dtype=np.float64)
    for distance in range(1, WINDOW + 1):
        first, second = flat[:-distance], flat[distance:]
        near = (text[:-distance] == text[distance:]) & (first >= FIRST) & (second >= FIRST)
        weights = np.full(int(near.sum()), 1 / distance)
        total += coo_array((weights, (first[near], second[near])), shape=(size, size)).tocsr()
    return csr_array(total + total.T)


def compute_ppmi(counts: csr_array) -> csr_array:
    """Compute PPMI of cooccurrence counts: max(0, ln(P(w, c) / (P(w) P(c)))), P(c) smoothed by count ** 0.75."""
    seen = np.asarray(counts.sum(1)).ravel()
    smoothed = seen**SMOOTHING
    pairs = counts.tocoo()
    ratio = pairs.data * smoothed.sum() / (seen[pairs.row] * smoothed[pairs.col])
    found = csr_array((np.log(np.maximum(ratio, 1)), (pairs.row, pairs.col)), shape=counts.shape)
    found.eliminate_zeros()
    return found


def compute_word_vectors(tokens: TokenTable, *, size: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute PPMI word vectors (size, width) from tokenised texts, and a mask (size,) of words that have one.

    Special tokens and words without cooccurrences have zeros, and so have the last columns if there are fewer words
    than columns. `seed` draws the start vector of the decomposition.
    """
    found = compute_ppmi(sum_cooccurrences(tokens, size))
    known = np.diff(found.indptr) > 0
    left, singular = _compute_svd(found[known], width, seed)
    rows = left * np.sqrt(singular)
    vectors = np.zeros((size, width), np.float32)
    vectors[known, : rows.shape[1]] = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-30)
    return vectors, known


def _compute_svd(rows: csr_array, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if len(rows.indptr) - 1 <= width:
        left, singular, _ = np.linalg.svd(rows.toarray(), full_matrices=False)
        return left, singular
    # Exact, and as fast as a randomised SVD, which is inaccurate for singular values that decay as slowly as these.
    start = np.random.default_rng(seed).standard_normal(rows.shape[0])
    left, singular, _ = svds(rows, width, v0=start, return_singular_vectors="u")
    return left, singular


def place_vectors(model: Model, vectors: np.ndarray, known: np.ndarray) -> None:
    """Copy word vectors into a model's embedding for the known words, scaled to the length of its random rows."""
    weight = model.get_parameter("embedding.weight")
    long = math.sqrt(weight.shape[1]) / model.scale  # of a row drawn from N(0, 1/scale²)
    with torch.no_grad():
        rows = torch.from_numpy(vectors[known]).to(weight)
        weight[torch.from_numpy(known).to(weight.device)] = rows * long
