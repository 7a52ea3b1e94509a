"""Fits the TF-IDF baselines with scikit-learn and moves their weights into a torch model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, hstack, vstack

from core.models.baselines import BagOfNgrams, BagOfPairs, LexiconClassifier, Plain
from core.models.config import Family
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.ids import FIRST
from core.text.ngrams import NGramTokenizer
from core.text.token_table import TokenTable, in_order, token_table
from core.text.tokenizer import Tokenizer
from core.training.solvers import LOGISTIC, NAIVE_BAYES, SUPPORT_VECTORS, Columns, Solver, choose

SOLVERS: dict[Family, Solver] = {"tfidf-logreg": LOGISTIC, "tfidf-nb": NAIVE_BAYES, "tfidf-svm": SUPPORT_VECTORS}


AT_ONCE = 1024


@dataclass(frozen=True)
class LinearFit:
    """A fitted baseline; `settings` is what was chosen on validation, such as C, alpha or a scale."""

    tokenizer: Tokenizer
    model: Plain
    settings: dict[str, Any]
    score: float
    """Validation accuracy there; of several labels per text the mean over labels of F1 at 0.5."""


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
    """Fit a baseline: n-grams and idf from the training split, its one setting (or the `chosen`) from validation.

    Of pairs each text has a row of its own, and both, their difference and their product are what is read
    (`core.models.linear.BagOfPairs`). Labels are (n,) int64 class numbers, or (n, C) zeros and ones; of `config` only
    the normalising, `min_freq` (texts that hold an n-gram), `max_vocab` and `char_ngrams` matter. Raises DataError as
    `core.training.solvers.choose`.
    """
    solver = SOLVERS[family] if chosen is None else replace(SOLVERS[family], values=(chosen,))
    tokenizer = NGramTokenizer.fit(texts, config)
    counted = _counts(tokenizer, texts)
    counts = csr_array(vstack(counted)) if tokenizer.pairs else counted[0]
    idf = balanced(counts, inverse_document_frequency(counts), tokenizer.characters)
    # The first ids are no n-grams: naive Bayes would keep some probability for them.
    train = features([tfidf(each, idf)[:, FIRST:] for each in counted])
    held = features([tfidf(each, idf)[:, FIRST:] for each in _counts(tokenizer, validation_texts)])
    best = choose(solver, train, labels, held, validation_labels, classes=classes)
    model = (BagOfPairs if tokenizer.pairs else BagOfNgrams)(vocabulary=tokenizer.size, classes=classes)
    copy_weights(model, idf, best.columns)
    return LinearFit(tokenizer, model.eval(), best.settings, best.score)


def _counts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[csr_array]:
    """Return (n, size), of pairs for each text; some at a time, for a text has many character n-grams."""
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)] or [texts]
    found = []
    for part in parts:
        ids = tokenizer.encode_batch(part)
        of_each = [ids] if not tokenizer.pairs else [*map(list, zip(*map(_two, ids), strict=True))] or [[], []]
        found.append([count_matrix(each, tokenizer.size) for each in of_each])
    return [csr_array(vstack(each)) for each in zip(*found, strict=True)]


def _two(ids: list[int]) -> tuple[list[int], list[int]]:
    place = ids.index(FIRST) if FIRST in ids else len(ids)
    return ids[:place], ids[place + 1 :]


def features(rows: Sequence[csr_array]) -> csr_array:
    """Return rows of TF-IDF as they are; of pairs a, b, |a − b| and a · b beside each other."""
    if len(rows) == 1:
        return rows[0]
    a, b = rows
    return csr_array(hstack([a, b, abs(a - b), a.multiply(b)]))


def count_matrix(ids: Sequence[Sequence[int]], size: int) -> csr_array:
    """Return (n, size) float64: how often each n-gram is in each text."""
    table = TokenTable.of(ids)
    places = table.offsets.astype(np.int32)  # the only ones that liblinear takes
    matrix = csr_array((np.ones(len(table.flat)), table.flat, places), shape=(len(table), size))
    matrix.sum_duplicates()
    return matrix


def inverse_document_frequency(counts: csr_array) -> np.ndarray:
    """Return (size,): ln((1 + n) / (1 + documents with the n-gram)) + 1, scikit-learn's smooth idf."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + documents)) + 1


def balanced(counts: csr_array, idf: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """Return idf (size,) with one factor on the character n-grams, which then weigh as much as all the rest together.

    A text has several times as many of them as words, and rows of length 1 would leave the words little. Weight is the
    sum of squares over the training texts.
    """
    squares = np.bincount(counts.indices, ((1 + np.log(counts.data)) * idf[counts.indices]) ** 2, counts.shape[1])
    inside, rest = squares[characters].sum(), squares[~characters].sum()
    return np.where(characters, idf * np.sqrt(rest / inside), idf) if inside and rest else idf


def tfidf(counts: csr_array, idf: np.ndarray) -> csr_array:
    """Return (n, size): (1 + ln count) · idf with rows of length 1."""
    # Own: scikit-learn's is no faster (8 to 9 ms) nor nearer to the truth (both 1e-16 off), and another order of sums
    # would change the 7th digit of every yardstick's loss.
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    weighed = csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    lengths = np.sqrt(weighed.multiply(weighed).sum(1))
    weighed.data /= np.repeat(lengths, np.diff(counts.indptr))
    return weighed


def copy_weights(model: BagOfNgrams, idf: np.ndarray, columns: Columns) -> None:
    """Move a solution into the model; its rows are the n-grams, of pairs four times."""
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.from_numpy(idf))
        blocks = len(model.weight) // len(idf)
        solved = torch.from_numpy(columns.weight).to(model.weight)
        model.weight.unflatten(0, (blocks, -1))[:, FIRST:] = solved.unflatten(0, (blocks, -1))
        model.bias.copy_(torch.from_numpy(columns.bias))


SOLVER = replace(LOGISTIC, values=(1e4,))
"""One number is no reason to regularise, and the mean, being smaller than the sum, would suffer more from it."""
FEATURES = ("sum", "mean")
"""The columns of `LexiconClassifier.features`."""


def fit_lexicon(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: np.ndarray,
    validation_texts: Sequence[str],
    validation_labels: np.ndarray,
    *,
    classes: int,
) -> LinearFit:
    """Fit a logistic regression on the sum or on the mean of the valences, whichever is better on validation.

    Labels are (n,) int64 class numbers, or (n, C) zeros and ones. Raises DataError as `core.training.solvers.choose`.
    """
    model = LexiconClassifier(classes=classes).eval()
    train, held = (_features(model, tokenizer, part) for part in (texts, validation_texts))
    fits = [
        choose(SOLVER, train[:, [j]], labels, held[:, [j]], validation_labels, classes=classes)
        for j in range(len(FEATURES))
    ]
    best = max(range(len(FEATURES)), key=lambda j: fits[j].score)  # the first of equals
    columns = fits[best].columns
    with torch.no_grad():
        model.weight[best] = torch.from_numpy(columns.weight[0]).to(model.weight)
        model.bias.copy_(torch.from_numpy(columns.bias))
    return LinearFit(tokenizer, model, {"feature": FEATURES[best]}, fits[best].score)


def _features(model: LexiconClassifier, tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    tokens = token_table(tokenizer, texts)
    with torch.no_grad():
        batches = (Batch.of(tokens.padded(rows)) for rows in in_order(np.arange(len(texts)), AT_ONCE))
        parts = [model.features(batch) for batch in batches]
    return torch.cat([torch.zeros(0, 2), *parts]).double().numpy()
