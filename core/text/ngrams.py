"""Tokenizers with a listed vocabulary: words, and the word and character n-grams of the TF-IDF baselines."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from core.text.config import TextConfig
from core.text.normalization import prepare, prepare_all
from core.text.special_ids import FIRST, SPECIALS, UNKNOWN
from core.text.text_pairs import SIGN, is_mostly_pairs, split_pair
from core.text.tokenizer import GrownTokenizer, State, Tokenizer, compute_max_length, rank_keys
from core.text.words import get_word_pattern, split_words


class ListedTokenizer(Tokenizer):
    """A tokenizer with an explicit vocabulary of words or n-grams."""

    def __init__(self, vocabulary: Sequence[str], config: TextConfig, max_length: int = 0) -> None:
        """Store the vocabulary, whose entries have the token ids from 2 on."""
        self.config, self.max_length = config, max_length
        self._entries = list(vocabulary)
        self._ids = {entry: index for index, entry in enumerate(vocabulary, start=FIRST)}
        if len(self._ids) != len(self._entries):
            raise ValueError("an entry of the vocabulary is listed twice")
        self.size, self.known_words = FIRST + len(self._entries), self._ids  # also word pairs and character n-grams

    def name(self, token: int) -> str:
        """Return the vocabulary entry of a token id."""
        return SPECIALS[token] if token < FIRST else self._entries[token - FIRST]

    def _dump_state(self) -> dict[str, Any]:
        return {"vocabulary": self._entries}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> Self:
        """Restore a tokenizer with a listed vocabulary from a saved state."""
        return cls(state.vocabulary, config, max_length)


class WordTokenizer(ListedTokenizer):
    """A tokenizer of words, numbers, emoji and single marks (`core.text.words`); words not in its list are unknown."""

    kind = "word"

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> "WordTokenizer":
        """Fit the vocabulary of a word tokenizer: most frequent words, equally frequent ones in code point order."""
        counts: Counter[str] = Counter()
        lengths = []
        for text in texts:
            words = split_words(prepare(text, config))
            counts.update(words)
            lengths.append(len(words))
        vocabulary = rank_keys(counts, config.min_freq, config.max_vocab - FIRST)
        return cls(vocabulary, config, config.max_length or compute_max_length(lengths))

    def list_words(self) -> set[str]:
        """Return the words of the vocabulary, lower-cased."""
        return {word.lower() for word in self._entries}

    def grow_vocabulary(self, texts: Iterable[str], count: int) -> GrownTokenizer:
        """Return a tokenizer whose vocabulary is extended by the most frequent unknown words of other texts."""
        counts = Counter(word for text in prepare_all(texts, self.config) for word in split_words(text))
        unknown = Counter({word: number for word, number in counts.items() if word not in self._ids})
        new = rank_keys(unknown, self.config.min_freq, count)
        return GrownTokenizer(WordTokenizer([*self._entries, *new], self.config, self.max_length), [[] for _ in new])

    def add_mark(self) -> "WordTokenizer":
        """Return a copy of the tokenizer with a separator token for pairs; a full vocabulary loses its rarest word."""
        room = self.config.max_vocab - FIRST - 1
        words = [word for word in self._entries if word != SIGN]
        return WordTokenizer([SIGN, *words[:room]], self.config, self.max_length)

    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = list(get_word_pattern().finditer(text))
        return [self._ids.get(match[0], UNKNOWN) for match in found], [match.span() for match in found]

    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        get = self._ids.get
        return ([get(word, UNKNOWN) for word in split_words(text)] for text in texts)


SHORTEST = 2  # Characters of the shortest n-gram; a blank at the edge of a word counts as one
INSIDE = " "  # Prefix of character n-grams in the vocabulary: `oo` is a word, ` oo` a part of words


class NGramTokenizer(ListedTokenizer):
    """A tokenizer of words, word pairs and, with `char_ngrams`, character n-grams (`char_wb`), without unknown ones."""

    kind = "ngram"

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> "NGramTokenizer":
        """Fit a vocabulary of the n-grams that occur in at least `min_freq` texts; a text pair counts as two texts."""
        documents: Counter[str] = Counter()
        texts = list(texts)
        pairs = is_mostly_pairs(texts)
        for text in texts:
            for part in (split_pair(text) if pairs else None) or (text,):
                documents.update(set(_list_grams(prepare(part, config), config.char_ngrams)))
        first = [SIGN] if pairs else []
        if pairs:
            documents.pop(SIGN, None)
        fitted = cls([*first, *rank_keys(documents, config.min_freq, config.max_vocab - FIRST - len(first))], config)
        fitted.pairs = pairs
        return fitted

    @property
    def characters(self) -> np.ndarray:
        """A mask of the token ids that are character n-grams, (size,) bool."""
        return np.array([False] * FIRST + [gram.startswith(INSIDE) for gram in self._entries])

    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        words = [match.span() for match in get_word_pattern().finditer(text)]
        spans = words + [(first[0], second[1]) for first, second in pairwise(words)]
        longest = self.config.char_ngrams
        for start, end in words:
            places = _iterate_spans(end - start + 2, longest)  # in the padded word, whose blanks have no offset
            spans += [(max(start, start + first - 1), min(end, start + last - 1)) for first, last in places]
        grams = _list_grams(text, longest)
        found = [(self._ids[gram], span) for gram, span in zip(grams, spans, strict=True) if gram in self._ids]
        return [each for each, _ in found], [span for _, span in found]

    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        ids, longest = self._ids, self.config.char_ngrams

        @functools.cache
        def encode_word(word: str) -> list[int]:
            return [ids[gram] for gram in _list_char_grams(word, longest) if gram in ids]

        for text in texts:
            words = split_words(text)
            found = [ids[gram] for gram in _add_bigrams(words) if gram in ids]
            for word in words if longest else ():
                found += encode_word(word)
            yield found


def _list_grams(text: str, longest: int) -> list[str]:
    words = split_words(text)
    return _add_bigrams(words) + [gram for word in words for gram in _list_char_grams(word, longest)]


def _add_bigrams(words: list[str]) -> list[str]:
    return words + [f"{first} {second}" for first, second in pairwise(words)]


@functools.lru_cache(1 << 16)
def _list_char_grams(word: str, longest: int) -> tuple[str, ...]:
    padded = f" {word} "
    return tuple(INSIDE + padded[start:end] for start, end in _iterate_spans(len(padded), longest))


def _iterate_spans(length: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every character n-gram of a word with `length` characters, the shortest first."""
    sizes = range(SHORTEST, min(longest, length) + 1)
    return ((start, start + size) for size in sizes for start in range(length - size + 1))
