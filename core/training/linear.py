"""Fits the TF-IDF baseline with scikit-learn and moves its weights into a torch model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_array

from core.exceptions import DataError
from core.models.linear import BagOfNgrams
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.training.batches import TokenTable

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

log = logging.getLogger(__name__)

STRENGTHS = (0.25, 1.0, 4.0, 16.0)
"""Inverse regularisation strengths that are tried, weakest model first."""
ABSENT = -1e4
"""Bias of a class without training rows: its probability is 0, and its logit stays finite."""


@dataclass(frozen=True)
class LinearFit:
    """A fitted baseline."""

    tokenizer: NGramTokenizer
    model: BagOfNgrams
    strength: float
    """C of the logistic regression, chosen on the validation accuracy; the smaller of equals."""
    accuracy: float
    """Validation accuracy at that C."""


def fit_linear(
    texts: Sequence[str],
    labels: np.ndarray,
    validation_texts: Sequence[str],
    validation_labels: np.ndarray,
    *,
    config: TextConfig,
    classes: int,
) -> LinearFit:
    """The baseline of a data set: n-grams and idf from the training split, C from the validation split.

    Only `config.normaliser`, `min_freq` (texts that hold an n-gram) and `max_vocab` matter.

    Raises:
        DataError: if the training split holds fewer than two classes.
    """
    from sklearn.linear_model import LogisticRegression  # a second, which no other training shall wait for

    if len(np.unique(labels)) < 2:
        raise DataError("the training split holds one class only; a classifier needs at least two")
    tokenizer = NGramTokenizer.fit(texts, config)
    counts = count_matrix(tokenizer.encode_batch(texts), tokenizer.size)
    idf = inverse_document_frequency(counts)
    train = tfidf(counts, idf)
    validation = tfidf(count_matrix(tokenizer.encode_batch(validation_texts), tokenizer.size), idf)
    best = STRENGTHS[0], -1.0
    # Each fit starts from the weaker one before it: the same optimum, found sooner.
    regression = LogisticRegression(max_iter=2000, warm_start=True)
    model = BagOfNgrams(vocabulary=tokenizer.size, classes=classes)
    for strength in STRENGTHS:
        regression.set_params(C=strength).fit(train, labels)
        accuracy = _accuracy(regression, validation, validation_labels)
        log.info("tfidf-logreg: C=%g, validation accuracy %.4f", strength, accuracy)
        if accuracy > best[1]:
            best = strength, accuracy
            copy_weights(model, idf, regression)
    return LinearFit(tokenizer, model.eval(), *best)


def _accuracy(regression: LogisticRegression, features: csr_array, labels: np.ndarray) -> float:
    return float(np.mean(regression.predict(features) == labels)) if len(labels) else 0.0


def count_matrix(ids: Sequence[Sequence[int]], size: int) -> csr_array:
    """(n, size) float64: how often each n-gram is in each text."""
    table = TokenTable.of(ids)
    matrix = csr_array((np.ones(len(table.flat)), table.flat, table.offsets), shape=(len(table), size))
    matrix.sum_duplicates()
    return matrix


def inverse_document_frequency(counts: csr_array) -> np.ndarray:
    """(size,): ln((1 + n) / (1 + documents with the n-gram)) + 1, scikit-learn's smooth idf."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + documents)) + 1


def tfidf(counts: csr_array, idf: np.ndarray) -> csr_array:
    """(n, size): (1 + ln count) · idf with rows of length 1."""
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    weighed = csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    lengths = np.sqrt(weighed.multiply(weighed).sum(1))
    weighed.data /= np.repeat(lengths, np.diff(counts.indptr))
    return weighed


def copy_weights(model: BagOfNgrams, idf: np.ndarray, regression: LogisticRegression) -> None:
    """Move a fitted regression into the model; of two classes, each gets half of the one weight vector."""
    weight, bias = regression.coef_, regression.intercept_
    if len(regression.classes_) == 2:
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.from_numpy(idf))
        model.weight.zero_()
        model.bias.fill_(ABSENT)
        model.weight[:, regression.classes_] = torch.from_numpy(weight.T).to(model.weight)
        model.bias[regression.classes_] = torch.from_numpy(bias).to(model.bias)
