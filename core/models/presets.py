"""Presets: named, complete model configurations with their source. The only way variants exist, beside `--set`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.models.config import AttentionConfig, Constraint, ModelConfig

NDT = "NDT, arXiv 2603.20704"


@dataclass(frozen=True)
class Preset:
    """A model with its origin; `settings` are dotted settings of other rooms (training.lr …) that belong to it."""

    model: ModelConfig
    paper: str
    source: str
    line: str
    settings: dict[str, Any] = field(default_factory=dict)


def _ndt_body(attention: AttentionConfig) -> ModelConfig:
    """Pre-norm RMSNorm and SwiGLU 384, as the parameter counts of Table X imply."""
    return ModelConfig(attention=attention, norm="rms", feedforward="swiglu", ff_width=384)


def _additive(constraint: Constraint, components: int) -> ModelConfig:
    return _ndt_body(
        AttentionConfig(heads=2, qk_width="half", components=components, mixing="additive", constraint=constraint)
    )


_RANGES: dict[Constraint, str] = {"01": "[0,1]", "pm1": "[-1,1]", "pos": "[0,∞)", "free": "(-∞,∞)"}

PRESETS: dict[str, Preset] = {
    "vanilla": Preset(
        ModelConfig(),
        "ndt",
        f"{NDT}, section 2 (Vanilla)",
        "Plain transformer encoder: LayerNorm, ReLU 256, four heads.",
    ),
    "vanilla-swiglu": Preset(
        _ndt_body(AttentionConfig()),
        "ndt",
        "control, not in the paper",
        "Plain attention in the body of NDT (RMSNorm, SwiGLU 384): separates attention from feed-forward.",
    ),
    "differential": Preset(
        _ndt_body(AttentionConfig(heads=2, qk_width="half", components=2, mixing="differential", head_norm=True)),
        "ndt",
        "Differential Transformer, arXiv 2410.05258, as baseline of NDT; bidirectional",
        "Two maps, the second subtracted with a learned lambda; per-head norm.",
    ),
    "differential-v2": Preset(
        _ndt_body(AttentionConfig(heads=2, qk_width="half", components=2, mixing="differential-v2")),
        "ndt",
        "Differential Transformer V2 (official repository); bidirectional",
        "Two maps, lambda a sigmoid of the token, one per head; no per-head norm.",
    ),
    **{
        f"ndt-{constraint}-n{n}": Preset(
            _additive(constraint, n),
            "ndt",
            f"{NDT}, eqs. 2-7, {name}, N={n}",
            f"{n} maps added, lambda in {name}.",
        )
        for constraint, name in _RANGES.items()
        for n in (2, 3, 4)
    },
    "tfidf-logreg": Preset(
        ModelConfig(family="tfidf-logreg"),
        "baseline",
        "scikit-learn: TF-IDF of 1-2-grams with logistic regression, C chosen on validation",
        "The yardstick: no word order beyond pairs of neighbours.",
        {"text.max_vocab": 5_000_000},
    ),
}
