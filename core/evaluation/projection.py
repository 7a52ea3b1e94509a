"""Projections of embeddings by PCA, t-SNE and UMAP, and their quality; heavy libraries are imported where used."""

import typing
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from core.data.splits import cut_rows, find_strata
from core.evaluation.metrics import SEVERAL, Array
from core.exceptions import InputError, NotAvailable
from core.lazy_imports import scipy

NEIGHBORS = 10  # of each row, by default
_BLOCK = 4_000_000  # distances in memory at once


def draw_rows(rows: int, most: int, seed: int = 0) -> Array:
    """Return sorted row indices: all, or a seeded random sample if there are more than `most`."""
    return np.arange(rows) if rows <= most else np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def find_nearest(asked: Array, vectors: Array, most: int, own: Array | None = None) -> tuple[Array, Array]:
    """Find the `most` rows of `vectors` (n, d) nearest to each of `asked` (k, d), without its `own` row, nearest first.

    A matrix product selects candidates, whose distances are then exact: the same result in a fifth of the time.
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


def _refine_candidates(asked: Array, points: Array, candidates: Array, size: int) -> tuple[Array, Array] | None:
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


def _search_all(asked: Array, points: Array, own: Array | None, size: int) -> tuple[Array, Array]:
    """Find nearest rows by computing all distances; used if most rows are equal or some values are NaN."""
    found = scipy.spatial.distance.cdist(asked, points)
    if own is not None:
        found[np.arange(len(found)), own] = np.inf
    order = _select_smallest(found, size)
    return order, np.take_along_axis(found, order, axis=1)


def _select_smallest(found: Array, size: int) -> Array:
    """Return the columns of each row's smallest values, (k, size), ascending; sort a whole row only for ties."""
    if not 0 < size < found.shape[1]:
        return np.argsort(found, axis=1, kind="stable")[:, :size]
    chosen = np.sort(np.argpartition(found, size - 1, axis=1)[:, :size], axis=1)
    values = np.take_along_axis(found, chosen, axis=1)
    order = np.take_along_axis(chosen, np.argsort(values, axis=1, kind="stable"), axis=1)
    tied = np.flatnonzero((found <= values.max(1, keepdims=True)).sum(1) > size)
    order[tied] = np.argsort(found[tied], axis=1, kind="stable")[:, :size]
    return order


def count_neighbors(rows: Array, values: Array, n: int) -> tuple[Array, Array]:
    """Count how often each of n rows occurs in `rows` (k, m), and average its `values` (k, m); 0 where it is absent."""
    votes = np.bincount(rows.ravel(), minlength=n)
    return votes, np.bincount(rows.ravel(), values.ravel(), n) / np.maximum(votes, 1)


def compute_purity(vectors: Array, labels: Array, neighbors: int = NEIGHBORS) -> Array | None:
    """Return the (n,) share of each row's nearest neighbours with the same label (or label set); None for few rows."""
    if len(vectors) < neighbors + 2:
        return None
    rows, _ = find_nearest(vectors, vectors, neighbors, np.arange(len(vectors)))
    same = labels[rows] == labels[:, None]
    return (same if same.ndim == 2 else same.all(2)).mean(1)


def compute_chance_purity(labels: Array) -> float:
    """Return the expected share of random neighbours of the same class: Σ nᵢ (nᵢ − 1) / (n (n − 1)), class sizes nᵢ."""
    _, counts = np.unique(labels, axis=0, return_counts=True)
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else 1.0


Method = Literal["pca", "tsne", "umap"]
METHODS: tuple[Method, ...] = typing.get_args(Method)
NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
ROWS = 3_000  # rows that t-SNE and UMAP place and that quality is measured on, by default
FEWEST = 5  # rows that a map needs
PERPLEXITY, UMAP_NEIGHBORS, UMAP_DISTANCE = 30.0, 15, 0.1
EARLY, LATE, EVERY = 125, 500, 25
"""Iterations of t-SNE with early exaggeration (from PCA it converges after a hundred), without it, and per report."""
ANGLE = 0.8  # θ of Barnes-Hut: a third less time than 0.5, with the same neighbours within a thousandth

OnProgress = Callable[[str, float | None], None]  # current step and its share done; None: not known


@dataclass(frozen=True)
class ProjectionConfig:
    """The settings of a map of embeddings by PCA, t-SNE or UMAP."""

    method: Method = "tsne"
    dimensions: int = 2
    rows: int = ROWS  # rows to place: of more, a seeded stratified sample; PCA places and fits all rows
    seed: int = 0
    space: str = ""  # empty: the input of the model's head; else `embedding`, `layer 1` … (`core.runs.projections`)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method {self.method!r}: choose {', '.join(METHODS)}")
        if self.dimensions not in (2, 3):
            raise InputError(f"dimensions {self.dimensions}: a map has 2 or 3")
        if self.rows < FEWEST:
            raise InputError(f"rows {self.rows}: at least {FEWEST}")

    def list_arguments(self, n: int) -> dict[str, Any]:
        """Return every setting of an embedding map of `n` rows, including parameters of the projection method."""
        own: dict[Method, dict[str, Any]] = {
            "pca": {},
            "tsne": {"perplexity": min(PERPLEXITY, (n - 1) / 3), "iterations": [EARLY, LATE], "theta": ANGLE},
            "umap": {"n_neighbors": min(UMAP_NEIGHBORS, n - 1), "min_dist": UMAP_DISTANCE},
        }
        return {**{name: value for name, value in asdict(self).items() if name != "space" or value}, **own[self.method]}


@dataclass(frozen=True)
class Quality:
    """The quality of an embedding map (silhouettes, preserved neighbours), measured on a sample of its rows."""

    rows: Array  # (q,) int64: indices of the measured places, ascending
    space: Array  # (q,) float32 silhouettes by true class in the original space; empty if undefined
    plane: Array  # (q,) silhouettes in the projection
    preserved: float | None  # mean share of the nearest neighbours that stay nearest on the map; None below 12 rows
    reason: str = ""  # why there is no silhouette


@dataclass(frozen=True)
class Projection:
    """The positions of a split's rows on an embedding map, with the quality of the map."""

    rows: Array  # (m,) int64: rows of the split, ascending
    places: Array  # (m, k) float32
    quality: Quality
    explained: tuple[float, ...] = ()  # PCA: share of the variance along each axis


@dataclass(frozen=True)
class Pca:
    """Fitted principal components, which project new vectors in the same way as the old ones."""

    mean: Array  # (d,)
    axes: Array  # (k, d), orthonormal; the largest weight of each is positive, so that maps are not mirrored
    explained: tuple[float, ...]  # k shares of the whole variance

    def transform(self, points: Array) -> Array:
        """Project (n, d) vectors onto the k principal components, (n, k)."""
        return (np.asarray(points, np.float64) - self.mean) @ self.axes.T


def fit_pca(embeddings: Array, dimensions: int) -> Pca:
    """Fit exact PCA by singular value decomposition of centred (n, d) vectors; InputError if there are too few."""
    if min(embeddings.shape) < dimensions:
        n, d = embeddings.shape
        raise InputError(f"{n} vectors of width {d} have no {dimensions} dimensions to show")
    mean = embeddings.mean(0, dtype=np.float64)
    _, scale, axes = np.linalg.svd(embeddings - mean, full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    variance = scale**2
    shares = variance[:dimensions] / (variance.sum() or 1.0)
    return Pca(mean, axes[:dimensions], tuple(map(float, shares)))


def project_split(
    embeddings: Array, labels: Array, config: ProjectionConfig, on_progress: OnProgress | None = None
) -> Projection:
    """Project embeddings (n, d) onto a map and measure its quality; equal arguments give equal maps.

    Labels (n, C) stratify the sample by the rarest label and allow no silhouette. InputError: too few, or not finite.
    """
    tell = on_progress or (lambda what, share: None)
    several = np.ndim(labels) == 2
    labels = find_strata(labels) if several else np.asarray(labels, np.int64)
    if len(embeddings) < FEWEST:
        raise InputError(f"{len(embeddings)} sentences: a map needs at least {FEWEST}")
    if not np.isfinite(embeddings).all():
        raise InputError("some embeddings are not finite numbers: this training has diverged")
    explained: tuple[float, ...] = ()
    if config.method == "pca":
        rows = np.arange(len(embeddings))
        pca = fit_pca(embeddings, config.dimensions)
        places, explained = pca.transform(embeddings), pca.explained
    else:
        rows = sample_rows(labels, config.rows, config.seed)
        tell("loading the library", None)
        place = _fit_tsne if config.method == "tsne" else _fit_umap
        places = place(np.asarray(embeddings[rows], np.float64), config, tell)
    places = np.asarray(places, np.float32)
    tell("measuring the map", None)
    quality = measure_quality(
        embeddings[rows], places, labels[rows], config.rows, config.seed, SEVERAL if several else ""
    )
    return Projection(rows, places, quality, explained)


def sample_rows(labels: Array, size: int, seed: int) -> Array:
    """Return the numbers of at most `size` rows, ascending: a seeded sample stratified by label."""
    return np.arange(len(labels)) if len(labels) <= size else cut_rows(labels, size, seed)[0]


def measure_quality(embeddings: Array, places: Array, labels: Array, size: int, seed: int, reason: str = "") -> Quality:
    """Compute preserved neighbours and, without a `reason`, silhouettes before and after projection on `size` rows."""
    from sklearn.metrics import silhouette_samples

    rows = sample_rows(labels, size, seed)
    before, after, labels = embeddings[rows].astype(np.float64), places[rows].astype(np.float64), labels[rows]
    preserved = measure_preservation(before, after)
    classes = len(np.unique(labels))
    if not reason and not 2 <= classes < len(labels):
        reason = "the sentences belong to fewer than two classes" if classes < 2 else "every sentence is its own class"
    if reason:
        return Quality(rows, np.zeros(0), np.zeros(0), preserved, reason)
    space, plane = (np.asarray(silhouette_samples(each, labels), np.float32) for each in (before, after))
    return Quality(rows, space, plane, preserved)


def measure_preservation(before: Array, after: Array, neighbors: int = NEIGHBORS) -> float | None:
    """Return the mean share of a row's nearest neighbours in `before` (n, d) that stay nearest in `after` (n, k)."""
    if len(before) < neighbors + 2:
        return None
    first, second = (find_nearest(each, each, neighbors, np.arange(len(each)))[0] for each in (before, after))
    return float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(first, second, strict=True)]) / neighbors)


def place_among(vector: Array, embeddings: Array, places: Array, neighbors: int = NEIGHBORS) -> tuple[Array, Array]:
    """Place a (d,) vector on a map at the mean of its nearest rows; return the place (k,) and these rows, sorted."""
    nearest = np.argsort(((embeddings - vector) ** 2).sum(1), kind="stable")[:neighbors]
    return places[nearest].mean(0), nearest


def _fit_tsne(points: Array, config: ProjectionConfig, tell: OnProgress) -> Array:
    """Project points by t-SNE (openTSNE, Poličar et al. 2019), started from PCA; equal seeds give equal maps."""
    try:
        import openTSNE
    except ImportError as error:
        raise NotAvailable(_describe_missing("openTSNE")) from error
    done = 0

    def report_share(iteration: int, error: float, embedding: Any) -> None:
        nonlocal done
        done += EVERY
        tell("placing the sentences", min(done / (EARLY + LATE), 1.0))

    tell("finding neighbours", None)
    settings = config.list_arguments(len(points))
    fitted = openTSNE.TSNE(
        n_components=config.dimensions,
        perplexity=settings["perplexity"],
        early_exaggeration_iter=EARLY,
        n_iter=LATE,
        neighbors="exact",
        negative_gradient_method="bh",
        theta=ANGLE,
        random_state=config.seed,
        n_jobs=1,  # threads add up in varying order, which would change the map
        callbacks=report_share,
        callbacks_every_iters=EVERY,
    ).fit(points)
    return np.asarray(fitted)


def _fit_umap(points: Array, config: ProjectionConfig, tell: OnProgress) -> Array:
    """Project points by UMAP (umap-learn, McInnes et al. 2018)."""
    try:
        import umap
    except ImportError as error:
        raise NotAvailable(_describe_missing("umap-learn")) from error
    tell("placing the sentences", None)
    settings = config.list_arguments(len(points))
    return umap.UMAP(
        n_components=config.dimensions,
        n_neighbors=settings["n_neighbors"],
        min_dist=settings["min_dist"],
        random_state=config.seed,
        n_jobs=1,
    ).fit_transform(points)


def _describe_missing(package: str) -> str:
    return f"{package} is not installed here: `pip install {package}`; PCA works without it"


CELLS = 160  # of the grid, on each side
NARROWER = 0.5  # factor on the bandwidth of Scott's rule, which assumes a single cluster
REACH = 4.0  # bandwidths by which the grid exceeds the points, and radius of a kernel


@dataclass(frozen=True)
class Density:
    """The estimated density of points on a two-dimensional embedding map, on a grid."""

    x: Array  # (CELLS,) centres of the columns
    y: Array  # (CELLS,) centres of the rows
    values: Array  # (CELLS, CELLS) points per unit of area, divided by their number; rows are y
    held: Array  # (CELLS, CELLS) share of the total mass in cells that are as dense or denser


def estimate_density(places: Array) -> Density | None:
    """Estimate the density of binned (n, 2) points on a map, h by Scott (1992) times `NARROWER`; None: no spread."""
    points = np.asarray(places, np.float64)
    if len(points) < 2 or (np.ptp(points, axis=0) <= 0).any():
        return None
    wide = NARROWER * len(points) ** (-1 / 6) * np.sqrt(points.var(0).mean())
    ends = zip(points.min(0), points.max(0), strict=True)
    edges = [np.linspace(low - REACH * wide, high + REACH * wide, CELLS + 1) for low, high in ends]
    counts = np.histogram2d(points[:, 1], points[:, 0], bins=[edges[1], edges[0]])[0]
    steps = [each[1] - each[0] for each in edges]
    smooth = scipy.ndimage.gaussian_filter(counts, [wide / steps[1], wide / steps[0]], mode="constant", truncate=REACH)
    order = np.argsort(-smooth, axis=None, kind="stable")
    held = np.empty(smooth.size)
    held[order] = np.cumsum(smooth.ravel()[order]) / smooth.sum()
    middles = [(each[:-1] + each[1:]) / 2 for each in edges]
    return Density(middles[0], middles[1], smooth / (len(points) * steps[0] * steps[1]), held.reshape(smooth.shape))
