"""Small models with deterministic, non-trivial weights."""

from __future__ import annotations

import dataclasses

import torch

from core.models.build import build
from core.models.config import ModelConfig
from core.models.presets import PRESETS

ENCODERS = [name for name, preset in PRESETS.items() if preset.model.family == "encoder"]
VOCABULARY, CLASSES = 40, 3


def small(config: ModelConfig) -> ModelConfig:
    """The same choices at width 16."""
    return dataclasses.replace(config, width=16, ff_width=24, dropout=0.0)


def make(config: ModelConfig, dtype: torch.dtype = torch.float64) -> torch.nn.Module:
    """A model whose every parameter is away from its special initial value (lambda vectors, norms, biases)."""
    torch.manual_seed(0)
    model = build(config, vocabulary=VOCABULARY, classes=CLASSES).to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            wave = torch.arange(parameter.numel(), dtype=torch.float64).add(number).mul(0.7).sin()
            parameter.add_(0.2 * wave.view(parameter.shape).to(dtype))
    return model.eval()
