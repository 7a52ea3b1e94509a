"""The base class of tokenizers: normalised text to token ids, with tags and polarities of the tokens."""

import copy
import dataclasses
import json
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast

import msgspec
import numpy as np

from core.atomic import write_text
from core.exceptions import ConfigError, InputError
from core.json_store import Count
from core.text.config import Normalizer, TextConfig
from core.text.lexicon import Counts, Lexicon, smooth_counts
from core.text.normalization import NORMALIZERS, measure_lengths, prepare, prepare_all
from core.text.pos_tags import UNTAGGED, Tagger, tag_texts
from core.text.special_ids import FIRST, UNKNOWN
from core.text.text_pairs import MARK, SIGN, divide_tokens, replace_sign, split_pair
from core.text.word_spans import Span, find_word_spans
from core.text.words import get_word_pattern, hash_char_ngrams, is_bare_mark, split_words

VERSION = 1
T = TypeVar("T")
Tag = Callable[[Tagger, Sequence[Sequence[str]]], Sequence[Sequence[int]]]


class Encoding(NamedTuple):
    """A tokenised text, as the model reads it: token ids, offsets, tags and polarities."""

    ids: list[int]
    tokens: list[str]  # The piece of `text` of each id, also of unknown tokens
    offsets: list[tuple[int, int]]  # Span of each token in `text`; byte-level pieces share that of their character
    truncated: int
    text: str  # The normalised text that offsets count in (normalising may change lengths)
    tags: list[int] | None = None  # Id of `pos_tags.TAGS` of each token's word, 0: none; None without a tagger
    polarity: list[tuple[float, ...]] | None = None  # (positive, neutral, negative) per lexicon; None: no lexicon
    grams: list[list[int]] | None = None  # Hash buckets of each token's n-grams; None if the model reads none
    lexicons: int = 0


class GrownTokenizer(NamedTuple):
    """A tokenizer with added tokens, and the old tokens that each new one replaces (empty: the word was unknown)."""

    tokenizer: "Tokenizer"
    origins: list[list[int]]


class AnnotatedTexts(NamedTuple):
    """Tokenised texts with the part-of-speech tags and lexicon polarities of all their tokens, in flat arrays."""

    ids: list[list[int]]
    tags: np.ndarray | None
    polarity: np.ndarray | None


class Segmentation(NamedTuple):
    """A normalised text split into words and, independently, into tokens."""

    text: str
    spans: list[Span]
    owners: list[int]  # Per token the number of the word it begins in, -1 outside of words
    cased: list[str]  # The words as their writer spelt them, up to the last one with a token


class KnownTagger(msgspec.Struct):
    """The part-of-speech tagger that a saved tokenizer was fitted with."""

    language: Literal["en", "de", "nl"]
    version: str


class State(msgspec.Struct):
    """The saved state of a tokenizer, as `to_json` writes it."""

    kind: Literal["word", "bpe", "ngram", "pretrained"]
    config: dict[str, Any]
    max_length: Count
    vocabulary: list[str]
    merges: list[tuple[str, str]] = []
    pipeline: str = ""
    tagger: KnownTagger | None = None
    lexicon: dict[str, Counts] | None = None
    buckets: Count = 0
    pairs: bool = False
    notes: tuple[str, ...] = ()


class Tokenizer(ABC):
    """A fitted tokenizer: its state is one JSON object, and it never changes after fitting."""

    kind: str
    config: TextConfig
    size: int  # Token ids, including the special ones for padding and unknown
    max_length: int  # Token ids per text, at most; 0: texts are never truncated
    known_words: Container[str] | None = None  # None if words are composed of pieces and not listed
    between: Sequence[int] = (FIRST,)  # Token ids of the mark between two texts, without other use
    tagger: Tagger | None = None
    lexicon: Lexicon | None = None
    counts: np.ndarray | None = None  # (V, 3K): the lexicon's counts by token id, if they are not those of its word
    buckets: int = 0  # Hash buckets for the character n-grams of words; 0: the model reads none
    pairs: bool = False  # Whether the pair mark separates two texts; else it is a character like any other
    notes: tuple[str, ...] = ()

    def read_as(self, normalizer: str) -> Self:
        """Return the same tokenizer behind another normaliser; InputError: there is no such normaliser."""
        if normalizer not in NORMALIZERS:
            raise InputError(f"no normaliser is called '{normalizer}': {', '.join(NORMALIZERS)}")
        changed = copy.copy(self)
        changed.config = dataclasses.replace(self.config, normaliser=cast(Normalizer, normalizer))
        return changed

    @abstractmethod
    def name(self, token: int) -> str:
        """Return the readable text of a token id."""

    @abstractmethod
    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return all token ids and their offsets in a normalised text, without truncation."""

    @abstractmethod
    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        """Return all token ids of normalised texts, without truncation."""

    @abstractmethod
    def _dump_state(self) -> dict[str, Any]:
        """Return the tokenizer's state that `restore` needs in addition to the settings and maximum length."""

    @classmethod
    @abstractmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> Self:
        """Restore a tokenizer from a saved state; a ValueError, KeyError or TypeError means that it is damaged."""

    def grow_vocabulary(self, texts: Iterable[str], count: int) -> GrownTokenizer:
        """Return a tokenizer with at most `count` more tokens: frequent unknown or split words; ids stay the same."""
        raise ConfigError("text.grown: this tokenizer cannot be extended by words; choose text.grown=0")

    def encode(self, text: str) -> Encoding:
        """Encode a text to token ids with all features (tags, polarities, n-grams), for display."""
        raw, text = text, prepare(text, self.config)
        every, places = self._encode_full(text)
        ids, offsets = self.truncate_values(every, every), self.truncate_values(every, places)
        tokens = [text[start:end] for start, end in offsets]
        grams = [hash_char_ngrams(token, self.buckets) for token in tokens] if self.buckets else None
        found = Encoding(ids, tokens, offsets, len(every) - len(ids), text, grams=grams)
        if self.tagger is None and self.lexicon is None:
            return found
        reading = self._split_segments(raw, text, found.offsets)
        tags = self._collect_tags([reading], lambda tagger, texts: [tagger.tag(words) for words in texts])
        if (polarity := self._collect_polarity([reading], [found.ids])) is not None:
            found = found._replace(polarity=list(map(tuple, polarity.tolist())), lexicons=polarity.shape[1] // 3)
        return found._replace(tags=None if tags is None else tags[0])

    def compute_unknown_share(self, text: str) -> float | None:
        """Return the share of unknown words in a text (0 without words); None if words are composed of known pieces."""
        if (known := self.known_words) is None:
            return None
        words = [word for word in split_words(prepare(text, self.config)) if not is_bare_mark(word)]
        return sum(word not in known for word in words) / len(words) if words else 0.0

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the token ids of many texts, truncated at `max_length`; the same as from `encode`, but faster."""
        return [self.truncate_values(ids, ids) for ids in self._encode_all(prepare_all(texts, self.config))]

    def count_read(self, texts: Iterable[str]) -> list[tuple[int, int]]:
        """Count the tokens of each text that the model reads, and those that are cut off at `max_length`."""
        every = self._encode_all(prepare_all(texts, self.config))
        read = ((len(ids), len(self.truncate_values(ids, ids))) for ids in every)
        return [(kept, length - kept) for length, kept in read]

    def split_batch(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the token strings of many texts, truncated at `max_length`; the same tokens as from `encode`."""
        read = ((text, *self._encode_full(text)) for text in prepare_all(texts, self.config))
        return [[text[start:end] for start, end in self.truncate_values(ids, offsets)] for text, ids, offsets in read]

    def annotate_batch(self, texts: Sequence[str]) -> AnnotatedTexts:
        """Return token ids, tags and polarities of many texts, truncated as by `encode`; tags are cached on disk."""
        ids, readings = [], []
        for raw in texts:
            text = prepare(raw, self.config)
            every, offsets = self._encode_full(text)
            ids.append(self.truncate_values(every, every))
            readings.append(self._split_segments(raw, text, self.truncate_values(every, offsets)))
        tags = self._collect_tags(readings, tag_texts)
        return AnnotatedTexts(
            ids,
            None if tags is None else np.array([tag for row in tags for tag in row], np.uint8),
            self._collect_polarity(readings, ids),
        )

    def _split_segments(self, raw: str, text: str, offsets: Sequence[Span]) -> Segmentation:
        """Split a normalised text into words, and assign tokens, given by their offsets, to the words."""
        if self.tagger is None and self.counts is not None:  # tokens alone decide
            return Segmentation(text, [], [-1] * len(offsets), [])
        spans = [match.span() for match in get_word_pattern().finditer(text)]
        owners, place = list[int](), 0
        for start, _ in offsets:
            while place < len(spans) and spans[place][1] <= start:
                place += 1
            owners.append(place if place < len(spans) and spans[place][0] <= start else -1)
        cased: list[str] = []
        if self.tagger is not None:
            cased = split_words(prepare(raw, self.config, cased=True))
            # Lower-casing rarely changes word boundaries; if it does, the lower-cased words are tagged.
            if len(cased) != len(spans):
                cased = [text[start:end] for start, end in spans]
            del cased[max(owners, default=-1) + 1 :]
        return Segmentation(text, spans, owners, cased)

    def _collect_tags(self, segmented: Sequence[Segmentation], tag: Tag) -> list[list[int]] | None:
        """Return the part-of-speech tag of each token's word, per text; None without a tagger."""
        if self.tagger is None:
            return None
        found = tag(self.tagger, [reading.cased for reading in segmented])
        return [
            [UNTAGGED if owner < 0 else int(tags[owner]) for owner in reading.owners]
            for reading, tags in zip(segmented, found, strict=True)
        ]

    def _collect_polarity(self, segmented: Sequence[Segmentation], ids: Sequence[Sequence[int]]) -> np.ndarray | None:
        """Return the lexicon polarity of every token of the texts, neutral if unlisted; None without a lexicon."""
        if self.lexicon is None:
            return None
        if self.counts is not None:
            return smooth_counts(self.counts[np.array([token for row in ids for token in row], np.int64)])
        counts = np.zeros((sum(map(len, ids)), self.lexicon.width))
        start = 0
        for reading, row in zip(segmented, ids, strict=True):
            if found := self.lexicon.match_words(reading.text, reading.spans):
                for place, owner in enumerate(reading.owners):
                    if owner in found and row[place] != UNKNOWN:
                        counts[start + place] = found[owner]
            start += len(row)
        return smooth_counts(counts)

    def enable_pairs(self, texts: Sequence[str]) -> None:
        """Start reading text pairs, and recompute an automatic maximum length from the training texts."""
        self.pairs = True
        if not self.config.max_length and self.max_length:
            every = self._encode_all(prepare_all(texts, self.config))
            self.max_length = compute_max_length([len(ids) for ids in every])

    def truncate_values(self, ids: Sequence[int], values: Sequence[T]) -> list[T]:
        """Truncate a list with one value per token to the maximum length; each text of a pair is cut at the end."""
        most = self.max_length or len(ids)
        sign = self.between[0]
        if len(ids) <= most or not self.pairs or sign not in ids:
            return [*values[:most]]
        place, behind = ids.index(sign), ids.index(sign) + len(self.between)
        first, second = divide_tokens(place, len(ids) - behind, max(0, most - len(self.between)))
        return [*values[:first], *values[place:behind], *values[behind : behind + second]]

    def find_truncated(self, text: str) -> list[Span]:
        """Return the spans of a text as typed that truncation cuts off; without them the text gives the same tokens."""
        if not self.max_length:
            return []
        parts = (split_pair(text) if self.pairs else None) or (text,)
        read = [self._encode_full(prepare(part, self.config)) for part in parts]
        lengths = [len(ids) for ids, _ in read]
        most = self.max_length - len(self.between) * (len(parts) - 1)
        if sum(lengths) <= most:
            return []
        fit = divide_tokens(lengths[0], lengths[1], max(0, most)) if len(parts) > 1 else (most,)
        starts = 0, len(text) - len(parts[-1])
        return [
            (start + self._find_end(part, ids, offsets, count), start + len(part))
            for start, part, (ids, offsets), count in zip(starts, parts, read, fit, strict=False)
            if count < len(ids)
        ]

    def _find_end(self, text: str, ids: Sequence[int], offsets: Sequence[Span], count: int) -> int:
        """Return the position where a text's first `count` tokens end; `ids` and `offsets` are of the whole text."""
        words = find_word_spans(text)
        if not count or not words:
            return 0
        stop = offsets[count - 1][1]

        def find_first(places: Sequence[int]) -> int:
            """Return the index of the first position that is not before the end of the last kept token."""
            return bisect_left(places, stop, key=lambda place: measure_lengths(text, [place], self.config)[0])

        at = min(find_first([end for _, end in words]), len(words) - 1)
        inside = range(words[at][0] + 1, words[at][1])
        for place in (words[at][1], *inside[find_first(inside) :][:1]):
            if self._encode_full(prepare(text[:place], self.config))[0] == ids[:count]:
                return place
        return words[at - 1][1] if at else 0

    def _encode_full(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return all token ids and offsets of a normalised text or text pair, without truncation."""
        if not self.pairs:
            return self._encode_text(text)
        first, mark, second = text.partition(MARK)
        ids, offsets = self._encode_text(replace_sign(first))
        ids = self._remove_mark(ids)
        if not mark:
            return ids, offsets
        after, places = self._encode_text(replace_sign(second))
        at, more = len(first) + MARK.index(SIGN), len(first) + len(MARK)
        moved = [(start + more, end + more) for start, end in places]
        between = [(at, at + 1)] * len(self.between)
        return [*ids, *self.between, *self._remove_mark(after)], [*offsets, *between, *moved]

    def _encode_all(self, texts: list[str]) -> Iterable[list[int]]:
        """Return all token ids of normalised texts or text pairs, without truncation; equal to `_encode_full`."""
        if not self.pairs:
            return self._encode_texts(texts)
        parts = [split_pair(text) or (text,) for text in texts]
        found = iter(self._encode_texts([replace_sign(part) for each in parts for part in each]))
        read = [[self._remove_mark(next(found)) for _ in each] for each in parts]
        return [each[0] if len(each) == 1 else [*each[0], *self.between, *each[1]] for each in read]

    def _remove_mark(self, ids: list[int]) -> list[int]:
        return [UNKNOWN if each in self.between else each for each in ids]

    def set_lexicon(self, lexicon: Lexicon) -> None:
        """Set the sentiment lexicon that gives tokens their polarities."""
        self.lexicon, self.counts = lexicon, None
        if self.config.lexicon_match == "contains":
            self.counts = lexicon.sum_by_token(self._encode_texts(list(lexicon.entries)), self.size)
            for token in np.flatnonzero(self.counts.any(1)):
                if token < FIRST or is_bare_mark(self.name(int(token))):
                    self.counts[token] = 0

    def to_json(self) -> str:
        """Return the tokenizer's complete state as JSON, which `core.text.tokenizer_factory` reads."""
        known = {
            "tagger": self.tagger and {"language": self.tagger.language, "version": self.tagger.version},
            "lexicon": None if self.lexicon is None else self.lexicon.entries,
            "buckets": self.buckets or None,
            "pairs": self.pairs or None,
            "notes": self.notes or None,
        }
        return json.dumps(
            {
                "version": VERSION,
                "kind": self.kind,
                "config": dataclasses.asdict(self.config),
                "max_length": self.max_length,
                **self._dump_state(),
                **{name: value for name, value in known.items() if value is not None},
            },
            ensure_ascii=False,
        )

    def save(self, path: Path) -> None:
        """Write the tokenizer's state, as `to_json` returns it, to a file atomically."""
        write_text(path, self.to_json())


def trim_span(text: str, start: int, end: int) -> Span:
    """Return a token's span without the blank before its word; a token of only a blank has the blank as its span."""
    if start == end and text[start - 1 : start] == " ":
        return start - 1, end
    return (start + 1, end) if end - start > 1 and text[start] == " " else (start, end)


def compute_max_length(lengths: Sequence[int]) -> int:
    """Return a maximum text length: the 99th percentile of token counts, rounded up to a multiple of 8, 16 to 256."""
    percentile = float(np.percentile(lengths, 99)) if len(lengths) else 0.0
    return min(256, max(16, -int(-percentile // 8) * 8))


def rank_keys(counts: Counter[str], least: int, most: int) -> list[str]:
    """Return at most `most` keys, the most frequent first, without those that are counted fewer than `least` times."""
    return [key for _, key in sorted((-count, key) for key, count in counts.items() if count >= least)[:most]]
