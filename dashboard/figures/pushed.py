"""A text explained, as figures of its words need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from core.interpret.explain import Explanation


@dataclass(frozen=True, eq=False)
class Pushed:
    """What each word of a text does to the answer, and which tokens are whose."""

    found: Explanation
    belongs: NDArray[np.float64]
    """(words, tokens of the view): which part of each token is of each word."""


FAINTEST = 0.5
"""Log-odds that get full colour where nothing pushes more: what hardly moves an answer is not drawn as if it did."""


def full_colour(pushes: Iterable[float]) -> float:
    """The push that gets full colour among these."""
    return max([FAINTEST, *map(abs, pushes)])
