"""Most read against most needed: one definition of both, for a sentence and for many.

Most read is the word that receives most attention in the last layer, by size, mean over heads and readers (the method
`attention`); most needed the one whose deletion moves the log-odds most, to either side (the method `deletion`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.interpret.push import DIGITS


class Most(NamedTuple):
    """Two words of a text, by their places."""

    read: int
    needed: int

    @property
    def same(self) -> bool:
        """Whether they are one word."""
        return self.read == self.needed


def most(read: np.ndarray, needed: np.ndarray) -> Most | None:
    """What is most read and most needed, from what `attention` and `deletion` say of the words, (W,) each.

    None of fewer than two words, where there is nothing to choose.
    """
    return Most(largest(read), largest(needed)) if len(needed) > 1 else None


def largest(pushes: np.ndarray) -> int:
    """The place of the word that counts most, of one or more: by size, whichever side it is on.

    Of several that differ by rounding alone it is the first.
    """
    return int(np.abs(np.round(pushes, DIGITS)).argmax())
