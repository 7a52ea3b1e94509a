"""Predictions of a short text without every subset of its words, and the fewest deletions that change the answer."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.interpret.attribution_math import compute_log_odds
from core.text.word_spans import Span, find_word_spans, remove_words

MOST = 12
"""Words in subsets: 2¹² texts are predicted."""
FLIPS = 2
"""Words that a reason deletes, at most."""
JOINTS = frozenset("-'’./")
"""Marks that join two parts of one word, as in "well-made"."""
Predict = Callable[[Sequence[str]], np.ndarray]
"""Texts → probabilities (n, C)."""


@dataclass(frozen=True, eq=False)
class SubsetPredictions:
    """The predictions of a text without every subset of its words."""

    text: str
    words: tuple[Span, ...]
    subset: tuple[int, ...]
    """Words that are deleted in subsets, k of them; of a long text those with the largest effect."""
    effects: np.ndarray
    """(W,) how far the log-odds of the predicted class fall when one word is deleted."""
    scores: np.ndarray
    """(2ᵏ, C - 1): log p_c - log p_0 of the other classes; bit i of the row says that word `subset[i]` is deleted."""

    @property
    def predicted(self) -> int:
        """Return the predicted class of the whole text."""
        return int(np.append(0.0, self.scores[0]).argmax())


def find_removable_words(text: str) -> list[Span]:
    """Return the span of each word that can be deleted alone: no marks, and a word with a hyphen is one word."""
    found: list[Span] = []
    for start, end in find_word_spans(text):
        if not any(
            unicodedata.category(sign)[0] in "LN" or unicodedata.category(sign) == "So" for sign in text[start:end]
        ):
            continue
        between = text[found[-1][1] : start] if found else ""
        if between and set(between) <= JOINTS:
            start = found.pop()[0]
        found.append((start, end))
    return found


def iterate_subsets(words: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield every subset of some words in the order of its bits: none, the first, the second, the first two."""
    for bits in range(1 << len(words)):
        yield [word for place, word in enumerate(words) if bits >> place & 1]


def predict_subsets(predict: Predict, text: str, most: int = MOST) -> SubsetPredictions:
    """Predict a text without every subset of its words; of a longer text, of the `most` words with most effect."""
    words = tuple(find_removable_words(text))
    chances = predict([text, *(remove_words(text, [word]) for word in words)])
    odds = compute_log_odds(chances, int(chances[0].argmax()), "single")
    effects = odds[0] - odds[1:]
    strongest = np.argsort(-np.abs(effects), kind="stable")[:most]
    subset = tuple(sorted(int(place) for place in strongest))
    chances = predict([remove_words(text, gone) for gone in iterate_subsets([words[place] for place in subset])])
    return SubsetPredictions(text, words, subset, effects, compute_scores(chances))


def compute_scores(probabilities: np.ndarray) -> np.ndarray:
    """Return log p_c - log p_0 of the other classes, (n, C - 1), from probabilities (n, C)."""
    logs = np.log(np.asarray(probabilities, np.float64).clip(np.finfo(np.float32).tiny))
    found: np.ndarray = logs[:, 1:] - logs[:, :1]
    return found


def compute_probabilities(scores: Sequence[Sequence[float]], row: int = 0) -> list[float]:
    """Return the probability of each class, (C,), from one row of C - 1 columns of scores; row 0 is the whole text."""
    odds = np.exp([0.0, *(column[row] for column in scores)])
    found: list[float] = (odds / odds.sum()).tolist()
    return found


def find_flips(
    predict: Predict, texts: Sequence[tuple[str, Sequence[Span]]], common: Collection[str] = ()
) -> list[tuple[int, ...]]:
    """Return for each text the fewest words, one or two, whose deletion changes the predicted class; else ().

    Args:
        predict: Reads texts.
        texts: A text and the spans of the words that may be deleted.
        common: Lower-cased words that a reader would not take for a reason, such as "the". Among sets of one size
            those with fewest of them come first, then those that lower the log-odds of the predicted class most.
    """
    given = predict([text for text, _ in texts]).argmax(1)
    found: list[tuple[int, ...]] = [()] * len(texts)
    for size in range(1, FLIPS + 1):
        asked = [
            (row, places)
            for row, (_, words) in enumerate(texts)
            if not found[row] and len(words) > size
            for places in combinations(range(len(words)), size)
        ]
        chances = predict(
            [remove_words(texts[row][0], [texts[row][1][place] for place in each]) for row, each in asked]
        )
        flips: dict[int, list[tuple[int, float, tuple[int, ...]]]] = {}
        for (row, places), each in zip(asked, chances, strict=True):
            if each.argmax() != given[row]:
                odds = float(compute_log_odds(each, int(given[row]), "single"))
                flips.setdefault(row, []).append((count_common(*texts[row], places, common), odds, places))
        for row, sets in flips.items():
            found[row] = min(sets)[-1]
    return found


def count_common(text: str, words: Sequence[Span], places: Sequence[int], common: Collection[str]) -> int:
    """Count how many of some words of a text are common words."""
    return sum(text[slice(*words[place])].casefold() in common for place in places)
