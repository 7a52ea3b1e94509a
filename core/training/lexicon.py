"""Fits the lexicon baseline: class probabilities from one number, how positive the words of a text are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from core.models.baselines import LexiconClassifier
from core.models.trace import Batch
from core.text.token_table import in_order, token_table
from core.text.tokenizer import Tokenizer
from core.training.linear import LinearFit
from core.training.solvers import LOGISTIC, choose

SOLVER = replace(LOGISTIC, values=(1e4,))
"""One number is no reason to regularise, and the mean, being smaller than the sum, would suffer more from it."""
FEATURES = ("sum", "mean")
"""The columns of `LexiconClassifier.features`."""
AT_ONCE = 1024


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
