"""The base class of training stages (masked words, labels): batches, scheduled updates, checkpoints and history."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors
import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from core.atomic import convert_os_errors, write_parts
from core.exceptions import Cancelled, RunDamaged, SentiscopeError
from core.json_store import Count, Seconds, convert, parse_json
from core.models.builder import Model
from core.models.encoder import EncoderClassifier
from core.models.passages import PORTION
from core.text.token_table import TokenTable, split_batches
from core.training.config import TrainingConfig
from core.training.device import get_random_state, restore_random_state
from core.training.history import HistoryWriter, Row, truncate_history

Tensors = dict[str, Tensor]
POOL = 50  # batches per pool that is sorted by length: nearly as little padding as sorting all rows


@dataclass(frozen=True)
class Examples:
    """The tokenised texts of a split with their labels and training targets."""

    tokens: TokenTable  # n rows, perhaps followed by added texts, which have only `targets`
    labels: np.ndarray
    """(n,) int64 class numbers; multi-label: (n, C) float32 zeros and ones; tokens: (n, L) int64 tags or UNTAGGED."""
    targets: np.ndarray | None = None  # (all rows, C) float32: probabilities in place of the labels; None: the labels

    def get_targets(self, classes: int) -> np.ndarray:
        """Return the target probabilities (all rows, C) float32 of the training texts; by default their labels."""
        if self.targets is not None:
            return self.targets
        return np.eye(classes, dtype=np.float32)[self.labels] if self.labels.ndim == 1 else self.labels

    def append_texts(self, tokens: TokenTable, targets: np.ndarray, classes: int) -> Examples:
        """Append texts to the training examples, with target probabilities in one row per text."""
        tokens = self.tokens.append_table(tokens)
        return replace(
            self, tokens=tokens, targets=np.concatenate([self.get_targets(classes), targets]).astype(np.float32)
        )


def plan_batches(
    lengths: np.ndarray, *, batch_size: int, seed: int, epoch: int, batching: Literal["length", "fixed"] = "length"
) -> list[np.ndarray]:
    """Plan the batches of one epoch as arrays of row numbers; deterministic, and each row occurs once.

    fixed: rows in random order. length: the random order is cut into pools of 50 batches, each pool sorted by length
    and cut into batches, and the batches are put in random order.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    if batching == "length":
        pools = split_batches(order, POOL * batch_size)
        order = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools] or [order])
    batches = split_batches(order, batch_size)
    if batching == "length":
        batches = [batches[place] for place in random.permutation(len(batches))]
    return batches


CHECKPOINT_SECONDS = 15.0
LONG_SAVE, SAVES = 1.0, 20  # a save that takes longer than 1 second delays the next one by 20 times its duration
LOGGED_STEPS = 200  # about so many steps of a training are logged, evenly; before them also 1, 2, 4, 8, …


class Events:
    """Callbacks that a training run calls; in this base class they do nothing."""

    def is_stop_requested(self) -> bool:
        """Return whether training should save a checkpoint and stop; called before each update."""
        return False

    def on_row(self, row: Row) -> None:
        """Receive a new row of the training history (callback)."""

    def on_best(self, model: nn.Module) -> None:
        """Receive the model of a new best epoch, which just ended (callback)."""

    def on_keep(self, model: nn.Module, step: int) -> None:
        """Receive the model after one of the steps whose weights are to be kept (callback)."""

    def on_checkpoint(self, progress: Progress, steps: int) -> None:
        """Receive the progress at a saved checkpoint; `steps` is the planned total number of updates (callback)."""


class TrainingStage(ABC):
    """The base class of training stages: epochs with AdamW, bit-identical even if killed and resumed."""

    config: TrainingConfig
    history: Path
    checkpoint: Path
    device: torch.device
    events: Events
    writer: HistoryWriter
    module: nn.Module  # what this stage trains

    def _prepare_start(self, groups: Sequence[Mapping[str, Any]], lengths: np.ndarray, epochs: int) -> None:
        """Set up optimiser and step counts for AdamW parameter `groups` and text `lengths` (n,) in tokens."""
        self.parameters = [parameter for group in groups for parameter in group["params"]]
        self.optimizer = AdamW(groups)
        self.lengths = lengths
        self.epoch_steps = math.ceil(len(lengths) / self.config.batch_size)
        self.steps = self.epoch_steps * epochs
        self.progress = Progress()
        self.saving = 0.0

    @abstractmethod
    def _yield_losses(self, rows: np.ndarray) -> Iterator[Tensor]:
        """Yield the loss of each portion of a batch, as its part of the mean loss; portions are computed lazily."""

    @abstractmethod
    def _end_epoch(self, epoch: int) -> None:
        """Finish an epoch after its last batch: log it, and measure on validation if the stage does so."""

    @abstractmethod
    def _collect_state(self) -> dict[str, Tensors]:
        """Return the stage's tensors for a checkpoint, except random states and AdamW's moments."""

    @abstractmethod
    def _restore_state(self, groups: Mapping[str, Tensors]) -> None:
        """Restore the stage's tensors from a checkpoint, as `_collect_state` returned them."""

    def _collect_fields(self) -> Row:
        """Return fields, such as learned numbers, that are added to every row of the training history."""
        return {}

    def _start_or_resume(self) -> None:
        self.began = self.saved = time.monotonic()
        stored = load_checkpoint(self.checkpoint)
        if stored is None:
            torch.manual_seed(self.config.seed)
        else:
            self._restore_checkpoint(stored)
        truncate_history(self.history, self.progress.step or -1)

    def _restore_checkpoint(self, stored: Checkpoint) -> None:
        try:
            if stored.progress.step:
                self.optimizer.restore(stored.groups)
            self._restore_state(stored.groups)
            restore_random_state(stored.groups["random"], self.device)
        except (KeyError, RuntimeError) as error:
            raise RunDamaged(
                f"{self.checkpoint}: does not fit this run ({error}); delete it to train from the beginning"
            ) from error
        self.progress = stored.progress

    def _run_epoch(self) -> None:
        config = self.config
        epoch, done = divmod(self.progress.step, self.epoch_steps)
        batches = plan_batches(
            self.lengths, batch_size=config.batch_size, seed=config.seed, epoch=epoch, batching=config.batching
        )
        self.module.train()
        for rows in batches[done:]:
            if self.events.is_stop_requested():
                self._save_checkpoint()
                raise Cancelled("cancelled")
            if time.monotonic() - self.saved > CHECKPOINT_SECONDS + SAVES * self.saving:
                self._save_checkpoint()
            self._update_weights(rows, epoch)
        self._end_epoch(epoch)
        self._save_checkpoint()

    def _update_weights(self, rows: np.ndarray, epoch: int) -> None:
        lr = self._get_lr()
        self.optimizer.zero_grad()
        loss = 0.0
        for part in self._yield_losses(rows):
            part.backward()
            loss += part.item()
        norm = nn.utils.clip_grad_norm_(self.parameters, self.config.clip or math.inf)
        if not (math.isfinite(loss) and math.isfinite(norm.item())):
            raise SentiscopeError(
                f"the loss is no longer finite at step {self.progress.step + 1} (epoch {epoch + 1}): "
                "try a smaller training.lr, training.clip=1, or training.precision=float32"
            )
        self.optimizer.step(lr)
        self.progress.step += 1
        self.progress.loss_sum += loss * len(rows)
        step, distance = self.progress.step, max(1, self.steps // LOGGED_STEPS)
        if step % distance == 0 or (step < distance and step.bit_count() == 1):
            self._log_row({"kind": "step", "loss": loss, "lr": lr, "grad_norm": norm.item()}, epoch)

    def _split_batch(self, rows: np.ndarray) -> list[np.ndarray]:
        needed = math.ceil(self.lengths[rows].sum() / PORTION) if self.config.passages else 1
        return np.array_split(rows, min(max(needed, self.config.portions), len(rows)))

    def _pop_mean_loss(self) -> float:
        mean, self.progress.loss_sum = self.progress.loss_sum / len(self.lengths), 0.0
        return mean

    def _get_lr(self) -> float:
        config = self.config
        return config.lr * compute_lr_factor(
            self.progress.step, steps=self.steps, warmup=config.warmup, schedule=config.schedule
        )

    def _count_seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self.began

    def _log_row(self, row: Row, epoch: int = 0) -> None:
        place = {"kind": row["kind"], "step": self.progress.step, "epoch": epoch}
        row = {**place, "seconds": round(self._count_seconds(), 3), **row, **self._collect_fields()}
        self.writer.write(row)
        self.events.on_row(row)

    def _save_checkpoint(self) -> None:
        self.progress.seconds, self.began = self._count_seconds(), time.monotonic()
        begun = time.monotonic()
        groups = {**self._collect_state(), "random": get_random_state(self.device), **self.optimizer.moments}
        save_checkpoint(self.checkpoint, Checkpoint(self.progress, groups))
        self.saved = time.monotonic()
        self.saving = self.saved - begun if self.saved - begun > LONG_SAVE else 0.0
        self.events.on_checkpoint(self.progress, self.steps)


def compute_lr_factor(
    step: int, *, steps: int, warmup: float, schedule: Literal["cosine", "linear", "constant"]
) -> float:
    """Return the learning-rate factor of an update: warm-up, then a cosine, linear or constant schedule.

    With w = round(warmup * steps) warm-up updates it is (step + 1) / (w + 1) for step < w. After them, with the
    progress t = (step - w) / (steps - w): cosine (1 + cos(pi t)) / 2, linear 1 - t, constant 1. Update w has factor 1;
    cosine and linear reach 0 at step = steps, after the last update.
    """
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    progress = min(1.0, (step - rising) / max(1, steps - rising))
    if schedule == "cosine":
        return (1 + math.cos(math.pi * progress)) / 2
    return 1 - progress if schedule == "linear" else 1.0


FILE = "state.safetensors"
KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass
class Progress:
    """The progress of a training run as numbers for a checkpoint: steps, loss, best epoch and seconds."""

    step: Count = 0
    loss_sum: float = 0.0  # sum over this epoch's batches so far of loss times rows
    best: float | None = None
    best_epoch: int = -1
    stale: Count = 0
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """The complete state of a training run, from which it can be resumed exactly."""

    progress: Progress
    groups: dict[str, Tensors]
    """Named sets of tensors: model, best (weights of the best epoch), random, and AdamW's step, exp_avg, exp_avg_sq."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Save a training checkpoint in `folder`; it replaces the previous one once it is complete on disk."""
    named = {f"{group}/{name}": each for group, tensors in checkpoint.groups.items() for name, each in tensors.items()}
    with convert_os_errors(folder):
        folder.mkdir(exist_ok=True)
    write_parts(
        folder / FILE, _serialize_tensors(named, {"progress": json.dumps(dataclasses.asdict(checkpoint.progress))})
    )


def _serialize_tensors(tensors: Tensors, metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a safetensors file tensor by tensor, which needs less memory than the library's writer."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, each in sorted(tensors.items(), key=_get_sort_key):
        begin, end = end, end + each.nbytes
        header[name] = {"dtype": KINDS[each.dtype], "shape": list(each.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for _, each in sorted(tensors.items(), key=_get_sort_key):
        yield each.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data


def _get_sort_key(named: tuple[str, Tensor]) -> tuple[int, str]:
    """Return a sort key that stores tensors with wider numbers first, so that every number is aligned."""
    return -named[1].element_size(), named[0]


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Load the training checkpoint in a folder; return None if there is none; raise RunDamaged if it is unreadable."""
    path = folder / FILE
    if not path.exists():
        return None
    groups: dict[str, Tensors] = {}
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            progress = convert(parse_json((file.metadata() or {})["progress"]), Progress)
            for key in file.keys():
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise RunDamaged(
            f"{path}: cannot be read ({error}); delete the folder '{folder.name}' to train from the beginning"
        ) from error
    return Checkpoint(progress, groups)


MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of a parameter: updates, running means of gradient and square
BETAS, EPSILON = (0.9, 0.999), 1e-8


class AdamW:
    """An AdamW optimiser whose state is stored by parameter name."""

    def __init__(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Create an AdamW optimiser from parameter groups: `names`, `params`, `weight_decay` and `rate`."""
        self.groups = groups
        self.moments: dict[str, dict[str, Tensor]] = {part: {} for part in MOMENTS}
        """Part → name → tensor, for the parameters that had a gradient so far."""

    def restore(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Load the AdamW moments of a checkpoint; KeyError if a parameter is missing."""
        for group in self.groups:
            for name, parameter in zip(group["names"], group["params"], strict=True):
                for part in MOMENTS:
                    self.moments[part][name] = moments[part][name].to(parameter.device)

    def zero_grad(self) -> None:
        """Set the gradients of all optimised parameters to None."""
        for group in self.groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, lr: float) -> None:
        """Update the parameters with AdamW at learning rate `lr`; those without a gradient stay unchanged."""
        for group in self.groups:
            pairs = zip(group["names"], group["params"], strict=True)
            learning = {name: parameter for name, parameter in pairs if parameter.grad is not None}
            for name in learning.keys() - self.moments["step"].keys():
                self.moments["step"][name] = torch.zeros((), dtype=torch.float32, device=learning[name].device)
                self.moments["exp_avg"][name] = torch.zeros_like(learning[name])
                self.moments["exp_avg_sq"][name] = torch.zeros_like(learning[name])
            steps, means, squares = ([self.moments[part][name] for name in learning] for part in MOMENTS)
            gradients = [parameter.grad for parameter in learning.values()]
            numbers: dict[str, Any] = {"beta1": BETAS[0], "beta2": BETAS[1], "eps": EPSILON, "lr": lr * group["rate"]}
            numbers |= {"weight_decay": group["weight_decay"], "amsgrad": False, "maximize": False}
            with torch.no_grad():
                adamw(list(learning.values()), gradients, means, squares, [], steps, fused=True, **numbers)


def freeze_layers(model: Model, config: TrainingConfig) -> None:
    """Freeze a model's parameters below layer depth `config.frozen`, and unfreeze all others."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(_get_depth(model, name) >= config.frozen)


def group_parameters(model: Model, config: TrainingConfig) -> list[dict[str, Any]]:
    """Split a model's trainable parameters into groups for AdamW, by weight decay and learning-rate factor.

    `rate` is the factor on the learning rate: `lambda_lr` for the parameters of lambda, times `layer_decay` to the
    power of the distance from the head (Howard and Ruder 2018; Clark et al. 2020).
    """
    lambdas = model.name_lambda_parameters()
    groups: dict[tuple[str, float], list[str]] = {}
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    for name, parameter in named.items():
        spared = config.decay == "matrices" and parameter.ndim < 2
        role = "lambda" if name in lambdas else "vectors" if spared else "weights"
        below = _get_depth(model, "head") - _get_depth(model, name)
        factor = config.lambda_lr if role == "lambda" else 1.0
        groups.setdefault((role, factor * config.layer_decay**below), []).append(name)
    order = {role: place for place, role in enumerate(("weights", "vectors", "lambda"))}
    return [
        {
            "role": role,
            "names": names,
            "params": [named[name] for name in names],
            "weight_decay": config.weight_decay if role == "weights" else 0.0,
            "rate": rate,
        }
        for (role, rate), names in sorted(groups.items(), key=lambda each: order[each[0][0]])
    ]


def _get_depth(model: Model, name: str) -> int:
    return model.find_depth(name) if isinstance(model, EncoderClassifier) else 0
