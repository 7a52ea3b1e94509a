"""What a model says about many texts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from core.data.table import Task
from core.models.trace import Batch, Intervene, Intervention, Output
from core.text.token_table import TokenTable, in_order, token_table
from core.text.tokenizer import Tokenizer


class Classifier(Protocol):
    """Anything that turns a batch into an Output."""

    def __call__(self, batch: Batch, *, intervene: Intervene = None) -> Output:
        """Logits and pooled vectors of a batch."""


class Parts(NamedTuple):
    """Logits (n, C) of the two models whose probabilities are mixed; see `core.evaluation.mix`."""

    network: np.ndarray
    tfidf: np.ndarray


@dataclass(frozen=True)
class Predictions:
    """One row per text, in the order of the texts; float32."""

    logits: np.ndarray
    """(n, C)."""
    probabilities: np.ndarray
    """(n, C): softmax of the logits over the temperature; of a multi-label task the sigmoid of each."""
    pooled: np.ndarray
    """(n, d): what the model's head read."""
    parts: Parts | None = None
    """Of a mixture, whose are the logits, what it was made of; None: nothing was mixed in."""

    def part(self, rows: slice) -> Predictions:
        """Some of the texts."""
        parts = None if self.parts is None else Parts(*(each[rows] for each in self.parts))
        return Predictions(self.logits[rows], self.probabilities[rows], self.pooled[rows], parts)

    def at(self, temperature: float, task: Task) -> Predictions:
        """The same with probabilities at a temperature."""
        found = probabilities(torch.from_numpy(self.logits), task, temperature)
        return dataclasses.replace(self, probabilities=found.numpy())


def predict_texts(
    model: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    task: Task = "single",
    batch_size: int = 128,
    device: torch.device | None = None,
    intervene: Intervene = None,
    temperature: float = 1.0,
) -> Predictions:
    """Classify texts, empty ones included, in batches of similar length; the model is left as it was found."""
    return predict_tokens(
        model,
        token_table(tokenizer, texts),
        task=task,
        batch_size=batch_size,
        device=device,
        intervene=intervene,
        temperature=temperature,
    )


def predict_tokens(
    model: Classifier,
    tokens: TokenTable,
    *,
    task: Task = "single",
    batch_size: int = 128,
    device: torch.device | None = None,
    intervene: Intervene = None,
    temperature: float = 1.0,
) -> Predictions:
    """As `predict_texts`, for texts that are token ids already."""
    target = device or device_of(model)
    # No text at all still asks the model once, so that the empty result has the right widths.
    order = np.argsort(-tokens.lengths, kind="stable") if len(tokens) else np.zeros(0, np.int64)
    parts = []
    with evaluating(model):
        for rows in in_order(order, batch_size) or [order]:
            padded = tokens.padded(rows) if len(rows) else tokens.nothing().whole()
            output = model(Batch.of(padded).to(target), intervene=_of_rows(intervene, rows))
            logits = output.logits.float()
            found = (logits, probabilities(logits, task, temperature), output.pooled.float())
            parts.append([each[: len(rows)].cpu().numpy() for each in found])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    said, chances, pooled = (np.concatenate(column)[place] for column in zip(*parts, strict=True))
    return Predictions(said, chances, pooled)


def _of_rows(intervene: Intervene, rows: np.ndarray) -> Intervene:
    if intervene is None or isinstance(intervene, Intervention):
        return intervene
    return [intervene[row] for row in rows]


def probabilities(logits: Tensor, task: Task, temperature: float = 1.0) -> Tensor:
    """(…, C) logits → (…, C): softmax over the classes, or the sigmoid of each label, of logits / temperature."""
    cooled = logits / temperature
    return cooled.softmax(-1) if task == "single" else cooled.sigmoid()


def device_of(model: Classifier) -> torch.device:
    """Where the model's weights are; the CPU for a plain function."""
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    first = next(iter(parameters), None)
    return torch.device("cpu") if first is None else first.device


@contextlib.contextmanager
def evaluating(model: Classifier) -> Iterator[None]:
    """Evaluation mode without gradients; each part of the model gets its own mode back, also after an error."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
