"""Most read against most needed: one definition of both, for a sentence and for many.

Most read is the word that receives most attention in the last layer, mean over heads and readers (the method
`attention`); most needed the one whose deletion moves the log-odds most, to either side (the method `deletion`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.interpret.push import DIGITS


def largest(pushes: Sequence[float] | np.ndarray) -> int | None:
    """The place of the word that counts most, by size, whichever side it is on; None where there is no word.

    Of several that differ by rounding alone it is the first.
    """
    sizes = np.abs(np.round(np.asarray(pushes, np.float64), DIGITS))
    return int(sizes.argmax()) if len(sizes) else None
