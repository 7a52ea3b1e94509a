"""A text explained, as figures of its words need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.interpret.push import Most, most

if TYPE_CHECKING:
    from core.interpret.explain import Explanation


@dataclass(frozen=True, eq=False)
class Pushed:
    """What each word of a text does to the answer, and which tokens are whose."""

    found: Explanation
    belongs: NDArray[np.float64]
    """(words, tokens of the view): which part of each token is of each word."""
    read: Explanation | None = None
    """How much each word is read, by the method `attention`; None: the model has none, or the text is too long."""

    @property
    def most(self) -> Most | None:
        """The most read word and the most needed one; None of fewer than two words, or without attention."""
        return None if self.read is None else most(self.read.pushes, self.found.pushes)


FAINTEST = 0.5
"""Log-odds that get full colour where nothing pushes more: what hardly moves an answer is not drawn as if it did."""


def full_colour(pushes: Iterable[float]) -> float:
    """The push that gets full colour among these."""
    return max([FAINTEST, *map(abs, pushes)])
