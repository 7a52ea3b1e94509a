"""Settings of the training loop. Imports nothing heavy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.data.table import Task
from core.exceptions import ConfigError

LARGEST = {
    "epochs": 1_000_000,
    "batch_size": 1_000_000,
    "patience": 1_000_000,
    "threads": 1024,
    "seed": 2**63 - 1,
    "weight_decay": 1000,
    "clip": 1e6,
    "diversity": 1000,
}
"""Far above what helps; every random generator takes such a seed, and OpenMP survives so many threads."""

LOWER_IS_BETTER = ("hamming_loss", "loss")
NEAREST = {
    "single": {"f1_micro": "accuracy", "f1_samples": "accuracy", "subset_accuracy": "accuracy", "hamming_loss": "loss"},
    "multi": {"accuracy": "subset_accuracy", "roc_auc": "roc_auc_macro"},
}
"""By task the validation metrics that it does not have, each with the one that comes nearest."""


def metric_for(metric: str, task: Task) -> str:
    """The validation metric of a training, `auto` resolved.

    Raises:
        ConfigError: the task has no such metric; the message names the nearest.
    """
    if metric == "auto":
        return "accuracy" if task == "single" else "f1_macro"
    if nearest := NEAREST[task].get(metric):
        what = "one label" if task == "single" else "several labels"
        raise ConfigError(f"training.metric={metric}: not defined for {what} a text; the nearest is {nearest}")
    return metric


@dataclass(frozen=True)
class TrainingConfig:
    """AdamW with lambda in a group of its own (no decay), a warm-up, early stopping on a validation metric."""

    epochs: int = 10
    batch_size: int = 64
    lr: float = 5e-4
    lambda_lr: float = 1.0
    """Factor on the learning rate of what makes lambda: its vectors and, where it is learned, beta."""
    weight_decay: float = 0.1
    decay: Literal["all", "matrices"] = "all"
    """What is decayed: all = every parameter but lambda · matrices = no biases, norms, gates and factors either."""
    diversity: float = 0.0
    """Weight of a penalty on component maps that look alike (their mean cosine); 0: none. Needs every map: slow."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """What follows the warm-up; cosine and linear end at 0."""
    warmup: float = 0.05
    """Share of all steps in which the learning rate rises from 0."""
    label_smoothing: float = 0.0
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: each class weighs n / (classes * its rows); of several labels a text with one (n - rows) / rows."""
    clip: float = 1.0
    """Largest gradient norm; 0: no clipping."""
    metric: Literal[
        "auto",
        "accuracy",
        "f1_macro",
        "f1_weighted",
        "f1_micro",
        "f1_samples",
        "roc_auc",
        "roc_auc_macro",
        "average_precision",
        "subset_accuracy",
        "hamming_loss",
        "loss",
    ] = "auto"
    """Validation metric that chooses the best epoch and stops early; auto: accuracy, of several labels f1_macro."""
    patience: int = 3
    """Epochs without a better validation metric before stopping; 0: never stop early."""
    batching: Literal["length", "fixed"] = "length"
    """length: texts of similar length together, padded to the longest of them · fixed: all padded to max_length."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 is refused on a CPU that would be slower with it."""
    device: str = "auto"
    """auto (CUDA, then MPS, then CPU), cpu, cuda, cuda:1, mps."""
    threads: int = 0
    """CPU threads; 0: the cores of this machine divided by the number of runs that may train at once."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("batch_size", 1), ("patience", 0), ("threads", 0), ("seed", 0)):
            if getattr(self, name) < low:
                raise ConfigError(f"training.{name}={getattr(self, name)!s:.40}: at least {low}")
        for name, most in LARGEST.items():
            if getattr(self, name) > most:
                raise ConfigError(f"training.{name}={getattr(self, name)!s:.40}: at most {most}")
        if not re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]{1,3})?", self.device):
            raise ConfigError(f"training.device={self.device!r:.60}: auto, cpu, cuda, cuda:1 or mps")
        self._check_rates()

    def _check_rates(self) -> None:
        for name, highest in (("lr", 1), ("lambda_lr", 1000)):
            if not 0 < getattr(self, name) <= highest:
                raise ConfigError(f"training.{name}={getattr(self, name)}: above 0, at most {highest}")
        for name, what in (("warmup", "a share of the steps, "), ("label_smoothing", "")):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"training.{name}={getattr(self, name)}: {what}0 to below 1")
        if not all(0 <= each for each in (self.weight_decay, self.clip, self.diversity)):  # refuses NaN as well
            raise ConfigError("training.weight_decay, training.clip and training.diversity must not be negative")
