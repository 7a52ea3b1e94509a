"""One id per word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Any, Self

from core.text.config import TextConfig
from core.text.ids import FIRST, SPECIALS, UNKNOWN
from core.text.normalise import prepare, prepare_all
from core.text.pair import SIGN
from core.text.tokenizer import Grown, State, Tokenizer, automatic_length, ranked
from core.text.words import split_words, word_pattern


class ListedTokenizer(Tokenizer):
    """A tokenizer with a list of what it knows: words, or n-grams of words."""

    def __init__(self, vocabulary: Sequence[str], config: TextConfig, max_length: int = 0) -> None:
        """The vocabulary lists the entries from id 2 on."""
        self.config, self.max_length = config, max_length
        self._entries = list(vocabulary)
        self._ids = {entry: index for index, entry in enumerate(vocabulary, start=FIRST)}
        if len(self._ids) != len(self._entries):
            raise ValueError("an entry of the vocabulary is listed twice")

    @property
    def size(self) -> int:
        """Number of ids, the two special ones included."""
        return FIRST + len(self._entries)

    @property
    def known_words(self) -> Container[str]:
        """Its vocabulary; pairs and parts of words have a blank in them, which no word has."""
        return self._ids

    def name(self, token: int) -> str:
        """Return the entry of an id."""
        return SPECIALS[token] if token < FIRST else self._entries[token - FIRST]

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": self._entries}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> Self:
        """The tokenizer of a saved state."""
        return cls(state.vocabulary, config, max_length)


class WordTokenizer(ListedTokenizer):
    """Words, numbers, emoji and single marks (`core.text.words`); a word outside the vocabulary is unknown."""

    kind = "word"

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> WordTokenizer:
        """The most frequent words of the texts; ties in the order of code points."""
        counts: Counter[str] = Counter()
        lengths = []
        for text in texts:
            words = split_words(prepare(text, config))
            counts.update(words)
            lengths.append(len(words))
        vocabulary = ranked(counts, config.min_freq, config.max_vocab - FIRST)
        return cls(vocabulary, config, config.max_length or automatic_length(lengths))

    def words(self) -> set[str]:
        """The vocabulary, lower-cased."""
        return {word.lower() for word in self._entries}

    def grown(self, texts: Iterable[str], count: int) -> Grown:
        """With the most frequent unknown words."""
        counts = Counter(word for text in prepare_all(texts, self.config) for word in split_words(text))
        unknown = Counter({word: number for word, number in counts.items() if word not in self._ids})
        new = ranked(unknown, self.config.min_freq, count)
        return Grown(WordTokenizer([*self._entries, *new], self.config, self.max_length), [[] for _ in new])

    def with_mark(self) -> WordTokenizer:
        """The same with the mark of pairs as its first word; the rarest goes where there is no room."""
        room = self.config.max_vocab - FIRST - 1
        words = [word for word in self._entries if word != SIGN]
        return WordTokenizer([SIGN, *words[:room]], self.config, self.max_length)

    def _pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = list(word_pattern().finditer(text))
        return [self._ids.get(match[0], UNKNOWN) for match in found], [match.span() for match in found]

    def _batch(self, texts: list[str]) -> Iterable[list[int]]:
        get = self._ids.get
        return ([get(word, UNKNOWN) for word in split_words(text)] for text in texts)
