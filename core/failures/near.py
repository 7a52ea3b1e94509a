"""Texts beside those that a run was trained on: nearly the same words, or near in the space of the model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from core.text.words import is_bare_mark, split_words

SHARED, OF = 4, 5
"""Texts are near duplicates where they share four of five of all their different words (Jaccard 0.8)."""
NEIGHBOURS = 10
MOST = 10_000
"""Training rows whose neighbourhood is looked at; of more, a seeded sample."""
_BLOCK = 16_000_000
"""Distances held at once."""

Words = frozenset[str]


def near_duplicates(texts: Sequence[str], training: Sequence[str]) -> np.ndarray:
    """(n,) bool: the texts whose different words are nearly those of a training text; see `SHARED`.

    Letter case and punctuation aside; never a text without words.

    Exact: sets that share so much must share one of their few rarest words (prefix filter; Chaudhuri, Ganti and Kaushik
    2006; Bayardo, Ma and Srikant 2007), so that only those are compared.
    """
    known = {words for words in map(_words, training) if words}
    asked = list(map(_words, texts))
    frequency = Counter(word for words in known for word in words)
    index: dict[str, list[Words]] = defaultdict(list)
    for words in known:
        for word in _rarest(words, frequency):
            index[word].append(words)
    return np.array([bool(each) and (each in known or _has_near(each, index, frequency)) for each in asked], bool)


def conflicting(vectors: np.ndarray, labels: np.ndarray, known: np.ndarray, known_labels: np.ndarray) -> np.ndarray:
    """(n,) bool: where most of the ten nearest training rows have another label.

    Args:
        vectors: (n, d) float32.
        labels: (n,), or (n, C) of several labels: another one is any other set.
        known: (m, d) those of training rows; Euclidean distance.
        known_labels: their labels.
    """
    import torch

    points, own = torch.from_numpy(known).float(), torch.from_numpy(np.ascontiguousarray(known_labels))
    asked, true = torch.from_numpy(vectors).float(), torch.from_numpy(np.ascontiguousarray(labels))
    count = min(NEIGHBOURS, len(points))
    found = []
    step = max(1, _BLOCK // max(1, len(points)))
    for start in range(0, len(asked), step):
        nearest = torch.cdist(asked[start : start + step], points).topk(count, largest=False).indices
        other = own[nearest] != true[start : start + step, None]
        found.append((other if other.ndim == 2 else other.any(2)).float().mean(1) > 0.5)
    return torch.cat(found).numpy() if found else np.zeros(0, bool)


def sample(rows: int, seed: int = 0) -> np.ndarray:
    """The training rows that are looked at, rising."""
    if rows <= MOST:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, MOST, replace=False))


def _words(text: str) -> Words:
    return frozenset(word for word in split_words(text.lower()) if not is_bare_mark(word))


def _rarest(words: Words, frequency: Counter[str]) -> list[str]:
    """So many of the rarest words that a set which shares enough with these has one of them."""
    ordered = sorted(words, key=lambda word: (frequency[word], word))
    return ordered[: len(words) + 1 + -SHARED * len(words) // OF]


def _has_near(words: Words, index: dict[str, list[Words]], frequency: Counter[str]) -> bool:
    size = len(words)
    for word in _rarest(words, frequency):
        for other in index.get(word, ()):
            if SHARED * size <= OF * len(other) and SHARED * len(other) <= OF * size:
                shared = len(words & other)
                if OF * shared >= SHARED * (size + len(other) - shared):
                    return True
    return False
