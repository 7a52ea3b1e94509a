"""Loss functions and targets of training: for one label per text, several labels, or a tag per token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from core.data.dataset import Task
from core.training.config import TrainingConfig

UNTAGGED = -100
"""In place of a tag: a word's further pieces, and padding, are neither learned nor judged."""


@dataclass(frozen=True)
class Loss:
    """The training loss: cross-entropy of the softmax, or of each label's sigmoid in a multi-label task.

    The mean is over rows, in a multi-label task over rows and labels, for tokens over those that have a tag to learn.
    """

    task: Task
    weights: Tensor | None = None
    """(C,): of each class; of a multi-label task what a text with the label weighs against one without it."""
    smoothing: float = 0.0
    """Share of the target that is spread evenly: over the C classes, or over yes and no of each label."""

    def __call__(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of logits (B, C) for class numbers (B,) or target probabilities (B, C).

        Of a multi-label task those are the probabilities of each label, zeros and ones where they are known. A class
        number and its unit vector give the same. Of tokens (B, L, C) logits for (B, L) tag numbers or `UNTAGGED`.
        """
        if self.task == "tokens":
            logits, targets = logits.flatten(0, 1), targets[:, : logits.shape[1]].flatten()
            return F.cross_entropy(
                logits, targets, self.weights, label_smoothing=self.smoothing, ignore_index=UNTAGGED, reduction="sum"
            ) / self._count_tagged(targets)
        if self.task == "multi":
            targets = targets.to(logits.dtype) * (1 - self.smoothing) + self.smoothing / 2
            return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=self.weights)
        weights = None if self.weights is None else self.weights.to(logits.dtype)
        if targets.ndim == 1:
            return F.cross_entropy(logits, targets, weights, label_smoothing=self.smoothing)
        targets = targets.to(logits.dtype)
        # torch divides weighted probabilities by the rows, and weighted class numbers by the weight of the rows.
        loss = F.cross_entropy(logits, targets, weights, label_smoothing=self.smoothing, reduction="sum")
        return loss / self.compute_divisor(targets)

    def compute_divisor(self, targets: Tensor) -> Tensor:
        """Return what a summed loss is divided by to get the mean: number of texts or tags, or their class weight."""
        if self.task == "tokens":
            return self._count_tagged(targets)
        if self.task == "multi" or (self.weights is None and targets.ndim == 1):
            return torch.tensor(len(targets))
        if self.weights is None:
            return targets.sum()
        weights = self.weights.to(targets.device)
        return weights[targets].sum() if targets.ndim == 1 else (targets @ weights.to(targets.dtype)).sum()

    def _count_tagged(self, targets: Tensor) -> Tensor:
        """Return the number of tokens with a tag, or their total class weight; above 0, so that it can divide."""
        tagged = targets[targets != UNTAGGED]
        weights = torch.ones_like(tagged) if self.weights is None else self.weights.to(tagged.device)[tagged]
        return weights.sum().clamp(min=1e-9)


def build_loss(config: TrainingConfig, labels: Tensor, *, classes: int, task: Task, device: torch.device) -> Loss:
    """Build the training loss from settings, with class weights computed from the training labels.

    `class_weights=balanced` weighs class c by n / (C n_c), and 0 without rows; of a multi-label task a text with label
    c by (n - n_c) / n_c, so that both sides of each label weigh the same, and 1 without rows.
    """
    weights = None
    if config.class_weights == "balanced":
        labels = labels[labels != UNTAGGED] if task == "tokens" else labels
        weigh = _weigh_labels if task == "multi" else _weigh_classes
        weights = weigh(labels, classes).to(device)
    return Loss(task, weights, config.label_smoothing)


def _weigh_classes(labels: Tensor, classes: int) -> Tensor:
    counts = torch.bincount(labels, minlength=classes).float()
    return len(labels) / (classes * counts.clamp(min=1)) * (counts > 0)


def _weigh_labels(labels: Tensor, classes: int) -> Tensor:
    counts = labels.sum(0, dtype=torch.float32)
    return torch.where(counts > 0, (len(labels) - counts) / counts.clamp(min=1), torch.ones(classes))


def mix_targets(labels: np.ndarray, taught: np.ndarray, weight: float) -> np.ndarray:
    """Mix labels with a teacher's probabilities into soft targets (n, C); `weight` is the teacher's share.

    Cross-entropy is linear in its targets, so its loss is (1 - w) CE(labels) + w CE(teacher) (Hinton, Vinyals and Dean,
    2015, "Distilling the knowledge in a neural network", at temperature 1), for each label's sigmoid too.
    """
    known = np.eye(taught.shape[1])[labels] if labels.ndim == 1 else labels
    return ((1 - weight) * known + weight * taught).astype(np.float32)
