"""Where the points of a map are dense: a Gaussian kernel estimate on a grid, and the shares that it encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CELLS = 160
"""Of the grid, to each side."""
NARROWER = 0.5
"""Of the bandwidth by Scott's rule, which is that of a single cloud: maps have several."""
REACH = 4.0
"""Bandwidths to which the grid goes on beyond the points, and a kernel from its middle."""


@dataclass(frozen=True)
class Density:
    """A field behind a map of two dimensions."""

    x: np.ndarray
    """(CELLS,) middles of the columns,"""
    y: np.ndarray
    """(CELLS,) and of the rows."""
    values: np.ndarray
    """(CELLS, CELLS) points per unit of area, divided by their number; rows are y."""
    held: np.ndarray
    """(CELLS, CELLS) share of the whole mass that lies where it is denser than here, or as dense."""


def density(places: np.ndarray) -> Density | None:
    """The density of points; None where they do not spread in both directions.

    f(p) = 1/n Σ N(p; pᵢ, h² I) with h = `NARROWER` · n^(-1/6) · the root of the mean variance of both axes (Scott
    1992), the points first put into the cells of the grid (Silverman 1982).

    Args:
        places: (n, 2).
    """
    from scipy.ndimage import gaussian_filter

    points = np.asarray(places, np.float64)
    if len(points) < 2 or (np.ptp(points, axis=0) <= 0).any():
        return None
    wide = NARROWER * len(points) ** (-1 / 6) * np.sqrt(points.var(0).mean())
    edges = [np.linspace(low - REACH * wide, high + REACH * wide, CELLS + 1) for low, high in _ends(points)]
    counts = np.histogram2d(points[:, 1], points[:, 0], bins=[edges[1], edges[0]])[0]
    steps = [each[1] - each[0] for each in edges]
    smooth = gaussian_filter(counts, [wide / steps[1], wide / steps[0]], mode="constant", truncate=REACH)
    order = np.argsort(-smooth, axis=None, kind="stable")
    held = np.empty(smooth.size)
    held[order] = np.cumsum(smooth.ravel()[order]) / smooth.sum()
    middles = [(each[:-1] + each[1:]) / 2 for each in edges]
    return Density(middles[0], middles[1], smooth / (len(points) * steps[0] * steps[1]), held.reshape(smooth.shape))


def _ends(points: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(points.min(0).tolist(), points.max(0).tolist(), strict=True))
