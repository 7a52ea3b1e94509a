"""How far other methods agree with deletion on many texts: on the most needed word, and in the ranks of all words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.interpret.explain import QUICK, methods
from core.interpret.most import largest
from core.interpret.reader import Reader
from core.interpret.reading import shown_words
from core.interpret.several import readings

STEPS = 10
"""Of progress, about."""
LEAST = 2
"""Words of a text in which there is something to choose."""


@dataclass(frozen=True)
class Agreed:
    """One method against deletion."""

    method: str
    texts: int
    """That have two words or more, and are not too long for the method."""
    same: int
    """In how many of them its word that counts most (of attention: the most read) is the most needed one."""
    chance: float | None
    """Share of them in which a word drawn at random would be, the mean of 1 / words; None: there is no text."""
    rho: float | None
    """Mean of Spearman's rho over those that have one; None: none has."""
    ranked: int
    """How many have one: three words or more, and not all alike."""


def agreement(
    reader: Reader, texts: Sequence[str], on_progress: Callable[[str, float | None], None] = lambda what, share: None
) -> list[Agreed]:
    """Each quick method of a model against deletion, for the class that the model says of each text.

    Args:
        reader: of a run, as trained.
        texts: any; those of fewer than two words say nothing.
        on_progress: told which share of the texts is done; what it raises stops it.
    """
    named = [name for name in QUICK if name in methods(reader.model.provides) and name != "deletion"]
    same = {name: list[bool]() for name in named}
    chance = {name: list[float]() for name in named}
    rho = {name: list[float]() for name in named}
    for done, reading in enumerate(readings(reader, [text for text in texts if len(shown_words(text)) >= LEAST])):
        if done % max(1, len(texts) // STEPS) == 0:
            on_progress("texts", done / len(texts))
        needed = largest(reading.by("deletion").pushes)
        for name in reading.possible(named):
            same[name].append(largest(reading.by(name).pushes) == needed)
            chance[name].append(1 / len(reading.words))
            found = reading.agreement("deletion", name)
            rho[name] += [] if found is None else [found]
    return [
        Agreed(name, len(same[name]), sum(same[name]), _mean(chance[name]), _mean(rho[name]), len(rho[name]))
        for name in named
    ]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
