"""The training loop with labels: AdamW, learning-rate schedule, early stopping, checkpoints and a history."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from core.data.dataset import Task
from core.exceptions import ConfigError
from core.metrics import METRICS
from core.models.trace import Batch
from core.text.token_table import split_batches
from core.training.config import TrainingConfig, resolve_metric
from core.training.device import check_precision, force_determinism
from core.training.history import HistoryWriter, Row
from core.training.mlm import forget_words
from core.training.training_stage import Events, Examples, TrainingStage, freeze_layers, group_parameters

PROBE = 64  # validation texts over which an input-dependent lambda is averaged

Score = Callable[[np.ndarray, Tensor], Mapping[str, Any]]  # (labels, logits (n, C) float64) → metrics


@dataclass(frozen=True)
class Outcome:
    """The result of a training: best epoch and its metric, steps and seconds."""

    best_epoch: int
    best: float | None
    steps: int
    seconds: float


@dataclass
class Training(TrainingStage):
    """The training of a model; `run()` starts or resumes it, and leaves `model` with the weights of its best epoch."""

    model: Any  # a fresh classifier on `device`: model(Batch) → Output, `get_lambdas()`, `name_lambda_parameters()`
    training: Examples
    validation: Examples
    config: TrainingConfig
    classes: int
    max_length: int  # tokens: the width of every batch with `batching=fixed`
    score: Score
    history: Path
    checkpoint: Path
    device: torch.device
    events: Events
    task: Task = "single"
    ordered: bool = False  # whether there are three or more classes on an ordinal scale
    borrowed: bool = False  # frozen weights are in a backbone's files, so checkpoints need not store them

    def __post_init__(self) -> None:
        config, self.module = self.config, self.model
        check_precision(config.precision, self.device)
        labels, targets = self.training.labels, self.training.targets
        self.targets = torch.from_numpy((labels if targets is None else targets).copy())
        self.metric = resolve_metric(config.metric, self.task, ordered=self.ordered)
        known = torch.from_numpy(labels.copy())
        self.loss = build_loss(config, known, classes=self.classes, task=self.task, device=self.device)
        freeze_layers(self.model, config)
        self._prepare_start(group_parameters(self.model, config), self.training.tokens.lengths, config.epochs)
        self.probe = self._make_batch(self.validation, np.arange(min(PROBE, len(self.validation.labels))))
        self.kept = set(np.linspace(self.steps, 0, config.keep).round().astype(int).tolist())
        self.best_weights: dict[str, Tensor] = {}

    def run(self) -> Outcome:
        """Train the model to the last epoch or early stopping; return the best epoch, steps and seconds.

        Raises Cancelled at a checkpoint, ConfigError: undefined metric, SentiscopeError: infinite loss, StorageError.
        """
        with force_determinism(self.device):
            self._start_or_resume()
            with HistoryWriter(self.history) as self.writer:
                if self.progress.step == 0:
                    self._log_row({"kind": "step", "loss": None, "lr": self._get_lr(), "grad_norm": None})
                    self._keep_weights()
                while not self._is_finished():
                    self._run_epoch()
        self._load_weights(self.best_weights)
        self.model.eval()
        return Outcome(self.progress.best_epoch, self.progress.best, self.progress.step, self._count_seconds())

    def _update_weights(self, rows: np.ndarray, epoch: int) -> None:
        super()._update_weights(rows, epoch)
        self._keep_weights()

    def _keep_weights(self) -> None:
        if self.progress.step in self.kept:
            self.events.on_keep(self.model, self.progress.step)

    def _collect_state(self) -> dict[str, dict[str, Tensor]]:
        return {"model": self._get_trained_weights(), "best": self.best_weights}

    def _get_trained_weights(self) -> dict[str, Tensor]:
        known: dict[str, Tensor] = self.model.state_dict()
        if not self.borrowed:
            return known
        still = {name for name, each in self.model.named_parameters() if not each.requires_grad}
        return {name: tensor for name, tensor in known.items() if name not in still}

    def _load_weights(self, weights: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict({**self.model.state_dict(), **weights} if self.borrowed else weights)

    def _restore_state(self, groups: Mapping[str, dict[str, Tensor]]) -> None:
        self._load_weights(groups["model"])
        self.best_weights = groups.get("best", {})

    def _collect_fields(self) -> Row:
        return read_learned_numbers(self.model, self.probe)

    def _is_finished(self) -> bool:
        at_end = self.progress.step % self.epoch_steps == 0
        return self.progress.step >= self.steps or (at_end and 0 < self.config.patience <= self.progress.stale)

    def _yield_losses(self, rows: np.ndarray) -> Iterator[Tensor]:
        weight, places = self._sum_weights(rows), self._count_tokens(rows)
        for part in self._split_batch(rows):
            yield self._compute_loss(part, self._sum_weights(part) / weight, self._count_tokens(part) / max(1, places))

    def _sum_weights(self, rows: np.ndarray) -> float:
        return float(self.loss.compute_divisor(self.targets[rows]))

    def _count_tokens(self, rows: np.ndarray) -> int:
        """Count the tokens of texts, to weight the loss penalty on similar attention maps; 0 without this penalty."""
        return int(self.lengths[rows].sum()) + int(self.model.first) * len(rows) if self.config.diversity else 0

    def _compute_loss(self, rows: np.ndarray, weight: float, share: float) -> Tensor:
        """Compute the loss of a part of a batch, weighted by the part's share of the batch."""
        width = self.max_length if self.config.batching == "fixed" else 0
        read = Batch.from_arrays(self.training.tokens.pad_rows(rows, width))
        batch = forget_words(read, self.config.word_dropout, self.model.mark).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            output = self.model(batch, similarity=True) if self.config.diversity else self.model(batch)
        loss = self.loss(output.logits.float(), self.targets[rows].to(self.device)) * weight
        return loss + self.config.diversity * output.similarity * share if self.config.diversity else loss

    def _end_epoch(self, epoch: int) -> None:
        progress, name = self.progress, self.metric
        logits, labels = self._predict_validation(), self.validation.labels
        loss = Loss(self.task)(logits, torch.from_numpy(labels.copy())).item()
        metrics = {**self.score(labels, logits), "loss": loss}
        metrics = {key: float(value) for key, value in metrics.items() if isinstance(value, (int, float))}
        value = metrics.get(name)
        if value is None or math.isnan(value):
            raise ConfigError(
                f"training.metric={name}: not defined on this validation split (does it hold every class?); "
                f"choose {resolve_metric('auto', self.task)} or loss"
            )
        lower = METRICS[name].better == "lower"
        better = progress.best is None or (value < progress.best if lower else value > progress.best)
        # At first a multi-label model may predict no label, and a tagger no span: patience starts with the first hit.
        silent = self.task != "single" and not lower and value == 0
        progress.stale = 0 if better or silent else progress.stale + 1
        if better:
            progress.best, progress.best_epoch = value, epoch
            self.best_weights = {
                key: tensor.detach().cpu().clone() for key, tensor in self._get_trained_weights().items()
            }
            self.events.on_best(self.model)
        row = {"kind": "epoch", "train_loss": self._pop_mean_loss(), "validation": metrics, "best": better}
        self._log_row({**row, **read_gates(self.model, self.probe)}, epoch)

    def _predict_validation(self) -> Tensor:
        """Predict the logits of the validation split in row order: (n, C), or (n, L, C) for tokens, float64."""
        self.model.eval()
        shape = self.validation.labels.shape if self.task == "tokens" else self.validation.labels.shape[:1]
        logits = torch.zeros(*shape, self.classes, dtype=torch.float64)
        by_length = np.argsort(self.validation.tokens.lengths, kind="stable")
        with torch.no_grad():
            for rows in split_batches(by_length, self.config.batch_size):
                found = self.model(self._make_batch(self.validation, rows)).logits.cpu().double()
                if self.task == "tokens":
                    logits[rows, : found.shape[1]] = found
                else:
                    logits[rows] = found
        return logits

    def _make_batch(self, examples: Examples, rows: np.ndarray) -> Batch:
        return Batch.from_arrays(examples.tokens.pad_rows(rows)).to(self.device)


AT_ONCE = 8  # texts traced together, as a trace holds every map of every layer


def read_learned_numbers(model: Any, probe: Batch) -> dict[str, Any]:
    """Return the history's learned numbers: map weights λ, and `scalars` by name (per layer, or one for the model)."""
    scalars = model.get_scalars()
    return {**read_lambdas(model, probe), **({"scalars": scalars} if scalars else {})}


def read_gates(model: Any, probe: Batch) -> dict[str, Any]:
    """Return each layer's mean and standard deviation of attention gates on probe texts; empty without gates."""
    if "gates" not in model.provides:
        return {}
    training = model.training
    model.eval()
    found: list[list[Tensor]] = []
    with torch.no_grad():
        for start in range(0, len(probe.ids), AT_ONCE):
            trace = model(probe.select_texts(slice(start, start + AT_ONCE)), trace=True).trace
            found.append([layer.gates[trace.keep] for layer in trace.layers])
    model.train(training)
    layers = [torch.cat(values) for values in zip(*found, strict=True)]
    return {"gates": [[values.mean().item(), values.std(correction=0).item()] for values in layers]}


def read_lambdas(model: Any, probe: Batch) -> dict[str, Any]:
    """Return a model's weights λ per layer and attention map, averaged over probe texts if they depend on the input.

    `lambda`: per layer, per added component, a number; if it differs between heads also `lambda_heads`: per layer,
    component and head, `lambda` being the mean. Empty for a model without lambda.
    """
    with torch.no_grad():
        layers = model.get_lambdas()
        if any(layer is None for layer in layers):
            layers = _average_magnitudes(model, probe)
    if not layers:
        return {}
    row: dict[str, Any] = {"lambda": [layer.mean(-1).tolist() for layer in layers]}
    if any(layer.shape[-1] > 1 for layer in layers):
        row["lambda_heads"] = [layer.tolist() for layer in layers]
    return row


def _average_magnitudes(model: Any, probe: Batch) -> list[Tensor]:
    """Average the magnitudes of attention-map coefficients over the tokens of probe texts, per layer, map and head."""
    training = model.training
    model.eval()
    trace = model(probe, trace=True).trace
    model.train(training)
    weight = trace.keep / trace.keep.sum().clamp(min=1)
    return [torch.einsum("bnhl,bl->nh", layer.coefficients[:, 1:, :, :, 0].abs(), weight) for layer in trace.layers]


UNTAGGED = -100  # tag of padding and of a word's further pieces, which do not count in training and evaluation


@dataclass(frozen=True)
class Loss:
    """The training loss: cross-entropy of the softmax, or of each label's sigmoid in a multi-label task.

    The mean is over rows; in a multi-label task over rows and labels; for tokens over those with a tag.
    """

    task: Task
    weights: Tensor | None = None
    """(C,): the weight of each class; in a multi-label task of texts with the label relative to texts without it."""
    smoothing: float = 0.0  # share of the target spread over the C classes, or over both values of each label

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
