"""Long texts read passage by passage, for a run that has learned from shorter ones.

Of each passage the run gives its logits; those of the text are their mean, so its log-odds are the mean of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from core.evaluation.predict import Parts, Predictions


def passages(text: str, words: int) -> list[str]:
    """A text in passages of so many words at most, as equal in length as can be; one of so few words is left as it is.

    Words are what stands between white space: where a language writes none, a text is one word and stays whole.
    """
    found = text.split()
    if len(found) <= words:
        return [text]
    return [" ".join(each) for each in np.array_split(np.array(found, object), math.ceil(len(found) / words))]


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
