"""Summaries of a model trace: attention received, learned map weights λ, unknown words. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.formatting import whole_percent
from core.models.attention_config import LAMBDA_RANGES, AttentionConfig

if TYPE_CHECKING:
    import numpy as np

    from core.interpret.sentence_inspection import SentenceView
else:
    from core.lazy_imports import numpy as np


def average_attention(weights: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Average the attention (L,) received over heads and queries of maps (H, L, L), weighted by `places` (L,)."""
    return np.average(weights.mean(0), axis=0, weights=places)


ROUNDING = 0.001  # Differences between two λ that are not shown


@dataclass(frozen=True)
class LearnedLambdas:
    """The learned weights λ by which a model adds further attention maps to the first, per layer and map."""

    values: tuple[tuple[float, ...], ...]  # For each layer and further map, the mean over heads and tokens
    varies: bool  # Whether any λ differs between heads or tokens


def get_learned_lambdas(view: SentenceView, subtracts: bool) -> LearnedLambdas:
    """Return a model's learned map weights λ: each further attention map's coefficient divided by the first map's."""
    sign = -1.0 if subtracts else 1.0
    ratios = [sign * layer.coefficients[1:] / layer.coefficients[0] for layer in view.layers]
    values = tuple(tuple(float(row.mean()) for row in layer) for layer in ratios)
    return LearnedLambdas(values, any(float(np.ptp(row)) > ROUNDING for layer in ratios for row in layer))


def get_lambda_range(attention: AttentionConfig, learned: LearnedLambdas) -> tuple[float, float]:
    """Return the range in which a user may edit attention-map weights λ: a default, widened to all learned values."""
    if attention.mixing == "additive":
        low, high = LAMBDA_RANGES[attention.constraint].slider
    else:
        low, high = (0.0, 1.0) if attention.mixing == "differential-v2" else (0.0, 1.5)
    values = [value for layer in learned.values for value in layer]
    low = min([low, *(math.floor(10 * value) / 10 for value in values)])
    high = max([high, *(math.ceil(10 * value) / 10 for value in values)])
    return low, high


HALF = 0.5  # Share of unknown words from which a text has a warning


def is_mostly_unknown(share: float | None) -> bool:
    """Return whether at least half of a text's words are unknown to the model; False if the share is not known."""
    return share is not None and share >= HALF


def warn_unknown(share: float | None) -> str:
    """Return a warning about a text's unknown words; empty if most words are known or the share is not known."""
    if share is None or share < HALF:
        return ""
    if share == 1:
        return "The run knows no word of this text."
    return f"{whole_percent(share)} of the words are unknown to the run."
