"""Dataset shift between a split and training: a classifier, words, and `core.evaluation.split_differences`.

The main number is from a classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017): TF-IDF of words and word pairs
learns to distinguish texts of the split from training texts, cross-fitted in five folds with equal texts in one fold.
AUC is the mean over the folds; 0.5: no difference. The variance of each fold is DeLong's (Biometrics 1988); as the fits
share texts, that of the mean of K folds is (1/K + 1/(K−1)) times their mean (Nadeau and Bengio, Machine Learning 2003).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from core import runs
from core.error_analysis.keywords import LEAST, LONGEST, PRIOR, Phrases, is_within
from core.error_analysis.neighbors import MOST_TRAINING
from core.evaluation.comparison import adjust_holm
from core.evaluation.projection import draw_rows
from core.evaluation.split_differences import ComparedTexts, find_differences
from core.lazy_imports import scipy
from core.runs.background_jobs import Tell
from core.text.config import TextConfig
from core.text.words import split_words

LISTED = 30  # words and phrases listed for each side
LEVEL = 0.95
NORMAL = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)

MEASURES = {
    "labels": "share of {}",
    "length": "words of a text",
    "words": "unknown words",
    "in training": "texts also in training",
    "repeats": "repeated texts",
}
"""Test of `core.evaluation.split_differences` → its name in tables; {} is the class."""


class ShiftedPhrase(NamedTuple):
    """A word or phrase whose frequency differs between an evaluated split and training, with log-odds and p-value."""

    words: str
    split: int  # texts of the split that have it
    training: int  # training texts that have it
    log_odds: float  # That a text has it, split against training, with the prior of `core.error_analysis.keywords`
    low: float
    high: float  # ends of the 95 % interval of `log_odds`
    p_holm: float  # two-sided Fisher's exact test, Holm-corrected over all tested phrases


def name_measure(row: Mapping[str, Any]) -> str:
    """Return the name of a measure in a table, with the class whose share differs most."""
    return MEASURES[row["name"]].format(row["about"])


def measure_auc(
    texts: Sequence[str], of_split: np.ndarray, config: TextConfig, tell: Tell
) -> tuple[float, float, float, float] | None:
    """Return the AUC, 95 % interval and p-value of a classifier that separates a split from training texts.

    `of_split` is (n,) bool; texts equal after normalisation share a fold. None: fewer than two folds have two of each.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    given = np.array(texts, object)
    places = runs.distillation.assign_folds(texts, of_split.astype(np.int64), (config,), 0)
    found = []
    numbers = np.unique(places)
    for number in numbers:
        tell("telling the split from training", float(number) / len(numbers))
        held = places == number
        if min(of_split[held].sum(), (~of_split[held]).sum()) < 2:
            continue
        fit = make_pipeline(
            TfidfVectorizer(tokenizer=split_words, token_pattern=None, ngram_range=(1, 2), min_df=2, sublinear_tf=True),
            LogisticRegression(class_weight="balanced", solver="liblinear", random_state=0),
        )
        try:
            fit.fit(given[~held], of_split[~held])
            scores = fit.decision_function(given[held])
        except ValueError:  # no word occurs in two texts
            scores = np.zeros(int(held.sum()))
        found.append(compute_auc(scores, of_split[held]))
    if len(found) < 2:
        return None
    auc = statistics.fmean(each[0] for each in found)
    shared = 1 / len(found) + 1 / (len(found) - 1)
    error = math.sqrt(shared * statistics.fmean(each[1] for each in found))
    p = 2 * statistics.NormalDist().cdf(-abs(auc - 0.5) / error) if error else float(auc == 0.5)
    return auc, max(0.0, auc - NORMAL * error), min(1.0, auc + NORMAL * error), p


def compute_auc(scores: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Compute the AUC of (n,) scores and its DeLong variance, by ranks (Sun and Xu, IEEE SPL 2014)."""
    ups, downs = scores[positive], scores[~positive]
    m, n = len(ups), len(downs)
    every = scipy.stats.rankdata(np.concatenate([ups, downs]))
    over = (every[:m] - scipy.stats.rankdata(ups)) / n
    under = 1 - (every[m:] - scipy.stats.rankdata(downs)) / m
    return float(over.mean()), float(over.var(ddof=1) / m + under.var(ddof=1) / n)


def find_phrases(training: Sequence[str], split: Sequence[str]) -> tuple[list[ShiftedPhrase], int]:
    """Find phrases more frequent in a split or in training, by p; also return how many phrases were tested.

    Phrases of at least `LEAST` texts are tested; of phrases inside one another in the same texts, one is listed.
    """
    m, n = len(training), len(split)
    of_split = np.arange(m + n) >= m
    phrases = Phrases([*training, *split])
    # The longest first: of phrases with equal counts, where one contains the other, the longest is listed.
    counts = {length: phrases.count_texts(of_split, length) for length in range(LONGEST, 0, -1)}
    tried = [(length, at) for length, (y, rest) in counts.items() for at in np.flatnonzero(y + rest >= LEAST)]
    if not tried:
        return [], 0
    y = np.concatenate([y[y + rest >= LEAST] for y, rest in counts.values()])
    rest = np.concatenate([rest[y + rest >= LEAST] for y, rest in counts.values()])
    # Fisher's exact test, two-sided by doubling the smaller tail.
    given = m + n, n, y + rest
    p = np.minimum(1.0, 2 * np.minimum(scipy.stats.hypergeom.cdf(y, *given), scipy.stats.hypergeom.sf(y - 1, *given)))
    corrected = adjust_holm(p)
    found = []
    for place in np.argsort(p, kind="stable"):
        if corrected[place] >= 1 - LEVEL:
            break
        length, at = tried[place]
        here, there, words = int(y[place]), int(rest[place]), phrases.decode_phrase(int(at), length)
        prior = PRIOR * (here + there) / (n + m)
        parts = here + prior, n + PRIOR - here - prior, there + prior, m + PRIOR - there - prior
        delta = math.log(parts[0] / parts[1]) - math.log(parts[2] / parts[3]) if min(parts) > 0 else 0.0
        half = NORMAL * math.sqrt(sum(1 / part for part in parts)) if min(parts) > 0 else math.inf
        found.append(ShiftedPhrase(words, here, there, delta, delta - half, delta + half, corrected[place]))
    return _select_phrases(found), len(tried)


def _select_phrases(found: Sequence[ShiftedPhrase]) -> list[ShiftedPhrase]:
    listed: list[ShiftedPhrase] = []
    for more in (True, False):
        side: list[ShiftedPhrase] = []
        for each in found:
            alike = (other for other in side if (other.split, other.training) == (each.split, each.training))
            if (each.log_odds > 0) is not more or len(side) >= LISTED:
                continue
            if not any(is_within(each.words, other.words) for other in alike):
                side.append(each)
        listed += side
    return sorted(listed, key=lambda each: (each.p_holm, -abs(each.log_odds), each.words))


def compare_with_training(
    training: ComparedTexts,
    split: ComparedTexts,
    classes: Sequence[str],
    config: TextConfig,
    *,
    name: str,
    tell: Tell = lambda what, share: None,
) -> dict[str, Any]:
    """Compare the words, text lengths and classes of a split, called `name`, with training; return a dict."""
    tell("comparing words and lengths", None)
    n = {"training": len(training.texts), "split": len(split.texts)}
    tests = find_differences(training, split, classes, name=name)
    found = {"n": n, "read": n, "left_out": tests["left_out"], "auc": None, "measures": tests["measures"]}
    found |= {"words": [], "tried": 0}
    if found["left_out"]:
        return found
    some = [[each.texts[row] for row in draw_rows(len(each.texts), MOST_TRAINING)] for each in (training, split)]
    apart = measure_auc([*some[0], *some[1]], np.repeat([False, True], [len(texts) for texts in some]), config, tell)
    if apart is None:
        return {**found, "left_out": "too many of these texts are the same to tell training from the split"}
    auc, low, high, p = apart
    words, tried = find_phrases(*some)
    found |= {"read": dict(zip(n, map(len, some), strict=True)), "words": [each._asdict() for each in words]}
    return {**found, "auc": {"value": auc, "interval": [low, high], "p": p}, "tried": tried}
