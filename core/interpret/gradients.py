"""Gradient attribution of words: Captum's methods over a function of the token embeddings.

The model receives the embeddings as an argument, without hooks, as other threads may use it at the same time. The
gradient is that of the log-odds, computed from the run's scaled logits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.data.dataset import Task
from core.evaluation.inference import blend_tensors, scale_logits
from core.models.baselines import ReadsVectors
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention
from core.training.temperature import Scaling

REFERENCE = "zero word vectors with positions kept"
"""Where integrated gradients start (Sundararajan, Taly and Yan 2017, section 3, for texts)."""
POINTS, STEPS, MOST_STEPS = 32, 64, 1024
"""The path from the reference to the text is divided into parts with `POINTS` Gauss–Legendre points each; the number of
parts is doubled until the attributions add up. (A single part with many points needs the eigenvalues of a large
matrix.)"""
SMALL = 0.02  # Accepted completeness error in log-odds, or as a share of a difference larger than 1
TOKENS = 4096  # Tokens of a batch
Embeds = EncoderClassifier | ReadsVectors  # Models with word embeddings


class Target(NamedTuple):
    """A function from a network's logits to the log-odds of one class."""

    place: int
    task: Task
    scaling: Scaling
    tfidf: Tensor | None = None  # (C,): logits of a TF-IDF model that is mixed in, independent of word embeddings
    weight: float = 1.0  # Of the network

    def __call__(self, logits: Tensor) -> Tensor:
        """Return a class's log-odds from logits: log p - log Σ others; multi-label: log p - log(1 - p)."""
        if self.tfidf is not None:
            logits = blend_tensors(logits.double(), self.tfidf.double(), self.weight, self.task)
        z = scale_logits(logits, self.task, self.scaling)
        if self.task == "multi":
            return z[:, self.place]
        others = torch.arange(z.shape[1], device=z.device) != self.place
        return z[:, self.place] - z[:, others].logsumexp(-1)


Asked = Callable[[Tensor], Tensor]  # (B, C) logits → (B,), such as a `Target`


class PathAttribution(NamedTuple):
    """The integrated gradients of a text's tokens, with their completeness error."""

    pushes: np.ndarray  # (L,) float64
    at_reference: float  # The log-odds at the reference
    error: float  # Sum of the attributions - (log-odds of the text - log-odds at the reference)
    steps: int


def compute_input_gradient(
    model: Embeds, batch: Batch, target: Asked, intervene: Intervention | None = None
) -> np.ndarray:
    """Compute input × gradient: each token's embedding dot its gradient, (L,) float64, for a batch of one text."""
    from captum.attr import InputXGradient

    embedded, ask = _build_function(model, batch, target, intervene)
    return _select_tokens(InputXGradient(ask).attribute(embedded))


def integrate_gradients(
    model: Embeds, batch: Batch, target: Asked, intervene: Intervention | None = None
) -> PathAttribution:
    """Compute integrated gradients (Sundararajan 2017, eq. 1), doubling the steps until they add up or are too many."""
    from captum.attr import IntegratedGradients

    embedded, ask = _build_function(model, batch, target, intervene)
    with torch.no_grad():
        there, here = ask(torch.cat([torch.zeros_like(embedded), embedded])).double().tolist()
    method, steps, once = IntegratedGradients(ask), STEPS, max(1, TOKENS // embedded.shape[1])
    while True:
        edges = torch.linspace(0, 1, steps // POINTS + 1, device=embedded.device)[:, None, None] * embedded.detach()
        pushes = _select_tokens(method.attribute(edges[1:], edges[:-1], n_steps=POINTS, internal_batch_size=once))
        error = float(pushes.sum()) - (here - there)
        if abs(error) <= SMALL * max(1.0, abs(here - there)) or steps >= MOST_STEPS:
            return PathAttribution(pushes, there, error, steps)
        steps *= 2


def _build_function(
    model: Embeds, batch: Batch, target: Asked, intervene: Intervention | None
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return a text's embeddings (1, L, d), and a function from embeddings (n, L, d) to log-odds (n,)."""
    if model.training:
        raise RuntimeError("gradients need eval(): dropout would change what they show")

    def compute_log_odds(embedded: Tensor) -> Tensor:
        texts = batch.repeat_text(len(embedded))
        if intervene is None:
            return target(model(texts, embedded=embedded).logits)
        return target(model(texts, intervene=intervene, embedded=embedded).logits)

    with torch.no_grad():
        embedded = model.embed_tokens(batch)
    return embedded.requires_grad_(), compute_log_odds


def _select_tokens(found: Tensor) -> np.ndarray:
    return found.detach().double().sum((0, -1)).cpu().numpy()
