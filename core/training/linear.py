"""Linear classifiers fitted by scikit-learn and tuned on validation: the TF-IDF and lexicon baselines."""

import importlib
import logging
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, hstack, vstack

from core.exceptions import DataError
from core.models.baselines import BagOfNgrams, BagOfPairs, LexiconClassifier, Plain
from core.models.config import Family
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.special_ids import FIRST
from core.text.token_table import TokenTable, build_token_table, split_batches
from core.text.tokenizer import Tokenizer
from core.training.temperature import ABSENT, fit_temperature

log = logging.getLogger(__name__)

Features = Any  # (n, V): a numpy or a sparse array

MOST_STEPS = 6  # values by which a range can grow, at most: C stays between 0.00006 and 65,536


@dataclass(frozen=True)
class Columns:
    """The weights W and biases b of a linear classifier; its logits are x W + b."""

    weight: np.ndarray
    bias: np.ndarray

    def compute_logits(self, features: Features) -> np.ndarray:
        """Compute the logits (n, C) of a linear classifier for features (n, V)."""
        return np.asarray(features @ self.weight) + self.bias


@dataclass(frozen=True)
class Solver:
    """A scikit-learn classifier, with the name of its tuned setting and the values to try."""

    setting: str
    values: tuple[float, ...]  # tried first, the weakest model first, with a constant factor between them
    make: Callable[[], Any]  # imports scikit-learn and returns a new estimator
    read: Callable[[Any], tuple[np.ndarray, np.ndarray]]  # estimator → weights (V, K) and biases (K,)
    decisions: bool = False  # its logits are margins; a fitted factor makes them probabilities


@dataclass(frozen=True)
class BestClassifier:
    """The linear classifier that scored best on validation, with its settings and score."""

    columns: Columns
    settings: dict[str, float]
    """Name → value of the tuned setting, and `scale` if margins were turned into probabilities."""
    score: float  # validation accuracy; for several labels the mean F1 of the labels at 0.5; 0 without validation rows


def tune_solver(
    solver: Solver, features: Features, labels: np.ndarray, held: Features, held_labels: np.ndarray, *, classes: int
) -> BestClassifier:
    """Fit a linear classifier for several values of its setting, and return the best on the validation split.

    While the best value is at an end of the range, the range grows by one value there, at most `MOST_STEPS` times, so
    that the result does not depend on the list of values. Labels are (n,) int64 class numbers, or (n, C) zeros and
    ones: then each label has its own classifier, all with the same value. Raises DataError if training has only one
    class, or no label, or if validation cannot turn margins into probabilities.
    """
    if labels.ndim == 1 and len(np.unique(labels)) < 2:
        raise DataError("the training split holds one class only; a classifier needs at least two")
    if labels.ndim == 2 and not labels.any():
        raise DataError("no training text has a label")
    # The same estimators for all values: with a warm start they converge sooner.
    estimators = [solver.make() for _ in range(classes if labels.ndim == 2 else 1)]
    fit = _fit_multiclass if labels.ndim == 1 else _fit_one_vs_rest

    def fit_and_score(value: float) -> BestClassifier:
        for estimator in estimators:
            estimator.set_params(**{solver.setting: value})
        columns = fit(solver, estimators, features, labels, classes)
        score = _compute_score(columns.compute_logits(held), held_labels)
        log.info("%s=%g: validation score %.4f", solver.setting, value, score)
        return BestClassifier(columns, {solver.setting: value}, score)

    best = _search_values(fit_and_score, solver)
    if not solver.decisions:
        return best
    scale = 1 / fit_temperature(best.columns.compute_logits(held), held_labels)
    fixed = np.abs(best.columns.bias) == -ABSENT
    columns = Columns(best.columns.weight * scale, np.where(fixed, best.columns.bias, best.columns.bias * scale))
    return BestClassifier(columns, {**best.settings, "scale": scale}, best.score)


def _search_values(tried: Callable[[float], BestClassifier], solver: Solver) -> BestClassifier:
    if len(solver.values) == 1:  # chosen beforehand
        return tried(solver.values[0])
    factor = solver.values[1] / solver.values[0]
    weakest, strongest = solver.values[0], solver.values[-1]
    reached = operator.attrgetter("score")
    best = max(map(tried, solver.values), key=reached)
    for _ in range(MOST_STEPS):
        value = best.settings[solver.setting]
        if value == strongest:
            further = strongest = strongest * factor
        elif value == weakest:
            further = weakest = weakest / factor
        else:
            break
        best = max(best, tried(further), key=reached)
    return best


def _fit_multiclass(
    solver: Solver, estimators: list[Any], features: Features, labels: np.ndarray, classes: int
) -> Columns:
    (estimator,) = estimators
    estimator.fit(features, labels)
    weight, bias = np.zeros((features.shape[1], classes)), np.full(classes, ABSENT)
    weight[:, estimator.classes_], bias[estimator.classes_] = solver.read(estimator)
    return Columns(weight, bias)


def _fit_one_vs_rest(
    solver: Solver, estimators: list[Any], features: Features, labels: np.ndarray, classes: int
) -> Columns:
    """Fit a classifier for each label of a multi-label task; a label that all or no texts have gets only a bias."""
    # Not OneVsRestClassifier, which has no warm start: 7.1 s and not 3.2 s for four C on 987 texts.
    weight, bias = np.zeros((features.shape[1], classes)), np.where(labels.all(0), -ABSENT, ABSENT)
    for label in np.flatnonzero(labels.any(0) & ~labels.all(0)):
        columns, biases = solver.read(estimators[label].fit(features, labels[:, label] != 0))
        weight[:, label], bias[label] = columns[:, 1] - columns[:, 0], biases[1] - biases[0]
    return Columns(weight, bias)


def _compute_score(logits: np.ndarray, labels: np.ndarray) -> float:
    if not len(labels):
        return 0.0
    if labels.ndim == 1:
        return float(np.mean(logits.argmax(1) == labels))
    predicted, positive = logits > 0, labels != 0
    return float(np.mean(2 * (positive & predicted).sum(0) / np.maximum(positive.sum(0) + predicted.sum(0), 1)))


def _prepare_estimator(place: str, name: str, **settings: Any) -> Callable[[], Any]:
    """Return a function that imports scikit-learn, which takes a second, and creates an estimator."""
    return lambda: getattr(importlib.import_module(f"sklearn.{place}"), name)(**settings)


def _read_coefficients(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    weight, bias = estimator.coef_.T, estimator.intercept_
    if len(estimator.classes_) == 2:
        weight, bias = np.concatenate([-weight, weight], 1) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


# lbfgs with its default tolerance of 1e-4 stops at the warm start: from the solution of C=4 it made no step for
# C=16. Newton's method reaches 1e-6 sooner: for six C from 0.25 to 256, one thread, it took 1.7 s on Twitter
# Financial (lbfgs 9.8 s), 0.95 s on the built-in corpus (3.5 s) and 0.6 s on TweetEval emotion (5.3 s).
_NEWTON = _prepare_estimator(
    "linear_model", "LogisticRegression", solver="newton-cg", tol=1e-6, max_iter=1000, warm_start=True
)
_SVM = _prepare_estimator("svm", "LinearSVC", max_iter=5000, random_state=0)
LOGISTIC = Solver("C", (0.25, 1.0, 4.0, 16.0), _NEWTON, _read_coefficients)
NAIVE_BAYES = Solver(  # as a linear classifier: weights log P(n-gram | class) and biases log P(class)
    "alpha",
    (10.0, 1.0, 0.1, 0.01),
    _prepare_estimator("naive_bayes", "MultinomialNB"),
    lambda estimator: (estimator.feature_log_prob_.T, estimator.class_log_prior_),
)
SUPPORT_VECTORS = Solver("C", (0.0625, 0.25, 1.0, 4.0), _SVM, _read_coefficients, decisions=True)
SOLVERS: dict[Family, Solver] = {"tfidf-logreg": LOGISTIC, "tfidf-nb": NAIVE_BAYES, "tfidf-svm": SUPPORT_VECTORS}
AT_ONCE = 1024


@dataclass(frozen=True)
class LinearFit:
    """A fitted TF-IDF or lexicon baseline: tokenizer, model, tuned settings and validation score."""

    tokenizer: Tokenizer
    model: Plain
    settings: dict[str, Any]
    score: float  # as `BestClassifier.score`


def fit_linear(
    texts: Sequence[str],
    labels: np.ndarray,
    validation_texts: Sequence[str],
    validation_labels: np.ndarray,
    *,
    config: TextConfig,
    classes: int,
    family: Family,
    chosen: float | None = None,
) -> LinearFit:
    """Fit a TF-IDF baseline on the training split, its regularisation or smoothing tuned on validation or given.

    For text pairs see `core.models.baselines.BagOfPairs`. Labels and errors are as for `tune_solver`; of `config` it
    uses the normaliser, `min_freq` (texts that contain an n-gram), `max_vocab` and `char_ngrams`.
    """
    solver = SOLVERS[family] if chosen is None else replace(SOLVERS[family], values=(chosen,))
    tokenizer = NGramTokenizer.fit(texts, config)
    counted = _count_ngrams(tokenizer, texts)
    counts = csr_array(vstack(counted)) if tokenizer.pairs else counted[0]
    idf = balance_idf(counts, compute_idf(counts), tokenizer.characters)
    # Without the special ids, as naive Bayes would give them some probability.
    train = build_features([compute_tfidf(each, idf)[:, FIRST:] for each in counted])
    held = build_features([compute_tfidf(each, idf)[:, FIRST:] for each in _count_ngrams(tokenizer, validation_texts)])
    best = tune_solver(solver, train, labels, held, validation_labels, classes=classes)
    model = (BagOfPairs if tokenizer.pairs else BagOfNgrams)(vocabulary=tokenizer.size, classes=classes)
    copy_weights(model, idf, best.columns)
    return LinearFit(tokenizer, model.eval(), best.settings, best.score)


def _count_ngrams(tokenizer: Tokenizer, texts: Sequence[str]) -> list[csr_array]:
    """Count the n-grams of texts as a list of one matrix (n, size), or for text pairs of two, one for each side."""
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)] or [texts]
    found = []
    for part in parts:
        ids = tokenizer.encode_batch(part)
        of_each = [ids] if not tokenizer.pairs else [*map(list, zip(*map(_split_pair, ids), strict=True))] or [[], []]
        found.append([count_matrix(each, tokenizer.size) for each in of_each])
    return [csr_array(vstack(each)) for each in zip(*found, strict=True)]


def _split_pair(ids: list[int]) -> tuple[list[int], list[int]]:
    place = ids.index(FIRST) if FIRST in ids else len(ids)
    return ids[:place], ids[place + 1 :]


def build_features(rows: Sequence[csr_array]) -> csr_array:
    """Return TF-IDF features of texts as they are; for text pairs with features a, b, join a, b, |a − b| and a · b."""
    if len(rows) == 1:
        return rows[0]
    a, b = rows
    return csr_array(hstack([a, b, abs(a - b), a.multiply(b)]))


def count_matrix(ids: Sequence[Sequence[int]], size: int) -> csr_array:
    """Count how often each n-gram is in each text, as a sparse matrix (n, size)."""
    table = TokenTable.from_ids(ids)
    places = table.offsets.astype(np.int32)  # liblinear requires int32
    matrix = csr_array((np.ones(len(table.flat)), table.flat, places), shape=(len(table), size))
    matrix.sum_duplicates()
    return matrix


def compute_idf(counts: csr_array) -> np.ndarray:
    """Compute the smooth idf of n-grams like scikit-learn, (size,): ln((1 + n) / (1 + document frequency)) + 1."""
    return np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1]))) + 1


def balance_idf(counts: csr_array, idf: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """Scale the idf (size,) of character n-grams by one factor, so that they weigh as much as word n-grams.

    A text has several times as many of them; the weight is the sum of squares over the training texts.
    """
    squares = np.bincount(counts.indices, ((1 + np.log(counts.data)) * idf[counts.indices]) ** 2, counts.shape[1])
    inside, rest = squares[characters].sum(), squares[~characters].sum()
    return np.where(characters, idf * np.sqrt(rest / inside), idf) if inside and rest else idf


def compute_tfidf(counts: csr_array, idf: np.ndarray) -> csr_array:
    """Compute TF-IDF features (n, size) from n-gram counts: (1 + ln count) · idf, with rows of length 1."""
    # Not scikit-learn's: it is no faster or more accurate, and its order of sums changes the 7th digit of the loss.
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    weighed = csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    weighed.data /= np.repeat(np.sqrt(weighed.multiply(weighed).sum(1)), np.diff(counts.indptr))
    return weighed


def copy_weights(model: BagOfNgrams, idf: np.ndarray, columns: Columns) -> None:
    """Copy the idf and the fitted weights of a linear classifier into a TF-IDF model."""
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.from_numpy(idf))
        blocks = len(model.weight) // len(idf)
        solved = torch.from_numpy(columns.weight).to(model.weight)
        model.weight.unflatten(0, (blocks, -1))[:, FIRST:] = solved.unflatten(0, (blocks, -1))
        model.bias.copy_(torch.from_numpy(columns.bias))


SOLVER = replace(LOGISTIC, values=(1e4,))
"""Hardly any regularisation: there is one feature, and the mean, which is smaller than the sum, would suffer more."""
FEATURES = ("sum", "mean")  # the columns of `LexiconClassifier.compute_features`


def fit_lexicon(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: np.ndarray,
    validation_texts: Sequence[str],
    validation_labels: np.ndarray,
    *,
    classes: int,
) -> LinearFit:
    """Fit the lexicon baseline: logistic regression on the sum or mean of valences; errors as for `tune_solver`."""
    model = LexiconClassifier(classes=classes).eval()
    train, held = (_compute_features(model, tokenizer, part) for part in (texts, validation_texts))
    fits = [
        tune_solver(SOLVER, train[:, [j]], labels, held[:, [j]], validation_labels, classes=classes)
        for j in range(len(FEATURES))
    ]
    best = max(range(len(FEATURES)), key=lambda j: fits[j].score)  # the first of equals
    columns = fits[best].columns
    with torch.no_grad():
        model.weight[best] = torch.from_numpy(columns.weight[0]).to(model.weight)
        model.bias.copy_(torch.from_numpy(columns.bias))
    return LinearFit(tokenizer, model, {"feature": FEATURES[best]}, fits[best].score)


def _compute_features(model: LexiconClassifier, tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    tokens = build_token_table(tokenizer, texts)
    with torch.no_grad():
        batches = (Batch.from_arrays(tokens.pad_rows(rows)) for rows in split_batches(np.arange(len(texts)), AT_ONCE))
        parts = [model.compute_features(batch) for batch in batches]
    return torch.cat([torch.zeros(0, 2), *parts]).double().numpy()
