"""Words of a text as typed: their spans, removal of words, and their shares of the tokens."""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from core.text.config import TextConfig
from core.text.graphemes import extend_spans
from core.text.normalization import BREAK, ENTITY, LINK, USER, measure_lengths
from core.text.words import get_word_pattern

Span = tuple[int, int]


def find_word_spans(text: str) -> list[Span]:
    """Return the span of each word, mark, emoji, link, @name, #tag or entity of a typed text, in whole graphemes."""
    found = compile_span_pattern().finditer(text)
    visible = (each for each in found if any(unicodedata.category(sign) not in ("Cc", "Cf") for sign in each[0]))
    return extend_spans(text, (each.span() for each in visible))


@functools.cache
def compile_span_pattern() -> re.Pattern[str]:
    """Return the regular expression of the words of a typed text."""
    return re.compile(
        rf"(?i:{LINK})|{USER}|{ENTITY}|(?i:{BREAK.pattern})|(?:(?<!\w)\#(?=[^\W_]))?(?:{get_word_pattern().pattern})"
    )


def remove_words(text: str, words: Iterable[Span]) -> str:
    """Remove words from a typed text and close double spaces; a removed `<br>` leaves a blank."""
    for start, end in sorted(words, reverse=True):
        before, after = text[:start], text[end:]
        if BREAK.fullmatch(text, start, end) and before[-1:].strip() and after[:1].strip():
            before += " "
        elif (not before or before[-1].isspace()) and (not after or after[0].isspace()):
            before, after = (before, after[1:]) if after else (before[:-1], after)
        text = before + after
    return text


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge text spans that overlap or touch."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            start, end = found[-1][0], max(end, found.pop()[1])
        found.append((start, end))
    return found


def match_case(word: str, like: str) -> str:
    """Return a word in capitals, or with an initial capital, if the word `like` is written that way."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def compute_shares(text: str, words: Sequence[Span], offsets: Sequence[Span], config: TextConfig) -> np.ndarray:
    """Return the share of each token's characters that belongs to each word, (words, tokens) float64.

    A column sums to 1, or to less for a token after the last word. `words` are spans of the typed text, in order;
    characters between two words belong to the later one. `offsets` are the tokens' spans in the normalised text.
    """
    edges = np.maximum.accumulate([0, *measure_lengths(text, [end for _, end in words], config)])
    starts, stops = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    overlap = np.minimum(edges[1:, None], stops) - np.maximum(edges[:-1, None], starts)
    return overlap.clip(min=0) / (stops - starts).clip(min=1)
