"""Nearest neighbours of vectors, and the share of neighbours with the same class (purity). Imports no torch."""

from __future__ import annotations

import numpy as np

from core.lazy_imports import scipy

NEIGHBORS = 10  # of each row, by default
_BLOCK = 4_000_000  # distances in memory at once


def draw_rows(rows: int, most: int, seed: int = 0) -> np.ndarray:
    """Return sorted row indices: all, or a seeded random sample if there are more than `most`."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def find_nearest(
    asked: np.ndarray, vectors: np.ndarray, most: int, own: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the rows of `vectors` nearest to each query vector, by Euclidean distance, the nearest first.

    A matrix product selects few candidates, whose distances are then exact: the same result in a fifth of the time.
    `asked` are (k, d), `vectors` (n, d); `own` (k,) gives the row of each query vector, which is left out, if they are
    rows. Returns (k, m) int64 rows and (k, m) distances, with m = `most` or fewer if there are fewer rows.
    """
    points, queries = np.asarray(vectors, np.float64), np.asarray(asked, np.float64)
    size = max(0, min(most, len(points) - (own is not None)))
    if not (size and len(queries)):
        return np.empty((len(queries), size), np.int64), np.empty((len(queries), size))
    middle = points.mean(0)  # rounding errors of products grow with the largest number
    centered, squares = points - middle, np.square(points - middle).sum(1)
    step = max(1, _BLOCK // len(points))
    found = []
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        around = block - middle
        rough = squares - 2 * around @ centered.T  # (b, n) squared distances, minus the square of the query
        out = None if own is None else own[start : start + step]
        if out is not None:
            rough[np.arange(len(block)), out] = np.inf
        error = (points.shape[1] + 8) * np.finfo(float).eps * (np.square(around).sum(1) + squares.max())
        limit = np.partition(rough, size - 1, axis=1)[:, size - 1] + 2 * error
        found.append(
            _refine_candidates(block, points, rough <= limit[:, None], size) or _search_all(block, points, out, size)
        )
    rows, distances = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(distances)


def _refine_candidates(
    asked: np.ndarray, points: np.ndarray, candidates: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the nearest candidate rows of each query vector, and distances, (k, size); None: too many or too few."""
    at, rows = np.nonzero(candidates)
    counts = np.bincount(at, minlength=len(asked))
    if counts.min() < size or len(at) * points.shape[1] > _BLOCK:
        return None
    apart = points[rows] - asked[at]
    distances = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    first = (np.cumsum(counts) - counts)[:, None] + np.arange(size)
    order = np.lexsort((rows, distances, at))[first]
    return rows[order], distances[order]


def _search_all(
    asked: np.ndarray, points: np.ndarray, own: np.ndarray | None, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find nearest rows by computing all distances; used if most rows are equal or some values are NaN."""
    found = scipy.spatial.distance.cdist(asked, points)
    if own is not None:
        found[np.arange(len(found)), own] = np.inf
    order = _select_smallest(found, size)
    return order, np.take_along_axis(found, order, axis=1)


def _select_smallest(found: np.ndarray, size: int) -> np.ndarray:
    """Return the columns of each row's smallest values, (k, size), ascending; sort a whole row only for ties."""
    if not 0 < size < found.shape[1]:
        return np.argsort(found, axis=1, kind="stable")[:, :size]
    chosen = np.sort(np.argpartition(found, size - 1, axis=1)[:, :size], axis=1)
    values = np.take_along_axis(found, chosen, axis=1)
    order = np.take_along_axis(chosen, np.argsort(values, axis=1, kind="stable"), axis=1)
    tied = np.flatnonzero((found <= values.max(1, keepdims=True)).sum(1) > size)
    order[tied] = np.argsort(found[tied], axis=1, kind="stable")[:, :size]
    return order


def count_neighbors(rows: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Count how often each of n rows occurs in `rows` (k, m), and average its `values` (k, m); 0 where it is absent."""
    votes = np.bincount(rows.ravel(), minlength=n)
    return votes, np.bincount(rows.ravel(), values.ravel(), n) / np.maximum(votes, 1)


def compute_purity(vectors: np.ndarray, labels: np.ndarray, neighbors: int = NEIGHBORS) -> np.ndarray | None:
    """Return the (n,) share of each row's nearest neighbours with the same label (or label set); None for few rows."""
    if len(vectors) < neighbors + 2:
        return None
    rows, _ = find_nearest(vectors, vectors, neighbors, np.arange(len(vectors)))
    same = labels[rows] == labels[:, None]
    found: np.ndarray = (same if same.ndim == 2 else same.all(2)).mean(1)
    return found


def compute_chance_purity(labels: np.ndarray) -> float:
    """Return the expected share of random neighbours of the same class: Σ nᵢ (nᵢ − 1) / (n (n − 1)), class sizes nᵢ."""
    _, counts = np.unique(labels, axis=0, return_counts=True)
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else 1.0
