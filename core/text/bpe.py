"""Byte-level byte-pair encoding (BPE), which has no unknown tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import tokenizers as hf

from core.exceptions import ConfigError
from core.text.config import TextConfig
from core.text.normalization import prepare_all
from core.text.special_ids import FIRST, SPECIALS
from core.text.text_pairs import SIGN
from core.text.tokenizer import GrownTokenizer, State, Tokenizer, compute_max_length, rank_keys, trim_span

ALPHABET = sorted(hf.pre_tokenizers.ByteLevel.alphabet())


class BpeTokenizer(Tokenizer):
    """A byte-level BPE tokenizer (Radford et al. 2019), trained by the `tokenizers` library."""

    kind = "bpe"

    def __init__(
        self, vocabulary: Sequence[str], merges: Sequence[tuple[str, str]], config: TextConfig, max_length: int
    ) -> None:
        self.config, self.max_length = config, max_length
        self._vocabulary, self._merges = list(vocabulary), list(merges)
        self.size = FIRST + len(self._vocabulary)
        numbered = {piece: index for index, piece in enumerate(self._vocabulary)}
        if len(numbered) != len(self._vocabulary) or not numbered.keys() >= set(ALPHABET):
            raise ValueError("the pieces are not unique or do not cover all bytes")
        self._model = _build_pipeline(hf.models.BPE(vocab=numbered, merges=self._merges))

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> BpeTokenizer:
        """Fit a BPE tokenizer on texts; refuse a vocabulary size below the 256 bytes and special entries."""
        if config.max_vocab < len(ALPHABET) + FIRST:
            raise ConfigError(
                f"text.max_vocab={config.max_vocab}: byte-level BPE needs at least {len(ALPHABET) + FIRST} "
                "(256 bytes and 2 special entries)"
            )
        model = _build_pipeline(hf.models.BPE())
        trainer = hf.trainers.BpeTrainer(
            vocab_size=config.max_vocab - FIRST,
            min_frequency=config.min_freq,
            initial_alphabet=ALPHABET,
            show_progress=False,
        )
        normalized = prepare_all(texts, config)
        model.train_from_iterator(normalized, trainer)
        learned = json.loads(model.to_str())["model"]
        vocabulary = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
        fitted = cls(vocabulary, [(first, second) for first, second in learned["merges"]], config, config.max_length)
        if not fitted.max_length:
            fitted.max_length = compute_max_length([len(ids) for ids in fitted._encode_texts(normalized)])
        return fitted

    def name(self, token: int) -> str:
        """Return the text of a token id with its leading blank; a part of a character is shown as U+FFFD."""
        if token < FIRST:
            return SPECIALS[token]
        return SIGN if self.pairs and token in self.between else self._model.decode([token - FIRST])

    def grow_vocabulary(self, texts: Iterable[str], count: int) -> GrownTokenizer:
        """Return a tokenizer in which frequent words of the texts, so far split into pieces, are whole tokens."""
        split = self._model.pre_tokenizer.pre_tokenize_str
        counts = Counter(word for text in prepare_all(texts, self.config) for word, _ in split(text))
        cut = Counter({word: number for word, number in counts.items() if len(self._split_word(word)) > 1})
        vocabulary, joined = dict.fromkeys(self._vocabulary), dict[tuple[str, str], int]()
        for word in rank_keys(cut, self.config.min_freq, count):
            pieces = _join_pieces(self._split_word(word), joined)
            while len(pieces) > 1:
                joined[pieces[0], pieces[1]] = len(joined)
                vocabulary[pieces[0] + pieces[1]] = None
                pieces = _join_pieces(pieces, joined)
        pieces = list(vocabulary)
        ids = {piece: number for number, piece in enumerate(pieces, start=FIRST)}
        origins = [[ids[part] for part in self._split_word(piece)] for piece in pieces[len(self._vocabulary) :]]
        return GrownTokenizer(BpeTokenizer(pieces, [*self._merges, *joined], self.config, self.max_length), origins)

    def add_mark(self) -> BpeTokenizer:
        """Return a copy of the tokenizer with a separator token for pairs; a full vocabulary loses its last merge."""
        full = self.size >= self.config.max_vocab and self._merges
        merges, gone = (self._merges[:-1], {"".join(self._merges[-1])}) if full else (self._merges, set[str]())
        pieces = [piece for piece in self._vocabulary if piece not in gone]
        return BpeTokenizer([SIGN, *pieces], merges, self.config, self.max_length)

    def _split_word(self, word: str) -> list[str]:
        return [piece.value for piece in self._model.model.tokenize(word)]

    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = self._model.encode(text)
        return [each + FIRST for each in found.ids], [trim_span(text, *span) for span in found.offsets]

    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        rest = iter(texts)
        while block := list(islice(rest, 4096)):
            for found in self._model.encode_batch_fast(block):
                yield [each + FIRST for each in found.ids]

    def _dump_state(self) -> dict[str, Any]:
        return {"vocabulary": self._vocabulary, "merges": self._merges}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> BpeTokenizer:
        """Restore a BPE tokenizer from a saved state."""
        vocabulary, merges = state.vocabulary, state.merges
        known = set(vocabulary)
        if not all({first, second, first + second} <= known for first, second in merges):
            raise ValueError("a merge makes a piece that is not listed")
        return cls(vocabulary, merges, config, max_length)


def _build_pipeline(model: hf.models.BPE) -> hf.Tokenizer:
    """Build a tokenizer pipeline: words (each with a leading blank) → bytes → pieces, and back; no special tokens."""
    pipeline = hf.Tokenizer(model)
    pipeline.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=True)
    pipeline.decoder = hf.decoders.ByteLevel()
    return pipeline


def _join_pieces(pieces: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    while True:
        pairs = list(pairwise(pieces))
        known = [pair for pair in pairs if pair in ranks]
        if not known:
            return pieces
        place = pairs.index(min(known, key=ranks.__getitem__))
        pieces = [*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :]]
