"""Similarity of two representations of the same texts."""

import numpy as np


def compute_cka(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return linear CKA (Kornblith et al. 2019) of vectors (n, d) and (n, e) of the same texts; None: all are equal."""
    x, y = (each.astype(np.float64) - each.mean(0, dtype=np.float64) for each in (first, second))
    below = float(np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    return float(np.linalg.norm(y.T @ x) ** 2) / below if below > 0 else None
