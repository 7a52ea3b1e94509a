"""Tests whether texts differ from training texts in labels, length, unknown words or repeats.

It runs without a request, so it must not report chance differences. The p-values of all measures of a comparison are
corrected together (Holm), and a difference is reported only if p is below `ALPHA` and the difference is large enough
(`LEAST`): at most one of a hundred files without a difference gets a warning. The tests assume only independent rows:
- labels: chi-square of all classes, with rare classes merged; with several labels a score test of each;
- length: Welch's t of the log number of words, with p from random exchanges of texts between both sides;
- words: the share of a text's words that other training texts lack. Some training texts are held out, and both sides
  are compared with the rest, so that the shares are comparable; p as for length;
- repeats: texts of the other side that also occur in training, or repeatedly in the other side, against random
  exchanges of texts. Fewer repeats cause no warning.

Large sets are sampled with a seed.
"""

import math
import statistics
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from core.data.dataset import TEST, TRAIN, VALIDATION, Dataset
from core.evaluation.comparison import apply_holm
from core.evaluation.intervals import LEVEL, compute_newcombe, compute_wilson
from core.formatting import count, percent, signed
from core.lazy_imports import scipy
from core.text.words import is_bare_mark, split_words

ALPHA = 0.01  # probability of any warning in a comparison of two samples from the same source, at most
FEWEST = 25  # texts that each side needs
MOST, MOST_READ = 1000, 5000  # compared texts of either side, and training texts whose words are known, at most
EXCHANGES = 1999
MOST_REPEATED = 20_000  # repeated texts; if there are more, a sample is exchanged
LEAST = {"labels": 0.05, "length": 0.2, "words": 0.02, "in training": 0.01, "repeats": 0.02}
"""Smaller differences are never reported: of shares, and for length 20 %."""
TRAINED = "training"  # name of the first side in sentences
RARE = 5  # classes with fewer expected rows are merged


class SampleDifference(NamedTuple):
    """A difference of two samples' means or shares, second minus first, with its interval and p-value."""

    training: float
    split: float
    low: float
    high: float  # ends of the 95 % interval of the difference
    p: float

    @property
    def difference(self) -> float:
        """Return the mean or share of the second sample minus that of the first."""
        return self.split - self.training


class ComparedTexts(NamedTuple):
    """The texts on one side of a comparison of two samples, with their classes, if known."""

    texts: Sequence[str]
    has: np.ndarray | None  # (n, C) bool; None: the classes are unknown


def compare_dataset(dataset: Dataset) -> list[dict[str, Any]]:
    """Compare the validation and test texts of a data set with its training texts by `compare_split`."""
    return [compare_split(dataset, split) for split in (VALIDATION, TEST) if split in dataset.splits]


def compare_split(dataset: Dataset, split: str) -> dict[str, Any]:
    """Compare a split's texts with the training texts; for tagged words, by the tags that occur in each text."""
    classes = [f"texts with {name}" for name in dataset.classes] if dataset.task == "tokens" else dataset.classes
    return find_differences(get_split_texts(dataset, TRAIN), get_split_texts(dataset, split), classes, name=split)


def get_split_texts(dataset: Dataset, split: str) -> ComparedTexts:
    """Return the texts of a split with their classes, for a comparison."""
    return ComparedTexts(
        dataset.splits[split]["text"].tolist(), to_class_matrix(dataset.get_targets(split), len(dataset.classes))
    )


def to_class_matrix(labels: np.ndarray, classes: int) -> np.ndarray:
    """Convert labels, class numbers (n,) or zeros and ones (n, C), to a class matrix (n, C) bool."""
    return labels > 0 if labels.ndim == 2 else np.eye(classes, dtype=bool)[labels]


def compare_means(first: np.ndarray, other: np.ndarray) -> SampleDifference:
    """Compare the means of two samples by Welch's t-test (unequal variances)."""
    ends = first.mean(), other.mean()
    if not np.ptp(first) and not np.ptp(other):
        gap = float(ends[1] - ends[0])
        return SampleDifference(float(ends[0]), float(ends[1]), gap, gap, float(ends[0] == ends[1]))
    with warnings.catch_warnings():  # one side may have texts of equal length, with variance 0
        warnings.simplefilter("ignore", RuntimeWarning)
        found = scipy.stats.ttest_ind(other, first, equal_var=False)
    low, high = found.confidence_interval(LEVEL)
    return SampleDifference(float(ends[0]), float(ends[1]), float(low), float(high), float(found.pvalue))


def compare_shares(first: tuple[int, int], other: tuple[int, int]) -> SampleDifference:
    """Compare two shares, each as (count, total), by a score test, with Newcombe's interval (1998)."""
    (a, m), (b, n) = first, other
    pooled = (a + b) / (m + n)
    error = math.sqrt(pooled * (1 - pooled) * (1 / m + 1 / n))
    p = 2 * statistics.NormalDist().cdf(-abs(b / n - a / m) / error) if error else 1.0
    return SampleDifference(a / m, b / n, *compute_newcombe(b, n, a, m), p)


def find_differences(
    first: ComparedTexts, other: ComparedTexts, classes: Sequence[str], *, name: str
) -> dict[str, Any]:
    """Test how other texts, called `name`, differ from the training texts of a model.

    Returns `name`, `known` (the name of the first side), `n`
    (`training`, `other`), `alpha`; `measures`, each with its `name`, `training`, `other`, `difference` with its 95 %
    `interval` (for length the ratio minus 1), `p`, `p_holm`, `test`, the class or number that it is `about` and whether
    it `differs`; `warnings` (sentences); `left_out` (why nothing is compared).
    """
    found: dict[str, Any] = {
        "name": name,
        "known": TRAINED,
        "n": {"training": len(first.texts), "other": len(other.texts)},
        "alpha": ALPHA,
        "measures": [],
        "warnings": [],
        "left_out": "",
    }
    if min(len(first.texts), len(other.texts)) < FEWEST:
        few = f"{count(len(other.texts))} texts beside {count(len(first.texts))} of {TRAINED}"
        return {**found, "left_out": f"{few}: too few to compare, {FEWEST} are needed"}
    rng, several = np.random.default_rng(0), _has_several(first.has)
    measures: dict[str, tuple[SampleDifference, str]] = {}
    if first.has is not None and other.has is not None:
        measures["labels"] = _compare_labels(first.has, other.has, classes)
    keys = [" ".join(text.lower().split()) for text in (*first.texts, *other.texts)]
    repeats = _compare_repeats(keys, len(first.texts), rng)
    measures |= _compare_words(*_select_unique(first.texts, other.texts, keys), rng) | repeats
    steps = apply_holm([each.p for each, _ in measures.values()])
    for (kind, (each, about)), step in zip(measures.items(), steps, strict=True):
        size = each.difference if kind in ("in training", "repeats") else abs(each.difference)
        differs = step.p < ALPHA and size >= (math.log1p(LEAST[kind]) if kind == "length" else LEAST[kind])
        row: dict[str, Any] = {
            "name": kind,
            "about": about,
            "training": each.training,
            "other": each.split,
            "difference": each.difference,
            "interval": [each.low, each.high],
            "p": each.p,
            "p_holm": step.p,
            "test": "permutation test" if kind != "labels" else "score test" if several else "chi-square test",
            "differs": differs,
        }
        if kind == "length":
            row |= {"training": math.exp(each.training), "other": math.exp(each.split)}
            row |= {"difference": math.expm1(each.difference)}
            row |= {"interval": [math.expm1(each.low), math.expm1(each.high)]}
        found["measures"].append(row)
        if differs:
            found["warnings"].append(_describe_row(row, name))
    return found


def _has_several(has: np.ndarray | None) -> bool:
    return has is not None and not (has.sum(1) == 1).all()


def _compare_labels(first: np.ndarray, other: np.ndarray, classes: Sequence[str]) -> tuple[SampleDifference, str]:
    """Compare the class shares of two samples; return the difference of the class that differs most, and its name."""
    sums = zip(first.sum(0).tolist(), other.sum(0).tolist(), strict=True)
    each = [compare_shares((a, len(first)), (b, len(other))) for a, b in sums]
    if _has_several(first) or _has_several(other):
        at = min(range(len(each)), key=lambda place: each[place].p)
        return each[at]._replace(p=min(1.0, each[at].p * len(each))), classes[at]
    counts = np.stack([first.sum(0), other.sum(0)])
    expected = counts.sum(0) * min(len(first), len(other)) / counts.sum()
    rare = expected < RARE
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(1)])
    at = max(range(len(each)), key=lambda place: abs(each[place].difference))
    counts = counts[:, counts.sum(0) > 0]
    p = float(scipy.stats.chi2_contingency(counts, correction=False).pvalue) if counts.shape[1] > 1 else 1.0
    return each[at]._replace(p=p), classes[at]


def _select_unique(
    first: Sequence[str], other: Sequence[str], keys: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the texts that occur once in both samples, or all; frequent texts are short and would bias length."""
    counts, own = Counter(keys), iter(keys)
    one, two = ([text for text in side if counts[next(own)] == 1] for side in (first, other))
    return (one, two) if min(len(one), len(two)) >= FEWEST else (first, other)


def _compare_words(
    first: Sequence[str], other: Sequence[str], rng: np.random.Generator
) -> dict[str, tuple[SampleDifference, str]]:
    """Compare two samples' text lengths, and their shares of words that further texts of the first sample lack."""
    order = rng.permutation(len(first))[: MOST + MOST_READ]
    held = order[: min(len(order) // 2, MOST)]
    rest = order[len(held) :]
    some = rng.permutation(len(other))[:MOST]
    sides = [split_plain_words(first[row]) for row in held], [split_plain_words(other[row]) for row in some]
    known = {word for row in rest for word in split_plain_words(first[row])}
    one, two = (np.log(np.maximum(1, [len(words) for words in side])) for side in sides)
    found = {"length": (_compare_permuted(one, two, rng), "")}
    one, two = (
        np.array([sum(word not in known for word in words) / len(words) for words in side if words]) for side in sides
    )
    if min(len(one), len(two)) >= FEWEST:
        found["words"] = _compare_permuted(one, two, rng), count(len(rest))
    return found


def split_plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation marks."""
    return [word for word in split_words(text.lower()) if not is_bare_mark(word)]


def _compare_permuted(first: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> SampleDifference:
    """Compare the means of two samples by a permutation test with Welch's t."""
    found = compare_means(first, other)
    pooled, m = np.concatenate([first, other]), len(first)

    def compute_t(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        """Return the absolute value of Welch's t statistic of two samples, along the last axis."""
        gap = two.mean(-1) - one.mean(-1)
        error = np.sqrt(one.var(-1, ddof=1) / one.shape[-1] + two.var(-1, ddof=1) / two.shape[-1])
        return np.abs(np.divide(gap, error, out=np.where(gap == 0, 0.0, np.inf), where=error > 0))

    own, as_large = compute_t(first, other), 0
    for _ in range(EXCHANGES // 100 + 1):
        drawn = rng.permuted(np.broadcast_to(pooled, (100, len(pooled))), axis=1)
        as_large += int((compute_t(drawn[:, :m], drawn[:, m:]) >= own - 1e-9).sum())
    return found._replace(p=(1 + as_large) / (1 + 100 * (EXCHANGES // 100 + 1)))


def _compare_repeats(keys: Sequence[str], m: int, rng: np.random.Generator) -> dict[str, tuple[SampleDifference, str]]:
    """Test whether the other side repeats texts, of its own or the first `m` keys, more than after random exchanges."""
    if sum(times for times in Counter(keys).values() if times > 1) > MOST_REPEATED:
        # A sample of each side represents all texts.
        first, other = rng.permutation(m)[:MOST_REPEATED], m + rng.permutation(len(keys) - m)[: MOST_REPEATED // 4]
        keys, m = [keys[place] for place in (*first, *other)], len(first)
    counts, n = Counter(keys), len(keys) - m
    numbers = {key: number for number, key in enumerate(key for key, times in counts.items() if times > 1)}
    groups = np.array([numbers[key] for key in keys if key in numbers], np.int64)
    is_other = np.array([place >= m for place, key in enumerate(keys) if key in numbers], bool)
    own = _count_repeats(groups, is_other[None], len(numbers))[0]
    rounds = _sample_exchanges(groups, len(keys), n, len(numbers), rng) if own.any() else np.zeros((0, 2), np.int64)
    found = {}
    for place, kind in enumerate(("in training", "repeats")):
        number, drawn = int(own[place]), rounds[:, place]
        usual = float(drawn.mean()) / n if number else 0.0
        p = (1 + int((drawn >= number).sum())) / (1 + len(drawn)) if number else 1.0
        low, high = compute_wilson(number, n)
        found[kind] = SampleDifference(usual, number / n, low - usual, high - usual, p), ""
    return found


def _sample_exchanges(groups: np.ndarray, every: int, n: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Count repeated texts after each of many random exchanges of texts between two samples, (exchanges, 2)."""
    at_once, found = max(1, 1_000_000 // len(groups)), []
    for start in range(0, EXCHANGES, at_once):
        rounds = min(at_once, EXCHANGES - start)
        many = rng.hypergeometric(len(groups), every - len(groups), n, rounds)
        ranks = rng.permuted(np.tile(np.arange(len(groups), dtype=np.int32), (rounds, 1)), axis=1)
        found.append(_count_repeats(groups, ranks < many[:, None], number))
    return np.concatenate(found)


def _count_repeats(groups: np.ndarray, is_other: np.ndarray, number: int) -> np.ndarray:
    """Count the second sample's texts that also occur in the first, and those repeated within the second, (R, 2)."""
    # `groups` (D,) numbers the distinct texts; `is_other` (R, D) marks the other side's rows in each exchange.
    places = groups + number * np.arange(len(is_other))[:, None]
    size, shape = number * len(is_other), (len(is_other), number)
    mine = np.bincount(places[is_other], minlength=size).reshape(shape)
    theirs = np.bincount(places[~is_other], minlength=size).reshape(shape)
    return np.stack([(mine * (theirs > 0)).sum(1), (mine * (mine > 1)).sum(1)], 1)


def _describe_row(row: dict[str, Any], name: str) -> str:
    kind, (low, high) = row["name"], row["interval"]
    compared = f"Compared with {TRAINED}, {name}"
    if kind == "length":
        longer = "longer" if row["difference"] > 0 else "shorter"
        words = f"typically {row['other']:.0f} words, not {row['training']:.0f}"
        ends = f"95 % interval {1 + low:.2f} to {1 + high:.2f} times as long; {row['test']}"
        return f"{compared} has {longer} texts: {words} ({ends})."
    other, usual = percent(row["other"]), percent(row["training"])
    ends = f"95 % interval {signed(100 * low, 1)} to {signed(100 * high, 1)} points; {row['test']}"
    if kind == "labels":
        return f"{compared} has other labels: {row['about']} {other}, not {usual} ({ends})."
    if kind == "words":
        more = "more" if row["difference"] > 0 else "fewer"
        return f"{compared} has {more} unknown words: {other}, not {usual} ({ends})."
    what = "has too many of the same texts" if kind == "in training" else "repeats more of its own texts"
    return f"{compared} {what}: {other}, by chance {usual} ({ends})."
