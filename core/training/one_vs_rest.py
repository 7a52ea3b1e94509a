"""Fits the TF-IDF baseline for several labels a text: one logistic regression per label, its texts against the rest."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from core.exceptions import DataError
from core.models.linear import BagOfNgrams
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.training.linear import ABSENT, STRENGTHS, LinearFit, count_matrix, inverse_document_frequency, tfidf

log = logging.getLogger(__name__)


def fit_one_vs_rest(
    texts: Sequence[str],
    labels: np.ndarray,
    validation_texts: Sequence[str],
    validation_labels: np.ndarray,
    *,
    config: TextConfig,
) -> LinearFit:
    """As `core.training.linear.fit_linear`, for (n, C) zeros and ones; one C for all labels.

    That C is chosen by the mean over labels of the validation F1 at 0.5, the smaller of equals. A label that no or
    every training text has gets a bias alone, which says so.

    Raises:
        DataError: if no training text has a label.
    """
    if not labels.any():
        raise DataError("no training text has a label")
    tokenizer = NGramTokenizer.fit(texts, config)
    counts = count_matrix(tokenizer.encode_batch(texts), tokenizer.size)
    idf = inverse_document_frequency(counts)
    train = tfidf(counts, idf)
    validation = tfidf(count_matrix(tokenizer.encode_batch(validation_texts), tokenizer.size), idf)
    # Each fit starts from the weaker one before it: the same optimum, found sooner.
    regressions = [LogisticRegression(max_iter=2000, warm_start=True) for _ in labels.T]
    best = STRENGTHS[0], -1.0, np.zeros((tokenizer.size, labels.shape[1])), np.zeros(labels.shape[1])
    for strength in STRENGTHS:
        fitted = [_fit(each, strength, train, own) for each, own in zip(regressions, labels.T, strict=True)]
        weight = np.stack([column for column, _ in fitted], 1)
        bias = np.array([number for _, number in fitted])
        score = _macro_f1(validation @ weight + bias > 0, validation_labels)
        log.info("tfidf-logreg: C=%g, validation F1, macro %.4f", strength, score)
        if score > best[1]:
            best = strength, score, weight, bias
    strength, score, weight, bias = best
    model = BagOfNgrams(vocabulary=tokenizer.size, classes=labels.shape[1])
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.from_numpy(idf))
        model.weight.copy_(torch.from_numpy(weight))
        model.bias.copy_(torch.from_numpy(bias))
    return LinearFit(tokenizer, model.eval(), strength, score)


def _fit(
    regression: LogisticRegression, strength: float, features: csr_array, own: np.ndarray
) -> tuple[np.ndarray, float]:
    """Weights (V,) and bias of one label against the rest."""
    if own.all() or not own.any():
        return np.zeros(features.shape[1]), -ABSENT if own.all() else ABSENT
    regression.set_params(C=strength).fit(features, own != 0)
    return regression.coef_[0].copy(), float(regression.intercept_[0])


def _macro_f1(said: np.ndarray, labels: np.ndarray) -> float:
    own = labels != 0
    both = own.sum(0) + said.sum(0)
    return float(np.mean(2 * (own & said).sum(0) / np.maximum(both, 1))) if len(labels) else 0.0
