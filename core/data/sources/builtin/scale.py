"""The five-point scale of the built-in corpus, seen as two, three or five classes."""

from __future__ import annotations

import numpy as np

from core.exceptions import ConfigError

NAMES = {
    2: ("negative", "positive"),
    3: ("negative", "neutral", "positive"),
    5: ("very negative", "negative", "neutral", "positive", "very positive"),
}


def class_names(classes: int) -> tuple[str, ...]:
    """Names in label order.

    Raises:
        ConfigError: if there is no such view of the scale.
    """
    if classes not in NAMES:
        raise ConfigError(f"data.classes={classes}: 2, 3 or 5")
    return NAMES[classes]


def labels(scores: np.ndarray, classes: int) -> np.ndarray:
    """See scores from -2 to 2 as class numbers (int64): 2 classes by sign (0 not allowed), 3 by sign, 5 as they are."""
    return {2: (scores > 0).astype(np.int64), 3: np.sign(scores) + 1, 5: scores + 2}[classes].astype(np.int64)
