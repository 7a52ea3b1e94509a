"""What is known of each token besides its id: its word's part of speech, its polarity in a lexicon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from core.text.config import TextConfig
from core.text.ids import UNKNOWN
from core.text.language import language_of, script_of
from core.text.lexicon import Lexicon, smoothed
from core.text.normalise import prepare
from core.text.tags import NAMES, UNTAGGED, Tagger
from core.text.words import split_words, word_pattern

Span = tuple[int, int]
Tag = Callable[[Tagger, Sequence[Sequence[str]]], Sequence[Sequence[int]]]


class Knows(Protocol):
    """What a tokenizer knows of a token besides its id."""

    config: TextConfig
    tagger: Tagger | None
    lexicon: Lexicon | None
    counts: np.ndarray | None
    """(V, 3K): the lexicon's counts by token id, where a token's own entries count and not those of its word."""


class Segmentation(NamedTuple):
    """A normalised text cut into words and, independently, into tokens."""

    text: str
    spans: list[Span]
    owners: list[int]
    """Per token the number of the word it begins in, -1 outside of words."""
    cased: list[str]
    """The words as their writer spelt them, up to the last one with a token."""


def read(tokenizer: Knows, raw: str, text: str, offsets: Sequence[Span]) -> Segmentation:
    """Cut a normalised `text` of `raw` into words; `offsets` are those of the tokens that are kept."""
    if tokenizer.tagger is None and tokenizer.counts is not None:  # tokens alone decide
        return Segmentation(text, [], [-1] * len(offsets), [])
    spans = [match.span() for match in word_pattern().finditer(text)]
    owners = _owners(spans, offsets)
    cased: list[str] = []
    if tokenizer.tagger is not None:
        cased = split_words(prepare(raw, tokenizer.config, cased=True))
        # Lower case rarely changes where words end; where it does, the words as the model reads them are tagged.
        if len(cased) != len(spans):
            cased = [text[start:end] for start, end in spans]
        del cased[max(owners, default=-1) + 1 :]
    return Segmentation(text, spans, owners, cased)


def tags_of(tokenizer: Knows, segmented: Sequence[Segmentation], tag: Tag) -> list[list[int]] | None:
    """Return per text the tag of each token's word; None without a tagger."""
    if tokenizer.tagger is None:
        return None
    found = tag(tokenizer.tagger, [reading.cased for reading in segmented])
    return [
        [UNTAGGED if owner < 0 else int(tags[owner]) for owner in reading.owners]
        for reading, tags in zip(segmented, found, strict=True)
    ]


def polarity_of(tokenizer: Knows, segmented: Sequence[Segmentation], ids: Sequence[Sequence[int]]) -> np.ndarray | None:
    """Return (all tokens, 3K) float32 of K lexicons; None without one. An unknown token is neutral."""
    if tokenizer.lexicon is None:
        return None
    if tokenizer.counts is not None:
        return smoothed(tokenizer.counts[np.array([token for row in ids for token in row], np.int64)])
    counts = np.zeros((sum(map(len, ids)), tokenizer.lexicon.width))
    start = 0
    for reading, row in zip(segmented, ids, strict=True):
        if found := tokenizer.lexicon.of_words(reading.text, reading.spans):
            for place, owner in enumerate(reading.owners):
                if owner in found and row[place] != UNKNOWN:
                    counts[start + place] = found[owner]
        start += len(row)
    return smoothed(counts)


def choose_tagger(texts: Sequence[str], config: TextConfig) -> tuple[Tagger | None, tuple[str, ...]]:
    """Return the tagger that the settings mean for these training texts, and a note on that choice."""
    if config.tagger == "none":
        return None, ()
    if config.tagger != "auto":
        return Tagger(config.tagger), ()
    if language := language_of(texts):
        return Tagger(language), (f"parts of speech: the training texts were taken to be {NAMES[language]}",)
    script = script_of(texts) or "no letters"
    there = ", ".join(f"{name} ({code})" for code, name in NAMES.items())
    return None, (
        f"parts of speech are off: no tagger for the language of the training texts (script: {script}); there is one "
        f"for {there}, which text.tagger can name",
    )


def _owners(spans: Sequence[Span], offsets: Sequence[Span]) -> list[int]:
    owners, place = [], 0
    for start, _ in offsets:
        while place < len(spans) and spans[place][1] <= start:
            place += 1
        owners.append(place if place < len(spans) and spans[place][0] <= start else -1)
    return owners
