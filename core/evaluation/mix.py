"""A mixture of a network with TF-IDF: p = w · p_network + (1 − w) · p_tfidf, for each label separately if several.

What is mixed are probabilities, as both models were trained; the temperature of a run is fitted on the mixture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.table import Task
from core.evaluation.metrics import evaluate
from core.evaluation.predict import Parts, Predictions, predict_texts, probabilities
from core.lazy import scipy
from core.models.build import Model
from core.text.tokenizer import Tokenizer
from core.training.scaling import UNSCALED


@dataclass(frozen=True)
class Mix:
    """The TF-IDF model of a mixture, and the weight of the network."""

    model: Model
    tokenizer: Tokenizer
    weight: float  # w, 0 to 1

    @classmethod
    def fitted(
        cls,
        model: Model,
        tokenizer: Tokenizer,
        network: np.ndarray,
        texts: Sequence[str],
        labels: np.ndarray,
        task: Task,
    ) -> Mix:
        """Fit the weight to a network's logits (n, C) of validation `texts`."""
        unweighed = cls(model, tokenizer, 1.0)
        return dataclasses.replace(unweighed, weight=best_weight(unweighed.parts(network, texts, task), labels, task))

    def parts(self, network: np.ndarray, texts: Sequence[str], task: Task) -> Parts:
        """Return the logits of both models for texts, given those of the network, (n, C)."""
        return Parts(network, predict_texts(self.model, self.tokenizer, texts, task=task).logits)

    def into(self, found: Predictions, texts: Sequence[str], task: Task) -> Predictions:
        """Mix TF-IDF into the network's predictions; both parts are kept in `parts`."""
        parts = self.parts(found.logits, texts, task)
        logits = mixed(parts, self.weight, task).astype(np.float32)
        return dataclasses.replace(found, logits=logits, parts=parts).at(UNSCALED, task)


def mixed(parts: Parts, weight: float, task: Task) -> np.ndarray:
    """Return (n, C) float64 logits whose softmax (or sigmoid, with several labels) is the mixture."""
    network, other = (torch.from_numpy(np.asarray(each, np.float64)) for each in parts)
    return mixed_logits(network, other, weight, task).numpy()


def mixed_logits(network: Tensor, other: Tensor, weight: float, task: Task) -> Tensor:
    """Return the mixed logits of tensors (…, C), with gradients."""
    ours, theirs = network.new_tensor([weight, 1 - weight]).log()
    if task == "single":
        return torch.logaddexp(ours + network.log_softmax(-1), theirs + other.log_softmax(-1))
    yes, no = (
        torch.logaddexp(ours + F.logsigmoid(sign * network), theirs + F.logsigmoid(sign * other)) for sign in (1, -1)
    )
    return yes - no


def alone(parts: Parts, labels: np.ndarray, task: Task, *, ordered: bool = False) -> dict[str, dict[str, float]]:
    """Compute metrics of `network` and `tfidf` alone, as trained; with several labels at a threshold of 0.5."""
    return {
        name: evaluate(labels, probabilities(torch.from_numpy(logits), task).numpy(), task, ordered=ordered)
        for name, logits in parts._asdict().items()
    }


def best_weight(parts: Parts, labels: np.ndarray, task: Task) -> float:
    """Return the weight w in [0, 1] with the least cross-entropy of the mixture, which is convex in w."""
    ours, theirs = (_of_the_truth(each, labels, task) for each in parts)

    def cross_entropy(weight: float) -> float:
        """Return the mean cross-entropy of the mixture."""
        given = weight * ours + (1 - weight) * theirs
        return -float(np.log(np.maximum(given, np.finfo(np.float64).tiny)).mean())

    between = float(scipy.optimize.minimize_scalar(cross_entropy, bounds=(0, 1), method="bounded").x)
    return min((1.0, between, 0.0), key=cross_entropy)  # the search never reaches an end


def _of_the_truth(logits: np.ndarray, labels: np.ndarray, task: Task) -> np.ndarray:
    """Return the probability of the true class of each row, or of the true state of each row and label."""
    exact = np.asarray(logits, np.float64)
    if task == "single":
        found: np.ndarray = scipy.special.softmax(exact, -1)[np.arange(len(labels)), labels]
        return found
    return scipy.special.expit(np.where(labels != 0, exact, -exact)).ravel()
