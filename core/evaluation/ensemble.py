"""A mixture of a network with TF-IDF: p = w · p_network + (1 − w) · p_tfidf; for multi-label data, per label.

The probabilities of both models as trained are mixed; the temperature of a run is fitted on the mixture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.dataset import Task
from core.evaluation.inference import EnsembleLogits, Predictions, compute_probabilities, predict_texts
from core.evaluation.metrics import evaluate
from core.lazy_imports import scipy
from core.models.builder import Model
from core.text.tokenizer import Tokenizer
from core.training.calibration import UNSCALED


@dataclass(frozen=True)
class Ensemble:
    """The TF-IDF model to mix with a network's predictions, and the weight of the network in the mixture."""

    model: Model
    tokenizer: Tokenizer
    weight: float  # w, 0 to 1

    @classmethod
    def fit_weight(
        cls,
        model: Model,
        tokenizer: Tokenizer,
        network: np.ndarray,
        texts: Sequence[str],
        labels: np.ndarray,
        task: Task,
    ) -> Ensemble:
        """Return a mixture with the network's weight fitted to its logits on validation texts, (n, C)."""
        parts = cls(model, tokenizer, 1.0).predict_parts(network, texts, task)
        return cls(model, tokenizer, find_weight(parts, labels, task))

    def predict_parts(self, network: np.ndarray, texts: Sequence[str], task: Task) -> EnsembleLogits:
        """Return the given logits of a mixture's network, and the logits of its TF-IDF model for the same texts."""
        return EnsembleLogits(network, predict_texts(self.model, self.tokenizer, texts, task=task).logits)

    def blend_predictions(self, found: Predictions, texts: Sequence[str], task: Task) -> Predictions:
        """Mix TF-IDF into a network's predictions; the result also keeps the logits of both models."""
        parts = self.predict_parts(found.logits, texts, task)
        logits = blend_logits(parts, self.weight, task).astype(np.float32)
        return dataclasses.replace(found, logits=logits, parts=parts).apply_scaling(UNSCALED, task)


def blend_logits(parts: EnsembleLogits, weight: float, task: Task) -> np.ndarray:
    """Return (n, C) logits whose softmax (or sigmoid, for multi-label data) is a mixture of a network with TF-IDF."""
    network, other = (torch.from_numpy(np.asarray(each, np.float64)) for each in parts)
    return blend_tensors(network, other, weight, task).numpy()


def blend_tensors(network: Tensor, other: Tensor, weight: float, task: Task) -> Tensor:
    """Return the mixed logits of a network and a TF-IDF model, tensors (…, C), with gradients."""
    ours, theirs = network.new_tensor([weight, 1 - weight]).log()
    if task == "single":
        return torch.logaddexp(ours + network.log_softmax(-1), theirs + other.log_softmax(-1))
    yes, no = (
        torch.logaddexp(ours + F.logsigmoid(sign * network), theirs + F.logsigmoid(sign * other)) for sign in (1, -1)
    )
    return yes - no


def evaluate_parts(
    parts: EnsembleLogits, labels: np.ndarray, task: Task, *, ordered: bool = False
) -> dict[str, dict[str, float]]:
    """Compute the metrics of each of a mixture's two models alone; for multi-label data at a threshold of 0.5."""
    return {
        name: evaluate(labels, compute_probabilities(torch.from_numpy(logits), task).numpy(), task, ordered=ordered)
        for name, logits in parts._asdict().items()
    }


def find_weight(parts: EnsembleLogits, labels: np.ndarray, task: Task) -> float:
    """Return the network's weight in [0, 1] in a mixture with TF-IDF that has the least cross-entropy."""
    ours, theirs = (_select_true(each, labels, task) for each in parts)

    def cross_entropy(weight: float) -> float:
        """Return the mean cross-entropy of a network mixed with TF-IDF at the given weight."""
        given = weight * ours + (1 - weight) * theirs
        return -float(np.log(np.maximum(given, np.finfo(np.float64).tiny)).mean())

    between = float(scipy.optimize.minimize_scalar(cross_entropy, bounds=(0, 1), method="bounded").x)
    return min((1.0, between, 0.0), key=cross_entropy)  # the search never reaches 0 or 1


def _select_true(logits: np.ndarray, labels: np.ndarray, task: Task) -> np.ndarray:
    """Return the probability of each row's true class or, for multi-label data, of each label's true value (0 or 1)."""
    exact = np.asarray(logits, np.float64)
    if task == "single":
        found: np.ndarray = scipy.special.softmax(exact, -1)[np.arange(len(labels)), labels]
        return found
    return scipy.special.expit(np.where(labels != 0, exact, -exact)).ravel()
