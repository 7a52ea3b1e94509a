"""Texts without a word that anybody knows: what a model is to be in doubt about."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

import numpy as np

MOST_WORDS, SHORTEST, LONGEST = 16, 3, 9
DIFFERENT = 5
"""Letters of a word at most, so that `zzz` is among them as well as `kxrqvbnw`."""


def nonsense(texts: Iterable[str], count: int, seed: int) -> list[str]:
    """Make up texts of 1 to 16 words, half of the letters a to z, half of all letters of the given texts."""
    known = sorted(letter for letter in set().union(*texts) if letter.isalpha())
    alphabets: Sequence[Sequence[str]] = [string.ascii_lowercase, known or string.ascii_lowercase]
    random = np.random.default_rng([seed, count])
    return [_text(random, list(alphabets[number % 2])) for number in range(count)]


def _text(random: np.random.Generator, letters: list[str]) -> str:
    return " ".join(_word(random, letters) for _ in range(random.integers(1, MOST_WORDS + 1)))


def _word(random: np.random.Generator, letters: list[str]) -> str:
    few = [letters[place] for place in random.integers(0, len(letters), random.integers(1, DIFFERENT + 1))]
    return "".join(few[place] for place in random.integers(0, len(few), random.integers(SHORTEST, LONGEST + 1)))
