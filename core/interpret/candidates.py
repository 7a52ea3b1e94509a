"""What may stand in place of a word: words of the opposite sign, and neighbours among the model's vectors of words."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from itertools import islice, zip_longest
from typing import cast

import numpy as np
import torch

from core.interpret.gradients import Embeds
from core.interpret.reader import Reader
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.ids import FIRST
from core.text.lexicon import Lexicon
from core.text.lexicon_files import VADER
from core.text.normalise import CAPITALS_MARK, LONG_MARK, prepare
from core.text.token_table import TokenTable
from core.text.tokenizer import Tokenizer
from core.text.typed import cased
from core.text.words import buckets, word_pattern

MOST = 8  # For a word: from the lexicon and from the neighbours by turns


def candidates(reader: Reader, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return by word what may stand in its place, in the casing of the word; the same for the same run, always.

    From the lexicon of the run, else VADER's: words of the opposite sign that the run knows, those first whose polarity
    is as strong, then the most frequent in training. From a model that reads vectors of words: those with the largest
    cosine. Only what begins with a letter is replaced, and only by whole words.
    """
    words = [word for word in dict.fromkeys(words) if _is_word(word)]
    signs, vocabulary = _signs(reader.tokenizer), _vocabulary(reader.tokenizer)
    near = _neighbours(reader, words, signs, vocabulary)
    found = {}
    for word in words:
        by_turns = zip_longest(_opposites(word.lower(), signs, vocabulary, reader.tokenizer), near.get(word, ()))
        others = dict.fromkeys(each for pair in by_turns for each in pair if each and each != word.lower())
        found[word] = tuple(cased(each, word) for each in islice(others, MOST))
    return found


def _is_word(text: str) -> bool:
    marked = text in (LONG_MARK, CAPITALS_MARK)
    return text[:1].isalpha() and not marked and word_pattern().fullmatch(text) is not None


def _signs(tokenizer: Tokenizer) -> dict[str, float]:
    """The polarity of each word of the lexicon, positive minus negative; none is 0."""
    lexicon = tokenizer.lexicon or _vader(tokenizer.config)
    found = lexicon.entries.items()
    polarity = {entry: sum(counts[0::3]) - sum(counts[2::3]) for entry, counts in found if _is_word(entry)}
    return {entry: value for entry, value in polarity.items() if value}


@functools.lru_cache(4)
def _vader(config: TextConfig) -> Lexicon:
    return Lexicon.fitted(dataclasses.replace(config, lexicon=VADER))


def _vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the words that are one token, the most frequent first; of byte pairs the pieces that begin a word."""
    names = {tokenizer.name(token): token for token in range(FIRST, tokenizer.size)}
    if tokenizer.known_words is None:
        names = {name[1:]: token for name, token in names.items() if name.startswith(" ")}
    return {name: token for name, token in names.items() if _is_word(name)}


def _opposites(word: str, signs: Mapping[str, float], vocabulary: Mapping[str, int], tokenizer: Tokenizer) -> list[str]:
    own, known = signs.get(word, 0.0), tokenizer.known_words
    if not own:
        return []
    opposite = (other for other, value in signs.items() if own * value < 0 and (known is None or other in known))
    last = tokenizer.size
    return sorted(opposite, key=lambda other: (abs(own + signs[other]), vocabulary.get(other, last), other))[:MOST]


def _neighbours(
    reader: Reader, words: Iterable[str], signs: Mapping[str, float], vocabulary: Mapping[str, int]
) -> dict[str, list[str]]:
    """By word the nearest words of the vocabulary, lower-cased; of byte pairs those among them that a lexicon lists."""
    tokenizer = reader.tokenizer
    own = {word: vocabulary.get(prepare(word, tokenizer.config)) for word in words}
    places = [token for token in own.values() if token is not None]
    if "embedding" not in reader.model.provides or not places:
        return {}
    whole = {word: token for word, token in vocabulary.items() if tokenizer.known_words is not None or word in signs}
    others, them, those = list(whole), _vectors(reader, whole), _vectors(reader, {tokenizer.name(t): t for t in places})
    cosines = dict(zip(dict.fromkeys(places), those @ them.T, strict=True))
    found = {}
    for word, token in own.items():
        if token is not None:
            nearest = (others[place].lower() for place in np.argsort(-cosines[token], kind="stable")[: 3 * MOST])
            found[word] = list(islice((each for each in nearest if each != word.lower()), MOST))
    return found


def _vectors(reader: Reader, words: Mapping[str, int]) -> np.ndarray:
    """(words, d) float64 of length 1: what the model reads of each word before its place."""
    ids = torch.tensor(list(words.values()), dtype=torch.int64)[:, None]
    grams = None
    if many := reader.tokenizer.buckets:
        grams = torch.from_numpy(TokenTable.of([buckets(word, many) for word in words]).whole().ids)[:, None]
    with torch.inference_mode():
        batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), grams=grams)
        found = cast(Embeds, reader.model).embed(batch)[:, 0].double().numpy()  # it provides `embedding`
    return found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)
