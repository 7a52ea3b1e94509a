"""Masked words: before it learns labels, an encoder learns to guess words of its training texts from those around.

The objective of BERT (Devlin et al. 2019, section 3.1) without its second task: of 15 % of the tokens, 80 % are hidden,
10 % replaced by a random one and 10 % left, and all of them are to be guessed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.exceptions import Cancelled, RunDamaged, SentiscopeError
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch
from core.text.ids import FIRST, UNKNOWN
from core.text.token_table import TokenTable
from core.training.adamw import AdamW
from core.training.batches import plan
from core.training.checkpoint import Checkpoint, Progress, load_checkpoint, save_checkpoint
from core.training.config import TrainingConfig
from core.training.device import check_precision, random_state, repeatable, restore_random_state
from core.training.history import HistoryWriter, truncate
from core.training.loop import CHECKPOINT_SECONDS, LOGGED_STEPS, Events
from core.training.parameters import parameter_groups
from core.training.schedule import rate

SHARE = 0.15
"""Of the tokens that are known, how many are to be guessed."""
HIDDEN, RANDOM = 0.8, 0.1
"""Of those, how many the model reads as unknown, and how many as another one; it reads the rest as they are."""
NEUTRAL = 1 / 3


class Masked(NamedTuple):
    """A batch with some of its words hidden."""

    batch: Batch
    places: Tensor
    """(B, L) bool: what is to be guessed."""


def mask(batch: Batch, vocabulary: int) -> Masked:
    """Hide words of a batch on the CPU, drawn from torch's global generator; what else is known of them goes too."""
    ids = batch.ids
    places = (torch.rand(ids.shape) < SHARE) & batch.keep & (ids >= FIRST)
    fate = torch.rand(ids.shape)
    hidden, swapped = places & (fate < HIDDEN), places & (fate >= 1 - RANDOM)
    drawn = torch.randint(FIRST, max(vocabulary, FIRST + 1), ids.shape)
    read = torch.where(hidden, UNKNOWN, torch.where(swapped, drawn, ids))
    polarity, grams = batch.polarity, batch.grams
    if polarity is not None:
        polarity = torch.where((hidden | swapped)[..., None], NEUTRAL, polarity)
    if grams is not None:  # letters would give the word away
        grams = grams.masked_fill((hidden | swapped)[..., None], 0)
    return Masked(batch._replace(ids=read, polarity=polarity, grams=grams), places)


class Guess(nn.Module):
    """From a token's vector to a score of every word: one hidden layer, then the embedding itself as the last map.

    Args:
        width: d.
        vocabulary: V.
    """

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, vectors: Tensor, words: Tensor) -> Tensor:
        """(n, d) vectors and the (V, d) embedding → (n, V)."""
        return F.linear(self.norm(F.gelu(self.hidden(vectors))), words, self.bias)


@dataclass
class Masking:
    """The stage of masked words: `run()` leaves `model` with what it learned; from a checkpoint the same to the bit."""

    model: EncoderClassifier
    tokens: TokenTable
    """The training texts."""
    config: TrainingConfig
    """`masked_epochs`, and what both stages share: batches, rate, decay, clipping, precision, seed."""
    history: Path
    checkpoint: Path
    device: torch.device
    events: Events

    def __post_init__(self) -> None:
        check_precision(self.config.precision, self.device)
        vocabulary, width = self.model.embedding.weight.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            self.guess = Guess(width, vocabulary).to(self.device)
        self.both = nn.ModuleDict({"model": self.model, "guess": self.guess})
        self.model.head.requires_grad_(False)  # it has no part in this
        config = self.config
        guess = {f"guess.{name}": parameter for name, parameter in self.guess.named_parameters()}
        own = {"names": list(guess), "params": list(guess.values()), "weight_decay": config.weight_decay, "rate": 1.0}
        groups = [*parameter_groups(self.model, config), own]
        self.parameters = [parameter for group in groups for parameter in group["params"]]
        self.optimizer = AdamW(groups)
        self.epoch_steps = math.ceil(len(self.tokens) / config.batch_size)
        self.steps = self.epoch_steps * config.masked_epochs
        self.progress = Progress()

    def run(self) -> float:
        """Train to the end; the seconds that it took.

        Raises:
            Cancelled: `events.stopped()` said so; a checkpoint is saved.
            SentiscopeError: the loss is no longer finite.
            StorageError: history or checkpoint cannot be written.
        """
        with repeatable(self.device):
            self._start()
            with HistoryWriter(self.history) as self.writer:
                while self.progress.step < self.steps:
                    self._run_epoch()
        self.model.head.requires_grad_(True)
        self.model.eval()
        return self._seconds()

    def _start(self) -> None:
        self.began = self.saved = time.monotonic()
        stored = load_checkpoint(self.checkpoint)
        if stored is None:
            torch.manual_seed(self.config.seed)
        else:
            try:
                self.optimizer.restore(stored.groups)
                self.both.load_state_dict(stored.groups["both"])
                restore_random_state(stored.groups["random"], self.device)
            except (KeyError, RuntimeError) as error:
                raise RunDamaged(
                    f"{self.checkpoint}: does not fit this run ({error}); delete it to train from the beginning"
                ) from error
            self.progress = stored.progress
        truncate(self.history, self.progress.step or -1)

    def _run_epoch(self) -> None:
        config = self.config
        epoch, done = divmod(self.progress.step, self.epoch_steps)
        lengths = self.tokens.lengths
        batches = plan(lengths, batch_size=config.batch_size, seed=config.seed, epoch=epoch)
        self.model.train()
        for rows in batches[done:]:
            if self.events.stopped():
                self._save()
                raise Cancelled("cancelled")
            if time.monotonic() - self.saved > CHECKPOINT_SECONDS:
                self._save()
            self._update(rows, epoch)
        mean, self.progress.loss_sum = self.progress.loss_sum / len(self.tokens), 0.0
        self._log("epoch", epoch, train_loss=mean)
        self._save()

    def _update(self, rows: np.ndarray, epoch: int) -> None:
        config, progress = self.config, self.progress
        lr = config.lr * rate(progress.step, steps=self.steps, warmup=config.warmup, schedule=config.schedule)
        loss = self._loss(rows)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.parameters, config.clip or math.inf)
        if not (math.isfinite(loss.item()) and math.isfinite(norm.item())):
            raise SentiscopeError(
                f"the loss of the masked words is no longer finite at step {progress.step + 1}: "
                "try a smaller training.lr, training.clip=1, or training.precision=float32"
            )
        self.optimizer.step(lr)
        progress.step += 1
        progress.loss_sum += loss.item() * len(rows)
        if progress.step % max(1, self.steps // LOGGED_STEPS) == 0:
            self._log("step", epoch, loss=loss.item(), lr=lr, grad_norm=norm.item())

    def _loss(self, rows: np.ndarray) -> Tensor:
        """Mean cross-entropy over the places to be guessed; 0 where a batch has none."""
        whole = Batch.of(self.tokens.padded(rows))
        masked = mask(whole, len(self.guess.bias))
        places = masked.places.to(self.device)
        words = whole.ids[masked.places].to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            vectors = self.model.vectors(masked.batch.to(self.device))[places]
            scores = self.guess(vectors, self.model.embedding.weight)
        return F.cross_entropy(scores.float(), words, reduction="sum") / max(1, len(words))

    def _seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self.began

    def _log(self, kind: str, epoch: int, **found: float) -> None:
        row = {"kind": kind, "step": self.progress.step, "epoch": epoch, "seconds": round(self._seconds(), 3), **found}
        self.writer.write(row)
        self.events.row(row)

    def _save(self) -> None:
        self.progress.seconds, self.began = self._seconds(), time.monotonic()
        groups = {"both": self.both.state_dict(), "random": random_state(self.device), **self.optimizer.moments}
        save_checkpoint(self.checkpoint, Checkpoint(self.progress, groups))
        self.saved = time.monotonic()
        self.events.saved(self.progress, self.steps)
