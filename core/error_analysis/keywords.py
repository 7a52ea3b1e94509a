"""Words and phrases over-represented in selected texts: log-odds with an informative Dirichlet prior.

Monroe, Colaresi and Quinn (Political Analysis 2008), equations 16 and 22. For a phrase w that occurs y of n times in
the selection and y' of n' times in the rest, with the prior a_w = A · (share of w in all texts), A = 1000:

    δ = log((y + a_w) / (n + A − y − a_w)) − log((y' + a_w) / (n' + A − y' − a_w))
    z = δ / √(1 / (y + a_w) + 1 / (y' + a_w))

A phrase counts once in each text, so that a single text that repeats a word is no finding. n is the sum of these counts
over phrases of the same length (1, 2 or 3 words).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from core.exceptions import InputError
from core.text.words import is_bare_mark, split_words

PRIOR = 1000.0
LEAST = 3  # texts of the selection that have a listed phrase
LONGEST = 3  # words of a phrase
LEAST_Z = 4.0
"""Smallest z of a listed phrase. Many phrases are compared: in 95 of 100 random selections (153 of 3 202 sentences) the
largest z of all phrases is below 3.9."""
WITHIN_95 = 1.96  # standard errors to either side of a 95 % interval
MOST = 30  # phrases listed


class Keyword(NamedTuple):
    """A word or phrase that is more frequent in the selected texts than in the others, with log-odds and z-score."""

    words: str
    selected: int  # texts of the selection that have it
    rest: int  # other texts that have it
    log_odds: float  # δ
    z: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of a keyword's log-odds difference: δ ± 1.96 standard errors, each δ / z."""
        half = WITHIN_95 * self.log_odds / self.z
        return self.log_odds - half, self.log_odds + half


class Phrases:
    """An index of the words and phrases of many texts, built once and used for every selection of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = len(texts)
        self._numbers: dict[str, int] = {}  # ids of distinct words, -1 of punctuation
        self._words: list[str] = []
        flat, ends = list[int](), np.zeros(len(texts), np.int64)
        for row, text in enumerate(texts):
            for word in split_words(text.lower()):
                if (number := self._numbers.get(word)) is None:
                    number = self._numbers[word] = -1 if is_bare_mark(word) else len(self._words)
                    self._words += [word] if number >= 0 else []
                flat.append(number)
            flat.append(-1)
            ends[row] = len(flat)
        self._ids, self._row = np.array(flat, np.int64), np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))

    @cached_property
    def _lengths(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return, for phrases of 1, 2 and 3 words, the distinct phrases, and which text contains which phrase."""
        found = []
        for length in range(1, LONGEST + 1):
            parts = [self._ids[place : len(self._ids) - length + 1 + place] for place in range(length)]
            at = np.flatnonzero(np.all([part >= 0 for part in parts], axis=0))
            # One int64 for each phrase: enough for a vocabulary of 2 million words.
            codes = np.zeros(len(at), np.int64)
            for place, part in enumerate(parts):
                codes += part[at] * len(self._words) ** (length - 1 - place)
            phrases, which = np.unique(codes, return_inverse=True)
            row, phrase = np.divmod(np.unique(self._row[at] * max(1, len(phrases)) + which), max(1, len(phrases)))
            found.append((phrases, row, phrase))
        return found

    def find_keywords(
        self, chosen: np.ndarray, longest: int = LONGEST, most: int = MOST, least_z: float = LEAST_Z
    ) -> list[Keyword]:
        """Return over-represented phrases, highest z first; of phrases inside one another, equally frequent, one."""
        if chosen.all() or not chosen.any():
            return []
        found = [each for length in range(1, longest + 1) for each in self._find_phrases(length, chosen, most, least_z)]
        listed: list[Keyword] = []
        for each in sorted(found, key=lambda one: (-one.z, one.words)):
            alike = (other for other in listed if other.selected == each.selected)
            if len(listed) < most and not any(is_within(each.words, other.words) for other in alike):
                listed.append(each)
        return listed

    def match_words(self, words: Sequence[str]) -> np.ndarray:
        """Return (n,) bool: which texts contain these lower-case words in sequence, with no punctuation between."""
        found = np.zeros(self._texts, bool)
        numbers = [self._numbers.get(word, -1) for word in words]
        if numbers and min(numbers) >= 0:
            last = max(0, len(self._ids) - len(numbers) + 1)
            at = np.all([self._ids[place : last + place] == each for place, each in enumerate(numbers)], axis=0)
            found[self._row[:last][at]] = True
        return found

    def count_texts(self, chosen: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Count, for each phrase of `length` words, the selected and the other texts that contain it, (k,) each."""
        phrases, row, phrase = self._lengths[length - 1]
        inside = np.bincount(phrase[chosen[row]], minlength=len(phrases))
        return inside, np.bincount(phrase, minlength=len(phrases)) - inside

    def decode_phrase(self, number: int, length: int) -> str:
        """Return the words of a phrase of `length` words by its index in `count_texts`."""
        code, words = int(self._lengths[length - 1][0][number]), list[str]()
        for _ in range(length):
            code, place = divmod(code, len(self._words))
            words.append(self._words[place])
        return " ".join(reversed(words))

    def _find_phrases(self, length: int, chosen: np.ndarray, most: int, least_z: float) -> list[Keyword]:
        y, y_rest = self.count_texts(chosen, length)
        n, n_rest = int(y.sum()), int(y_rest.sum())
        if not n or not n_rest:
            return []
        delta, z = compute_log_odds(y, n, y_rest, n_rest)
        found = np.flatnonzero((y >= LEAST) & (z >= least_z))
        found = found[np.argsort(-z[found], kind="stable")][: 4 * most]
        numbers = zip(*(column[found].tolist() for column in (y, y_rest, delta, z)), strict=True)
        return [Keyword(self.decode_phrase(int(one), length), *row) for one, row in zip(found, numbers, strict=True)]


def compute_log_odds(y: Any, n: Any, y_rest: Any, n_rest: Any) -> tuple[Any, Any]:
    """Compute log-odds differences δ of phrases in selected against other texts, and z-scores; Dirichlet prior."""
    prior = PRIOR * (y + y_rest) / (n + n_rest)
    first = np.log((y + prior) / (n + PRIOR - y - prior))
    delta = first - np.log((y_rest + prior) / (n_rest + PRIOR - y_rest - prior))
    return delta, delta / np.sqrt(1 / (y + prior) + 1 / (y_rest + prior))


def split_phrase(phrase: str) -> list[str]:
    """Split a typed phrase into lower-case words; InputError if it has no word or a punctuation mark."""
    words = split_words(phrase.lower())
    if not words or any(map(is_bare_mark, words)):
        raise InputError("takes words, as in not good, without marks")
    return words


def is_within(one: str, other: str) -> bool:
    """Return whether one of two phrases contains the other, as whole words."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "
