"""Normalised text to token ids: word-level and byte-level BPE, fitted on the training split."""

from __future__ import annotations

import dataclasses
import json
import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np

from core import stored
from core.atomic import write_text
from core.exceptions import ConfigError, RunDamaged
from core.paths import regular_bytes
from core.stored import Count
from core.text import annotate
from core.text.config import TextConfig
from core.text.lexicon import Lexicon
from core.text.lexicon_files import Counts
from core.text.normalise import prepare, prepare_all
from core.text.tags import Tagger
from core.text.words import split_words, word_pattern

log = logging.getLogger(__name__)

LARGEST = 512 * 1024**2
"""Bytes of a tokenizer's file: millions of word pairs."""

PAD, UNKNOWN, FIRST = 0, 1, 2
SPECIALS = ("<pad>", "<unk>")
"""Names of ids 0 and 1, for display. They are no tokens: a text that spells them is cut like any other text."""
VERSION = 1
LEAK = "the tokenizer was fitted on the texts of all splits (text.tokenizer_fit=all): test words are not unseen"
ALWAYS = {"normaliser", "tokenizer", "max_vocab", "min_freq", "max_length"}
"""Settings that every saved tokenizer has; later ones may be missing."""


class Encoding(NamedTuple):
    """One text as the model reads it."""

    ids: list[int]
    tokens: list[str]
    """The piece of `text` behind each id, also where the id is the unknown one."""
    offsets: list[tuple[int, int]]
    """Start and end of each token in `text`. Byte-level pieces of one character share that character's place."""
    truncated: int
    """How many tokens were cut off at the end."""
    text: str
    """The normalised text that offsets count in (normalising may change lengths)."""
    tags: list[int] | None = None
    """Part of speech of each token's word (ids of `core.text.tags.TAGS`, 0: none); None without a tagger."""
    polarity: list[tuple[float, float, float]] | None = None
    """(positive, neutral, negative) of each token; None without a lexicon."""


class Annotated(NamedTuple):
    """Many texts as a model with tags or polarities reads them."""

    ids: list[list[int]]
    tags: np.ndarray | None
    """(all tokens,) uint8."""
    polarity: np.ndarray | None
    """(all tokens, 3) float32."""


class KnownTagger(msgspec.Struct):
    """Who found the parts of speech."""

    language: Literal["en", "de", "nl"]
    version: str


class State(msgspec.Struct):
    """What `to_json` writes."""

    kind: Literal["word", "bpe", "ngram"]
    config: dict[str, Any]
    max_length: Count
    vocabulary: list[str]
    merges: list[str | tuple[str, str]] = []
    """Of BPE; older versions of the library write a merge as one text."""
    tagger: KnownTagger | None = None
    lexicon: dict[str, Counts] | None = None
    notes: tuple[str, ...] = ()


class Tokenizer(ABC):
    """A fitted tokenizer: its state is one JSON object, and it never changes after fitting."""

    kind: str
    config: TextConfig
    max_length: int
    """Most ids per text; 0: never cut."""
    tagger: Tagger | None = None
    lexicon: Lexicon | None = None
    counts: np.ndarray | None = None
    """(V, 3): the lexicon's counts by token id, where a token's own entries count and not those of its word."""
    notes: tuple[str, ...] = ()
    """What a person should know of how this tokenizer came to be."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of ids, the two special ones included."""

    @abstractmethod
    def name(self, token: int) -> str:
        """What an id stands for, readable."""

    @abstractmethod
    def _pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """All ids and offsets of a normalised text, not cut."""

    @abstractmethod
    def _batch(self, texts: list[str]) -> Iterable[list[int]]:
        """All ids of normalised texts, not cut."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What `_restore` needs besides config and length."""

    @classmethod
    @abstractmethod
    def _restore(cls, state: State, config: TextConfig, max_length: int) -> Self:
        """The tokenizer of a saved state; any ValueError, KeyError or TypeError means damage."""

    def encode(self, text: str) -> Encoding:
        """One text with everything a page shows of it."""
        raw, text = text, prepare(text, self.config)
        ids, offsets = self._pieces(text)
        keep = self.max_length or len(ids)
        tokens = [text[start:end] for start, end in offsets[:keep]]
        found = Encoding(ids[:keep], tokens, offsets[:keep], len(ids) - len(tokens), text)
        if self.tagger is None and self.lexicon is None:
            return found
        reading = annotate.read(self, raw, text, found.offsets)
        tags = annotate.tags_of(self, [reading], lambda tagger, texts: [tagger.tag(words) for words in texts])
        polarity = annotate.polarity_of(self, [reading], [found.ids])
        triples = None if polarity is None else [(first, second, third) for first, second, third in polarity.tolist()]
        return found._replace(tags=None if tags is None else tags[0], polarity=triples)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts, cut at `max_length`; the same ids as `encode`, faster."""
        return [ids[: self.max_length or None] for ids in self._batch(prepare_all(texts, self.config))]

    def annotate_batch(self, texts: Sequence[str]) -> Annotated:
        """Ids, tags and polarities of many texts, cut at `max_length`; the same as `encode`. Tags are kept on disk."""
        from core.text.tag_cache import tag_texts

        ids, readings = [], []
        for raw in texts:
            text = prepare(raw, self.config)
            every, offsets = self._pieces(text)
            kept = slice(self.max_length or None)
            ids.append(every[kept])
            readings.append(annotate.read(self, raw, text, offsets[kept]))
        tags = annotate.tags_of(self, readings, tag_texts)
        return Annotated(
            ids,
            None if tags is None else np.array([tag for row in tags for tag in row], np.uint8),
            annotate.polarity_of(self, readings, ids),
        )

    def ids_of(self, normalised: list[str]) -> Iterable[list[int]]:
        """All ids of texts that are normalised already, not cut."""
        return self._batch(normalised)

    def to_json(self) -> str:
        """The whole state."""
        return json.dumps(
            {
                "version": VERSION,
                "kind": self.kind,
                "config": dataclasses.asdict(self.config),
                "max_length": self.max_length,
                **self._state(),
                **self._knowledge(),
            },
            ensure_ascii=False,
        )

    def _knowledge(self) -> dict[str, Any]:
        """What is known besides the ids; nothing for a tokenizer without tagger and lexicon."""
        known: dict[str, Any] = {}
        if self.tagger is not None:
            known["tagger"] = {"language": self.tagger.language, "version": self.tagger.version}
        if self.lexicon is not None:
            known["lexicon"] = self.lexicon.state()
        return {**known, "notes": list(self.notes)} if self.notes else known

    @staticmethod
    def from_json(text: str) -> Tokenizer:
        """The tokenizer that `to_json` wrote, whatever its kind.

        Raises:
            RunDamaged: if the text is no complete tokenizer of this version.
        """
        from core.text.bpe import BpeTokenizer
        from core.text.ngrams import NGramTokenizer

        kinds: dict[str, type[Tokenizer]] = {each.kind: each for each in (WordTokenizer, BpeTokenizer, NGramTokenizer)}
        try:
            tree = stored.tree(text)
            version = tree.get("version") if isinstance(tree, dict) else None
            if version != VERSION:
                raise ValueError(f"version {version!r} was written by another Sentiscope, this one reads {VERSION}")
            state = stored.convert(tree, State)
            tokenizer = kinds[state.kind]._restore(state, _read_config(state.config), state.max_length)
            _restore_knowledge(tokenizer, state)
            return tokenizer
        except ValueError as error:
            raise RunDamaged(f"the tokenizer cannot be read: {error}") from error

    def save(self, path: Path) -> None:
        """Write `to_json` to a file, as a whole or not at all."""
        write_text(path, self.to_json())

    @staticmethod
    def load(path: Path) -> Tokenizer:
        """Read what `save` wrote.

        Raises:
            RunDamaged: names the file and the reason.
        """
        try:
            return Tokenizer.from_json(regular_bytes(path, LARGEST).decode("utf-8"))
        except (OSError, ValueError, RunDamaged) as error:
            raise RunDamaged(f"{path}: {error}") from error


class WordTokenizer(Tokenizer):
    """Words, numbers, emoji and single marks (`core.text.words`); a word outside the vocabulary is unknown."""

    kind = "word"

    def __init__(self, vocabulary: Sequence[str], config: TextConfig, max_length: int) -> None:
        """The vocabulary lists the words from id 2 on."""
        self.config, self.max_length = config, max_length
        self._words = list(vocabulary)
        self._ids = {word: index for index, word in enumerate(vocabulary, start=FIRST)}
        if len(self._ids) != len(self._words):
            raise ValueError("a word is listed twice")

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

    @property
    def size(self) -> int:
        """Number of ids, the two special ones included."""
        return FIRST + len(self._words)

    def name(self, token: int) -> str:
        """The word of an id."""
        return SPECIALS[token] if token < FIRST else self._words[token - FIRST]

    def words(self) -> set[str]:
        """The vocabulary, lower-cased."""
        return {word.lower() for word in self._words}

    def _pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = list(word_pattern().finditer(text))
        return [self._ids.get(match[0], UNKNOWN) for match in found], [match.span() for match in found]

    def _batch(self, texts: list[str]) -> Iterable[list[int]]:
        get = self._ids.get
        return ([get(word, UNKNOWN) for word in split_words(text)] for text in texts)

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": self._words}

    @classmethod
    def _restore(cls, state: State, config: TextConfig, max_length: int) -> WordTokenizer:
        return cls(state.vocabulary, config, max_length)


def fit_tokenizer(texts: Iterable[str], config: TextConfig) -> Tokenizer:
    """The configured tokenizer, fitted on the training texts: the same texts and settings give the same state.

    Raises:
        ConfigError: the vocabulary is too small for its kind.
        DataError: the lexicon cannot be used.
        NotAvailable: a package is missing.
    """
    from core.text.bpe import BpeTokenizer

    texts = list(texts)
    tokenizer = (BpeTokenizer if config.tokenizer == "bpe" else WordTokenizer).fit(texts, config)
    tokenizer.tagger, tokenizer.notes = annotate.choose_tagger(texts, config)
    if config.tokenizer_fit == "all":
        tokenizer.notes += (LEAK,)
    if config.lexicon:
        lexicon = Lexicon.fitted(config)
        tokenizer.lexicon = lexicon.among(tokenizer.words()) if isinstance(tokenizer, WordTokenizer) else lexicon
    tokenizer.counts = annotate.counts_by_token(tokenizer)
    return tokenizer


def automatic_length(lengths: Sequence[int]) -> int:
    """The 99th percentile of token counts, rounded up to a multiple of 8, between 16 and 256."""
    percentile = float(np.percentile(lengths, 99)) if len(lengths) else 0.0
    return min(256, max(16, -int(-percentile // 8) * 8))


def ranked(counts: Counter[str], least: int, most: int) -> list[str]:
    """The keys counted at least `least` times, most frequent first, ties in the order of code points."""
    kept = sorted((-count, key) for key, count in counts.items() if count >= least)
    return [key for _, key in kept[:most]]


def _read_config(tree: dict[str, Any]) -> TextConfig:
    """A saved TextConfig; one of its settings that is not there came later, and has the default that was before."""
    if missing := sorted(ALWAYS - set(tree)):
        raise ValueError(f"the field config.{missing[0]} is missing")
    if unknown := sorted(set(tree) - {field.name for field in dataclasses.fields(TextConfig)}):
        raise ValueError(f"config.{unknown[0]} is a setting of a newer version, without which texts are cut otherwise")
    try:
        return stored.convert(tree, TextConfig)
    except ConfigError as error:  # no ValueError: its message is passed on as one
        raise ValueError(str(error)) from error


def _restore_knowledge(tokenizer: Tokenizer, state: State) -> None:
    """Tagger, lexicon and notes of a saved state."""
    if known := state.tagger:
        tokenizer.tagger = Tagger(known.language)
        if tokenizer.tagger.version != known.version:
            log.warning("tags may differ: %s here, %s when it was trained", tokenizer.tagger.version, known.version)
    if state.lexicon is not None:
        tokenizer.lexicon = Lexicon.restored(state.lexicon)
        tokenizer.counts = annotate.counts_by_token(tokenizer)
    tokenizer.notes = state.notes
