"""What lexicons say of each token: (positive, neutral, negative), a third each where one says nothing.

Total sentiment of Jang, Kim and Shin: lambda_k = (c_k + 1) / (sum of c + 3), c the counts of all entries of a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

import numpy as np

from core.exceptions import DataError
from core.text.config import TextConfig
from core.text.lexicon_files import Counts, read_lexicon
from core.text.lookalikes import resolve
from core.text.normalise import prepare
from core.text.words import is_bare_mark, split_words

NEUTRAL = 1 / 3
SMOOTHING = 1.0
TRIPLE = ("positive", "neutral", "negative")

_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")


class Lexicon:
    """Words and phrases as they stand in a normalised text, lower-cased, each with its counts in K lexicons."""

    def __init__(self, entries: dict[str, Counts], lexicons: int = 1) -> None:
        self.entries = entries
        self.width = len(next(iter(entries.values()), (0.0,) * (3 * lexicons)))
        """3K."""
        self._words: dict[str, Counts] = {}
        self._phrases: dict[str, list[tuple[str, int, Counts]]] = {}
        for entry, counts in entries.items():
            words = split_words(entry)
            if len(words) == 1:
                # A single mark is no emoticon: a lexicon that lists one would colour all punctuation.
                if not is_bare_mark(entry):
                    self._words[entry] = counts
            elif words:
                self._phrases.setdefault(words[0], []).append((entry, len(words), counts))

    @classmethod
    def fitted(cls, config: TextConfig) -> Lexicon:
        """Read the lexicons of the settings, their entries normalised like the texts.

        An emoticon counts only where the normaliser leaves it as it is (of `:D`, tweet-clean leaves a `d`).
        Entries of one lexicon that become the same are added up; one that lacks an entry counts nothing of it.
        """
        entries: dict[str, Counts] = {}
        width = 3 * len(config.lexicons)
        for place, name in enumerate(config.lexicons):
            before, behind = (0.0,) * (3 * place), (0.0,) * (width - 3 * place - 3)
            left = False
            for word, counts in read_lexicon(name):
                entry = prepare(word, config).lower()
                if entry and (entry == resolve(word, config.lookalikes).lower() or _TWO_LETTERS.search(word)):
                    entries[entry] = _plus(entries.get(entry, (0.0,) * width), before + counts + behind)
                    left = True
            if not left:
                raise DataError("nothing of the lexicon is left after normalising", file=name)
        return cls(entries)

    def among(self, words: Set[str]) -> Lexicon:
        """The entries with at least one of these words: where all others are unknown, only they can be found."""
        found = {entry: counts for entry, counts in self.entries.items() if words & set(split_words(entry))}
        return Lexicon(found, self.width // 3)

    def of_words(self, text: str, spans: Sequence[tuple[int, int]]) -> dict[int, Counts]:
        """Return counts by number of the word; a phrase or emoticon of the text counts for each of its words."""
        words = [text[start:end].lower() for start, end in spans]
        found: dict[int, Counts] = {}
        for place, word in enumerate(words):
            if word in self._words:
                found[place] = _plus(found.get(place, (0.0,) * self.width), self._words[word])
            for entry, length, counts in self._phrases.get(word, ()):
                last = place + length - 1
                if last < len(words) and text[spans[place][0] : spans[last][1]].lower() == entry:
                    for each in range(place, last + 1):
                        found[each] = _plus(found.get(each, (0.0,) * self.width), counts)
        return found

    def of_tokens(self, tokenised: Iterable[Iterable[int]], size: int) -> np.ndarray:
        """Return (size, 3K) counts by token id: those of every entry that has the token, once per entry."""
        table = np.zeros((size, self.width))
        for ids, counts in zip(tokenised, self.entries.values(), strict=True):
            table[list(set(ids))] += counts
        return table

    def state(self) -> dict[str, list[float]]:
        """What `restored` needs: no file is asked again."""
        return {entry: list(counts) for entry, counts in self.entries.items()}

    @classmethod
    def restored(cls, state: dict[str, Counts], lexicons: int = 1) -> Lexicon:
        """Restore so many lexicons from a saved state; a ValueError says that it is damaged."""
        found = cls(dict(state), lexicons)
        for entry, counts in state.items():
            if len(counts) != found.width or found.width % 3 or not found.width:
                raise ValueError(f"the lexicon's entry {entry!r} has {len(counts)} counts")
            if not 0 <= sum(counts) < np.inf or min(counts) < 0:
                raise ValueError(f"the lexicon's entry {entry!r} has impossible counts")
        return found


def smoothed(counts: np.ndarray) -> np.ndarray:
    """(…, 3K) float32: the three of each lexicon sum to 1; exactly a third each where all its counts are 0."""
    each = counts.reshape(*counts.shape[:-1], -1, 3) if counts.size else counts
    return ((each + SMOOTHING) / (each.sum(-1, keepdims=True) + 3 * SMOOTHING)).astype(np.float32).reshape(counts.shape)


def triples(lexicons: int) -> tuple[str, ...]:
    """What the 3K numbers of a token are; several lexicons are numbered as `text.lexicon` names them."""
    if lexicons == 1:
        return TRIPLE
    return tuple(f"{name} {number}" for number in range(1, lexicons + 1) for name in TRIPLE)


def neutral_share(polarity: np.ndarray) -> float:
    """Share of tokens (n, 3K) of which no lexicon says anything; NaN without tokens."""
    return float((polarity == np.float32(NEUTRAL)).all(-1).mean()) if len(polarity) else float("nan")


def _plus(one: Counts, other: Counts) -> Counts:
    return tuple(map(sum, zip(one, other, strict=True)))
