"""Words and pairs of neighbouring words as ids: the input of the TF-IDF baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from core.text.config import TextConfig
from core.text.ids import FIRST, SPECIALS
from core.text.normalise import prepare
from core.text.tokenizer import State, Tokenizer, ranked
from core.text.words import split_words, word_pattern


class NGramTokenizer(Tokenizer):
    """1-2-grams over word tokens: single words first, then pairs; unknown ones are left out, nothing is cut.

    Repetitions are kept, so that a model can count them. A pair is written with one blank between its words.
    """

    kind = "ngram"
    max_length = 0

    def __init__(self, vocabulary: Sequence[str], config: TextConfig) -> None:
        """The vocabulary lists the n-grams from id 2 on."""
        self.config = config
        self._grams = list(vocabulary)
        self._ids = {gram: index for index, gram in enumerate(vocabulary, start=FIRST)}
        if len(self._ids) != len(self._grams):
            raise ValueError("an n-gram is listed twice")

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> NGramTokenizer:
        """The n-grams found in at least `min_freq` texts, the most widespread first."""
        documents: Counter[str] = Counter()
        for text in texts:
            documents.update(set(_grams(prepare(text, config))))
        return cls(ranked(documents, config.min_freq, config.max_vocab - FIRST), config)

    @property
    def size(self) -> int:
        """Number of ids, the two special ones included."""
        return FIRST + len(self._grams)

    def name(self, token: int) -> str:
        """The n-gram of an id."""
        return SPECIALS[token] if token < FIRST else self._grams[token - FIRST]

    def _pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        spans = [match.span() for match in word_pattern().finditer(text)]
        spans += [(first[0], second[1]) for first, second in pairwise(spans)]
        found = [(self._ids[gram], span) for gram, span in zip(_grams(text), spans, strict=True) if gram in self._ids]
        return [each for each, _ in found], [span for _, span in found]

    def _batch(self, texts: list[str]) -> Iterable[list[int]]:
        ids = self._ids
        return ([ids[gram] for gram in _grams(text) if gram in ids] for text in texts)

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": self._grams}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> NGramTokenizer:
        """The tokenizer of a saved state."""
        return cls(state.vocabulary, config)


def _grams(text: str) -> list[str]:
    words = split_words(text)
    return words + [f"{first} {second}" for first, second in pairwise(words)]
