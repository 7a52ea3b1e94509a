"""Long texts read passage by passage, for a run that has learned from shorter ones.

Of each passage the run gives its logits; those of the text are their mean, so its log-odds are the mean of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.evaluation.predict import Parts, Predictions
from core.text.passages import passages


def by_passage(read: Callable[[Sequence[str]], Predictions], texts: Sequence[str], words: int) -> Predictions:
    """What is said of texts by the mean over their passages.

    Args:
        read: what says something of texts that are read whole; its probabilities are left to whoever scales them.
        texts: any.
        words: of a passage, at most.
    """
    cut = [passages(text, words) for text in texts]
    found = read([passage for each in cut for passage in each])
    lengths = np.array([len(each) for each in cut])

    def mean(values: np.ndarray) -> np.ndarray:
        """(passages, k) → (texts, k)."""
        starts = np.cumsum(lengths) - lengths
        return (np.add.reduceat(values, starts) / lengths[:, None]).astype(values.dtype) if len(lengths) else values[:0]

    parts = None if found.parts is None else Parts(*map(mean, found.parts))
    return Predictions(mean(found.logits), mean(found.probabilities), mean(found.pooled), parts)
