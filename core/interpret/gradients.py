"""Gradient attribution of words: Captum's methods over a function of the token embeddings.

The model gets the vectors as an argument; nothing is attached to a model that others use at the same time. The gradient
is that of the log-odds, computed from logits that are scaled as those of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.data.dataset import Task
from core.evaluation.ensemble import blend_tensors
from core.evaluation.inference import scale_logits
from core.models.baselines import ReadsVectors
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention
from core.training.calibration import Scaling

REFERENCE = "every word's vector zero, its place kept"
"""Where integrated gradients start (Sundararajan, Taly and Yan 2017, section 3, for texts)."""
POINTS, STEPS, MOST_STEPS = 32, 64, 1024
"""The path from there to the text is cut into pieces with so many points of Gauss and Legendre each, twice as many
pieces until the pushes add up. (One piece with many points would wait for the eigenvalues of a large matrix.)"""
SMALL = 0.02
"""The error of completeness that is small: log-odds, or the share of the difference where that is larger than 1."""
TOKENS = 4096  # Read at once
Embeds = EncoderClassifier | ReadsVectors  # What reads vectors of words


class Target(NamedTuple):
    """A function from a network's logits to the log-odds of one class."""

    place: int
    task: Task
    scaling: Scaling
    tfidf: Tensor | None = None  # (C,): logits of what is mixed in, which vectors of words do not change
    weight: float = 1.0  # Of the network beside it

    def __call__(self, logits: Tensor) -> Tensor:
        """Return a class's log-odds from logits: log p - log Σ others; multi-label: log p - log(1 - p)."""
        if self.tfidf is not None:
            logits = blend_tensors(logits.double(), self.tfidf.double(), self.weight, self.task)
        z = scale_logits(logits, self.task, self.scaling)
        if self.task == "multi":
            return z[:, self.place]
        others = torch.arange(z.shape[1], device=z.device) != self.place
        return z[:, self.place] - z[:, others].logsumexp(-1)


Asked = Callable[[Tensor], Tensor]  # (B, C) logits → (B,): such as a `Target`


class PathAttribution(NamedTuple):
    """The integrated gradients of a text's tokens, with their completeness error."""

    pushes: np.ndarray  # (L,) float64
    at_reference: float  # The log-odds where the path begins
    error: float  # Sum of the pushes - (log-odds of the text - log-odds at the reference)
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
    """Compute integrated gradients of a text, doubling the steps until they add up or a maximum is reached.

    Sundararajan, Taly and Yan (2017), "Axiomatic attribution for deep networks", equation 1.
    """
    from captum.attr import IntegratedGradients

    embedded, ask = _build_function(model, batch, target, intervene)
    with torch.no_grad():
        there, here = ask(torch.cat([torch.zeros_like(embedded), embedded])).double().tolist()
    method, steps, once = IntegratedGradients(ask), STEPS, max(1, TOKENS // embedded.shape[1])
    while True:
        edges = torch.linspace(0, 1, steps // POINTS + 1, device=embedded.device)[:, None, None] * embedded.detach()
        found = method.attribute(edges[1:], edges[:-1], n_steps=POINTS, internal_batch_size=once)
        pushes = _select_tokens(found)
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
        """Return the log-odds of the target class for token embeddings (n, L, d)."""
        texts = batch.repeat_text(len(embedded))
        if intervene is None:
            return target(model(texts, embedded=embedded).logits)
        return target(model(texts, intervene=intervene, embedded=embedded).logits)

    with torch.no_grad():
        embedded = _embed_text(model, batch, frozenset() if intervene is None else intervene.pieces_off)
    return embedded.requires_grad_(), compute_log_odds


def _embed_text(model: Embeds, batch: Batch, off: frozenset[tuple[int, int]]) -> Tensor:
    """Return the token embeddings (1, L, d) of a text, leaving out silenced character n-grams."""
    if not off or not isinstance(model, EncoderClassifier):
        return model.embed_tokens(batch)
    return model.embed_tokens(batch, [frozenset((token - model.first, piece) for token, piece in off)])


def _select_tokens(found: Tensor) -> np.ndarray:
    return found.detach().double().sum((0, -1)).cpu().numpy()
