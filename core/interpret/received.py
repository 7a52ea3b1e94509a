"""How much each token is read: one definition, for the strip of words on a page and for what is compared with it."""

from __future__ import annotations

import numpy as np


def received(weights: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """(L,): what a token is read with, mean over heads and readers.

    Args:
        weights: (H, L, L) of one map, readers in rows; signed where maps are taken away.
        places: (L,): how many places each token stands for; folded padding reads as often as it has places.
    """
    return np.average(weights.mean(0), axis=0, weights=places)
