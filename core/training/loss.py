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
"""Tag of padding and of a word's pieces after the first, which are excluded from training and evaluation."""


@dataclass(frozen=True)
class Loss:
    """The training loss: cross-entropy of the softmax, or of each label's sigmoid in a multi-label task.

    The mean is over rows; in a multi-label task over rows and labels; for tokens over those with a tag.
    """

    task: Task
    weights: Tensor | None = None
    """(C,): the weight of each class; in a multi-label task of texts with the label relative to texts without it."""
    smoothing: float = 0.0
    """Share of the target that is spread evenly over the C classes, or over both values of each label."""

    def __call__(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of logits (B, C) for class numbers (B,) or target probabilities (B, C).

        In a multi-label task targets are the probabilities (B, C) of the labels. A class number and its one-hot vector
        give the same loss. For tokens, logits are (B, L, C) and targets (B, L) tag numbers or `UNTAGGED`.
        """
        if self.task == "tokens":
            logits, targets = logits.flatten(0, 1), targets[:, : logits.shape[1]].flatten()
            return F.cross_entropy(
                logits, targets, self.weights, label_smoothing=self.smoothing, ignore_index=UNTAGGED, reduction="sum"
            ) / self.compute_divisor(targets)
        if self.task == "multi":
            targets = targets.to(logits.dtype) * (1 - self.smoothing) + self.smoothing / 2
            return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=self.weights)
        weights = None if self.weights is None else self.weights.to(logits.dtype)
        if targets.ndim == 1:
            return F.cross_entropy(logits, targets, weights, label_smoothing=self.smoothing)
        targets = targets.to(logits.dtype)
        # torch divides by the number of rows for probabilities, but by the rows' total weight for class numbers.
        loss = F.cross_entropy(logits, targets, weights, label_smoothing=self.smoothing, reduction="sum")
        return loss / self.compute_divisor(targets)

    def compute_divisor(self, targets: Tensor) -> Tensor:
        """Return what a summed loss is divided by to get the mean: number of texts or tags, or their class weight."""
        if self.task == "tokens":
            tagged = targets[targets != UNTAGGED]
            weights = torch.ones_like(tagged) if self.weights is None else self.weights.to(tagged.device)[tagged]
            return weights.sum().clamp(min=1e-9)  # above 0, so that it can divide
        if self.task == "multi" or (self.weights is None and targets.ndim == 1):
            return torch.tensor(len(targets))
        if self.weights is None:
            return targets.sum()
        weights = self.weights.to(targets.device)
        return weights[targets].sum() if targets.ndim == 1 else (targets @ weights.to(targets.dtype)).sum()


def build_loss(config: TrainingConfig, labels: Tensor, *, classes: int, task: Task, device: torch.device) -> Loss:
    """Build the training loss from settings, with class weights computed from the training labels.

    `class_weights=balanced` weights class c by n / (C n_c), or 0 without rows. In a multi-label task texts with label c
    have weight (n - n_c) / n_c, so that both values of a label have equal weight, or 1 without rows.
    """
    if config.class_weights == "none":
        return Loss(task, None, config.label_smoothing)
    if task == "multi":
        counts = labels.sum(0, dtype=torch.float32)
        weights = torch.where(counts > 0, (len(labels) - counts) / counts.clamp(min=1), torch.ones(classes))
    else:
        labels = labels[labels != UNTAGGED]
        counts = torch.bincount(labels, minlength=classes).float()
        weights = len(labels) / (classes * counts.clamp(min=1)) * (counts > 0)
    return Loss(task, weights.to(device), config.label_smoothing)


def mix_targets(labels: np.ndarray, taught: np.ndarray, weight: float) -> np.ndarray:
    """Mix labels with a teacher's probabilities into soft targets (n, C); `weight` is the teacher's share.

    Cross-entropy is linear in its targets, so its loss is (1 - w) CE(labels) + w CE(teacher) (Hinton, Vinyals and Dean,
    2015, "Distilling the knowledge in a neural network", at temperature 1), for each label's sigmoid too.
    """
    known = np.eye(taught.shape[1])[labels] if labels.ndim == 1 else labels
    return ((1 - weight) * known + weight * taught).astype(np.float32)
