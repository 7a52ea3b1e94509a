"""What each layer of an encoder makes of texts: the mean of the vectors of their tokens, and how its classes lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.evaluation.multilabel import SEVERAL
from core.evaluation.neighbourhood import purity
from core.evaluation.predict import OnBatch, device_of, evaluating, unheard
from core.evaluation.representation import silhouette
from core.models.encoder import EncoderClassifier
from core.models.head import masked_mean
from core.models.trace import Batch
from core.text.token_table import in_order, token_table
from core.text.tokenizer import Tokenizer

AT_ONCE, PAIRS = 64, 1_000_000
"""Texts read at once at most, and pairs of their tokens: a trace holds every map."""


@dataclass(frozen=True)
class Stage:
    """The vectors of a sample of sentences at one place of the model."""

    name: str
    """`embedding`, `layer 1` …, `head`."""
    width: int
    silhouette: float | None
    """Mean silhouette by true class, Euclidean; None where it is not defined."""
    purity: float | None
    """Mean share of the ten nearest others with the same true class; None for too few sentences."""


def read_layers(
    model: EncoderClassifier, tokenizer: Tokenizer, texts: Sequence[str], on_batch: OnBatch = unheard
) -> np.ndarray:
    """(layers + 1, n, d) float32: of what enters the first layer, then of what leaves each, the mean over the text.

    Over its own tokens, that is: neither a class token nor padding that a model reads; zeros for a text without tokens.

    Args:
        model: left as it was found.
        tokenizer: of the model.
        texts: n, in any order.
        on_batch: told before each batch which share is done; what it raises ends it.
    """
    tokens = token_table(tokenizer, texts)
    order = np.argsort(-tokens.lengths, kind="stable")
    longest = int(tokens.lengths.max(initial=1)) or 1
    batches = in_order(order, max(1, min(AT_ONCE, PAIRS // longest**2)))
    found = np.zeros((len(model.layers) + 1, len(tokens), model.width), np.float32)
    device = device_of(model)
    with evaluating(model):
        for number, rows in enumerate(batches):
            on_batch(number / len(batches))
            batch = Batch.of(tokens.padded(rows)).to(device)
            trace, own = model(batch, trace=True).trace, batch.keep
            text = slice(model.first, model.first + own.shape[1])
            for place, vectors in enumerate((trace.embedded, *(layer.hidden for layer in trace.layers))):
                found[place, rows] = masked_mean(vectors[:, text].float(), own).cpu().numpy()
    return found


def measure(name: str, vectors: np.ndarray, labels: np.ndarray) -> Stage:
    """How the classes lie in one space.

    Args:
        name: of the stage.
        vectors: (n, d).
        labels: (n,) class numbers, or (n, C) zeros and ones: then there is no silhouette.
    """
    pure = purity(vectors, labels)
    several = np.ndim(labels) == 2
    mean = None if several else silhouette(vectors.astype(np.float64), labels, ()).overall
    return Stage(name, vectors.shape[1], mean, None if pure is None else float(pure.mean()))


def without_silhouette(labels: np.ndarray) -> str:
    """Why no stage has a silhouette; empty: they have."""
    if np.ndim(labels) == 2:
        return SEVERAL
    return "" if 2 <= len(np.unique(labels)) < len(labels) else "the sentences belong to fewer than two classes"
