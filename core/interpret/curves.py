"""How an answer changes while the words of a text come or go one after another, in an order that somebody claims.

Insertion begins with none of the words; deletion of an order is insertion of the reverse one, read backwards. Only
numbers and texts are here; `core.interpret.belief` asks a run. After Samek et al. (2017), "Evaluating the visualization
of what a deep neural network has learned", and Petsiuk et al. (2018), "RISE".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.interpret.believed import POINTS
from core.interpret.push import DIGITS
from core.text.typed import Span, without

STEPS = POINTS - 1
"""Of a curve, fewer in a text of fewer words."""
SHARES = np.linspace(0, 1, POINTS)
"""Of the words, where curves of texts of different lengths are averaged."""


def counts(words: int) -> np.ndarray:
    """(S + 1,): after how many words a curve is looked at, from none to all; S is `STEPS` at most."""
    steps = min(words, STEPS)
    return np.round(np.linspace(0, words, steps + 1)).astype(np.int64)


def order_of(pushes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """(W,): places of the words, those that push most towards the answer first; ties in random order."""
    return np.lexsort((random.permutation(len(pushes)), -np.round(pushes, DIGITS)))


def inserted(text: str, words: Sequence[Span], order: np.ndarray) -> list[str]:
    """(S + 1,): the text with the first words of an order only, each in its place."""
    return [without(text, [words[place] for place in order[count:]]) for count in counts(len(words))]


def area(values: np.ndarray, words: int) -> np.ndarray:
    """(…, S + 1) → (…,): mean height of a curve over the share of words."""
    steps = np.diff(counts(words)) / words
    return ((values[..., 1:] + values[..., :-1]) / 2 * steps).sum(-1)


def on_shares(values: np.ndarray, words: int) -> np.ndarray:
    """(S + 1,) → (`STEPS` + 1,): the curve at `SHARES`, linear between its points."""
    return np.interp(SHARES, counts(words) / words, values)


def beaten(own: float, others: np.ndarray) -> float:
    """Which share of other areas is smaller; equal ones count half."""
    return float((np.sign(np.round(own - others, DIGITS)) / 2 + 0.5).mean())
