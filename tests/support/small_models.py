"""Small models with deterministic, non-trivial weights."""

import dataclasses

import torch

from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.trace import Batch
from core.text.token_table import TokenTable

VOCABULARY, CLASSES, LONGEST = 40, 3, 15


def small(config: ModelConfig) -> ModelConfig:
    """The same choices with a width of about 16, two layers, and a window of two on each side."""
    part, head = config.attention, config.head
    return dataclasses.replace(
        config,
        width=part.heads * max(2, 16 // part.heads),
        layers=2,
        ff_width=24,
        dropout=0.0,
        attention=dataclasses.replace(part, window=4, random_globals=1) if part.window else part,
        head=dataclasses.replace(head, channels=8 if head.kernels else 64, dense=12 if head.dense else 0),
    )


def example(lengths: tuple[int, ...] = (9, 5, 1, 2, 0), dtype: torch.dtype = torch.float64) -> Batch:
    """Texts of these lengths with tags and polarities."""
    keep = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(2, VOCABULARY, keep.shape, generator=torch.Generator().manual_seed(1)) * keep
    raw = torch.stack([(ids * k + k).double().sin() for k in (1, 2, 3)], -1)
    polarity = torch.where(keep[..., None], raw.mul(2).softmax(-1), 1 / 3).to(dtype)
    return Batch(ids, keep, tags=(ids % 12 + 1) * keep, polarity=polarity)


def batch_of(texts: list[list[int]]) -> Batch:
    """Token ids, padded on the right to the longest."""
    return Batch.from_arrays(TokenTable.from_ids(texts).pad_all())


def longer(batch: Batch, more: int) -> Batch:
    """The same texts with `more` further padding positions."""
    pad = torch.nn.functional.pad
    ids, keep, tags = (pad(each, (0, more)) for each in batch[:3])
    return Batch(ids, keep, tags, pad(batch.polarity, (0, 0, 0, more), value=1 / 3))


def rows(batch: Batch, part: slice, length: int) -> Batch:
    """Some of the texts, cut to a length."""
    return Batch(*(None if each is None else each[part, :length] for each in batch))


def make(config: ModelConfig, dtype: torch.dtype = torch.float64, *, pairs: bool = False) -> torch.nn.Module:
    """A model whose parameters all differ from their special initial values (lambda vectors, norms, biases)."""
    torch.manual_seed(0)
    model = build_model(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=LONGEST, pairs=pairs).to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            wave = torch.arange(parameter.numel(), dtype=torch.float64).add(number).mul(0.7).sin()
            parameter.add_(0.2 * wave.view(parameter.shape).to(dtype))
    return model.eval()
