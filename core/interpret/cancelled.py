"""How much weight the components of a head take away from each other, where some are subtracted."""

from __future__ import annotations

import numpy as np


def cancelled(components: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """(H,): the share of the weight of a head's components that cancels in their sum, 0 to 1.

    Of reader q it is 1 − Σₖ |Σᵢ cᵢ aᵢ(q, k)| ⁄ Σₖ Σᵢ |cᵢ| aᵢ(q, k), with coefficients c and maps a of all components i
    over the tokens k; of the head the mean over the tokens q that weigh anything. At 0 nothing is taken away, at 1
    nothing is left.

    Args:
        components: (N, H, L, L) maps of real tokens, readers in rows.
        coefficients: (N, H, L), with their signs.
    """
    weights = (coefficients[..., None] * components).astype(np.float64)
    whole, left = np.abs(weights).sum((0, -1)), np.abs(weights.sum(0)).sum(-1)  # (H, L)
    share = np.where(whole > 0, 1 - left / np.where(whole > 0, whole, 1), 0)
    return share.sum(-1).clip(0) / np.maximum((whole > 0).sum(-1), 1)
