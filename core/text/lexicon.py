"""What a lexicon says of each token: (positive, neutral, negative), a third each where it says nothing.

Total sentiment of Jang, Kim and Shin: the counts c of all entries that a token belongs to, smoothed,
lambda_k = (c_k + 1) / (sum of c + 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

import numpy as np

from core.exceptions import DataError
from core.text.config import TextConfig
from core.text.lexicon_files import Counts, read_lexicon
from core.text.normalise import prepare
from core.text.words import is_bare_mark, split_words

NEUTRAL = 1 / 3
SMOOTHING = 1.0

_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_NOTHING: Counts = (0.0, 0.0, 0.0)


class Lexicon:
    """Words and phrases as they stand in a normalised text, lower-cased, each with its counts."""

    def __init__(self, entries: dict[str, Counts]) -> None:
        """Entries as `fitted` makes them."""
        self.entries = entries
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
        """The lexicon of the settings, its entries normalised like the texts.

        An emoticon counts only where the normaliser leaves it as it is (of `:D`, tweet-clean leaves a `d`).
        Entries that become the same are added up.

        Raises:
            DataError: the file cannot be used; says which row and column.
            NotAvailable: a package is missing.
        """
        entries: dict[str, Counts] = {}
        for word, counts in read_lexicon(config.lexicon):
            entry = prepare(word, config).lower()
            if entry and (entry == word.lower() or _TWO_LETTERS.search(word)):
                entries[entry] = _plus(entries.get(entry, _NOTHING), counts)
        if not entries:
            raise DataError("nothing of the lexicon is left after normalising", file=config.lexicon)
        return cls(entries)

    def among(self, words: Set[str]) -> Lexicon:
        """The entries with at least one of these words: where all others are unknown, only they can be found."""
        return Lexicon({entry: counts for entry, counts in self.entries.items() if words & set(split_words(entry))})

    def of_words(self, text: str, spans: Sequence[tuple[int, int]]) -> dict[int, Counts]:
        """Counts by number of the word, for the words of a normalised text that stand in the lexicon.

        A phrase or emoticon counts where it stands in the text, for each of its words.
        """
        words = [text[start:end].lower() for start, end in spans]
        found: dict[int, Counts] = {}
        for place, word in enumerate(words):
            if word in self._words:
                found[place] = _plus(found.get(place, _NOTHING), self._words[word])
            for entry, length, counts in self._phrases.get(word, ()):
                last = place + length - 1
                if last < len(words) and text[spans[place][0] : spans[last][1]].lower() == entry:
                    for each in range(place, last + 1):
                        found[each] = _plus(found.get(each, _NOTHING), counts)
        return found

    def of_tokens(self, tokenised: Iterable[Iterable[int]], size: int) -> np.ndarray:
        """(size, 3) counts by token id: those of every entry that has the token among its own, once per entry.

        Args:
            tokenised: the token ids of each entry, in their order.
            size: number of ids.
        """
        table = np.zeros((size, 3))
        for ids, counts in zip(tokenised, self.entries.values(), strict=True):
            table[list(set(ids))] += counts
        return table

    def state(self) -> dict[str, list[float]]:
        """What `restored` needs: no file is asked again."""
        return {entry: list(counts) for entry, counts in self.entries.items()}

    @classmethod
    def restored(cls, state: dict[str, Counts]) -> Lexicon:
        """The lexicon of a saved state.

        Raises:
            ValueError: it is damaged.
        """
        for entry, counts in state.items():
            if not 0 <= sum(counts) < np.inf or min(counts) < 0:
                raise ValueError(f"the lexicon's entry {entry!r} has impossible counts")
        return cls(dict(state))


def smoothed(counts: np.ndarray) -> np.ndarray:
    """(…, 3) float32: rows sum to 1; exactly a third each where all counts are 0."""
    return ((counts + SMOOTHING) / (counts.sum(-1, keepdims=True) + 3 * SMOOTHING)).astype(np.float32)


def neutral_share(polarity: np.ndarray) -> float:
    """Share of tokens (n, 3) of which the lexicon says nothing; NaN without tokens."""
    return float((polarity == np.float32(NEUTRAL)).all(-1).mean()) if len(polarity) else float("nan")


def _plus(one: Counts, other: Counts) -> Counts:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2])
