"""Long texts read passage by passage, for a run that has learned from shorter ones.

Of each passage the run gives its logits; those of the text are their mean. With two classes its log-odds are therefore
the mean of theirs. With more, this holds for the log-odds of any two classes, not for those of one against all others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.data.table import Task
from core.evaluation.predict import Parts, Predictions
from core.text.passages import passages
from core.training.scaling import Scaling


@dataclass(frozen=True)
class ByPassage:
    """What is said of n texts, and of their passages."""

    whole: Predictions
    """One row per text."""
    cut: list[list[str]]
    """(n,) the passages of each text, one at least."""
    each: Predictions
    """One row per passage, text by text."""

    def at(self, scaling: Scaling, task: Task) -> ByPassage:
        """The same with probabilities of whole texts whose logits are scaled so."""
        return dataclasses.replace(self, whole=self.whole.at(scaling, task))


def by_passage(read: Callable[[Sequence[str]], Predictions], texts: Sequence[str], words: int) -> ByPassage:
    """What is said of texts by the mean over their passages.

    Args:
        read: what says something of texts that are read whole.
        texts: any.
        words: of a passage, at most.
    """
    cut = [passages(text, words) for text in texts]
    each = read([passage for own in cut for passage in own])
    lengths = np.array([len(own) for own in cut])
    starts = np.cumsum(lengths) - lengths

    def mean(values: np.ndarray) -> np.ndarray:
        """(passages, k) → (texts, k)."""
        sums = np.add.reduceat(values, starts) if len(starts) else values[:0]
        return (sums / lengths[:, None]).astype(values.dtype)

    parts = None if each.parts is None else Parts(*map(mean, each.parts))
    return ByPassage(Predictions(mean(each.logits), mean(each.probabilities), mean(each.pooled), parts), cut, each)
