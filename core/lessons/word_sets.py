"""Removable words of a sentence, and a model's answers without each set of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from core.formatting import number
from core.lazy_imports import numpy as np
from core.text.word_spans import Span, find_word_spans, remove_words

if TYPE_CHECKING:
    from core.runs.load import LoadedRun

MOST_WORDS = 9
"""Of a sentence: 512 answers travel with the page, and it fits on a line."""
WHOLE = 1_000_000  # in which probabilities travel


def find_words(text: str) -> list[Span]:
    """Return the spans of the words with a letter or digit; marks stay with the sentence."""
    return [span for span in find_word_spans(text) if any(sign.isalnum() for sign in text[slice(*span)])]


def split_text(text: str) -> dict[str, Any]:
    """Split a text into its words, the text before each word, and the text after the last one."""
    spans = find_words(text)
    ends = [0, *(end for _, end in spans)]
    return {
        "text": text,
        "words": [text[start:end] for start, end in spans],
        "before": [text[end:start] for end, (start, _) in zip(ends, spans, strict=False)],
        "after": text[ends[-1] :],
    }


def predict_sets(run: LoadedRun, text: str, words: Sequence[Span]) -> list[int]:
    """Return the probability of the second class without each set of words, in millionths, by the set's bits."""
    gone = [[word for place, word in enumerate(words) if bits >> place & 1] for bits in range(2 ** len(words))]
    found = run.predict([remove_words(text, each) for each in gone]).probabilities[:, 1]
    shares: list[int] = np.rint(WHOLE * found).astype(int).tolist()
    return shares


def to_bits(places: Iterable[int]) -> int:
    """Return a set of words as bits."""
    return sum(1 << place for place in places)


def find_flips(sets: Sequence[int], places: Sequence[int]) -> tuple[int, ...] | None:
    """Return the smallest set of words whose removal flips the answer most clearly; None if no set does."""
    for size in range(1, len(places) + 1):
        found = [
            each for each in combinations(places, size) if (sets[to_bits(each)] >= WHOLE / 2) != (sets[0] >= WHOLE / 2)
        ]
        if found:
            return max(found, key=lambda each: abs(sets[to_bits(each)] - WHOLE / 2))
    return None


def write_answer(classes: Sequence[str], positive: float) -> str:
    """Return the answer and its probability in words, such as `negative 0.91`."""
    return f"{classes[int(positive >= 0.5)]} {number(float(max(positive, 1 - positive)), 2)}"


def join_words(words: Sequence[str]) -> str:
    """Return words in quotation marks, with `and` before the last."""
    quoted = [f"“{word}”" for word in words]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
