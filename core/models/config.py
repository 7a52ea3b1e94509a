"""Orthogonal choices of a model, as plain data. Imports no torch, so pages and run lists stay quick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.exceptions import ConfigError

Mixing = Literal["single", "differential", "differential-v2", "additive"]
Constraint = Literal["01", "pm1", "pos", "free"]
Family = Literal["encoder", "tfidf-logreg"]

LARGEST = {"width": 8192, "ff_width": 65_536, "layers": 128}
"""Far above what trains here: a slip of the finger is refused before it takes the machine's memory."""


@dataclass(frozen=True)
class AttentionConfig:
    """out = (sum_i c_i softmax(score_i)) V: how many components, and where their coefficients c come from."""

    heads: int = 4
    qk_width: Literal["full", "half"] = "full"
    """Total width of the queries (and keys) of one component: full = model width, half = half of it (DT, NDT)."""
    components: int = 1
    """N, the base component included."""
    mixing: Mixing = "single"
    """single: c = 1 · differential: 1, -lambda · differential-v2: that per token and head · additive: 1, lambda_i."""
    constraint: Constraint = "01"
    """Additive only, the range of lambda: 01 = [0,1] · pm1 = [-1,1] · pos = [0,inf) · free."""
    learn_beta: bool = False
    """Additive only: learn the bias term beta of lambda instead of keeping it fixed."""
    lambda_per_head: bool = False
    """One lambda per head instead of one per layer (differential and additive)."""
    head_norm: bool = False
    """Per-head RMSNorm of the head outputs, scaled by 1 - lambda_init (differential) or 1 / (1 + sum lambda_init)."""
    row_norm: bool = False
    """Divide the coefficients by the sum of their magnitudes, so that a row of the combined map never exceeds 1."""

    def __post_init__(self) -> None:
        if self.heads < 1:
            raise ConfigError(f"model.attention.heads={self.heads}: at least 1")
        if self.mixing == "single" and self.components != 1:
            raise ConfigError(
                f"model.attention.components={self.components}: mixing 'single' has one; choose mixing=additive"
            )
        if self.mixing.startswith("differential") and self.components != 2:
            raise ConfigError(f"model.attention.components={self.components}: mixing '{self.mixing}' has two")
        if self.mixing == "additive" and not 1 <= self.components <= 16:
            raise ConfigError(f"model.attention.components={self.components}: 1 to 16 for mixing 'additive'")
        if self.learn_beta and self.mixing != "additive":
            raise ConfigError("model.attention.learn_beta: only mixing 'additive' has a beta")
        if self.lambda_per_head and self.mixing not in ("differential", "additive"):
            raise ConfigError(f"model.attention.lambda_per_head: mixing '{self.mixing}' has no lambda of a layer")


@dataclass(frozen=True)
class ModelConfig:
    """One encoder classifier: tokens, positions, layers, pooling, linear head."""

    family: Family = "encoder"
    width: int = 128
    layers: int = 2
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    position: Literal["none", "sinusoidal"] = "sinusoidal"
    norm: Literal["layer", "rms"] = "layer"
    norm_place: Literal["pre", "post"] = "pre"
    feedforward: Literal["relu", "gelu", "swiglu"] = "relu"
    ff_width: int = 256
    pooling: Literal["mean", "cls"] = "mean"
    """mean over the real tokens, or the output at a learned class token put before them."""
    dropout: float = 0.1
    """After the embedding, on both residual branches and inside the feed-forward part; never on attention weights."""

    def __post_init__(self) -> None:
        divisor = self.attention.heads * (2 if self.attention.qk_width == "half" else 1)
        if self.width % divisor:
            raise ConfigError(
                f"model.width={self.width}: must be divisible by {divisor} "
                f"({self.attention.heads} heads, qk_width '{self.attention.qk_width}')"
            )
        if self.attention.mixing == "additive" and self.width % 4:
            raise ConfigError(f"model.width={self.width}: lambda vectors need a multiple of 4")
        if self.layers < 1 or self.ff_width < 1 or self.width < 2:
            raise ConfigError("model.layers, model.ff_width and model.width must be positive")
        for name, most in LARGEST.items():
            if getattr(self, name) > most:
                raise ConfigError(f"model.{name}={getattr(self, name)}: at most {most}")
        if self.position == "sinusoidal" and self.width % 2:
            raise ConfigError(f"model.width={self.width}: sinusoidal positions need an even width")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout={self.dropout}: 0 to below 1")
