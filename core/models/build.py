"""From a configuration to a module: the only reader of `ModelConfig`."""

from __future__ import annotations

import math

from torch import nn

from core.exceptions import ConfigError
from core.models.attention import Attention, Mixing
from core.models.config import AttentionConfig, ModelConfig
from core.models.encoder import EncoderClassifier, Layer
from core.models.feedforward import FeedForward, SwiGLU
from core.models.linear import BagOfNgrams
from core.models.mixing import Additive, Differential, DifferentialV2, Single

Model = EncoderClassifier | BagOfNgrams


def build(config: ModelConfig, *, vocabulary: int, classes: int) -> Model:
    """A model with fresh weights, drawn from torch's global generator.

    Args:
        config: every choice of the architecture.
        vocabulary: number of token ids.
        classes: number of logits.

    Raises:
        ConfigError: if there is nothing to classify.
    """
    if classes < 2:
        raise ConfigError(f"{classes} class: a classifier needs at least two")
    if config.family == "tfidf-logreg":
        return BagOfNgrams(vocabulary=vocabulary, classes=classes)
    model = EncoderClassifier(
        vocabulary=vocabulary,
        classes=classes,
        width=config.width,
        layers=[_layer(config, index) for index in range(config.layers)],
        final_norm=_norm(config) if config.norm_place == "pre" else nn.Identity(),
        sinusoidal=config.position == "sinusoidal",
        pooling=config.pooling,
        dropout=config.dropout,
        provides=frozenset({"maps", "hidden", "pooled"} | ({"lambda"} if config.attention.components > 1 else set())),
    )
    _initialise(model)
    return model


def _layer(config: ModelConfig, index: int) -> Layer:
    part = config.attention
    attention = Attention(
        width=config.width,
        heads=part.heads,
        qk_width=config.width // 2 if part.qk_width == "half" else config.width,
        components=part.components,
        mixing=_mixing(part, config.width, index + 1),
        head_norm=part.head_norm,
        row_norm=part.row_norm,
        index=index,
    )
    return Layer(
        attention=attention,
        feedforward=_feedforward(config),
        norms=(_norm(config), _norm(config)),
        place=config.norm_place,
        dropout=config.dropout,
    )


def _mixing(part: AttentionConfig, width: int, layer: int) -> Mixing:
    sets = part.heads if part.lambda_per_head else 1
    if part.mixing == "differential":
        head_width = (width // 2 if part.qk_width == "half" else width) // part.heads
        return Differential(layer=layer, head_width=head_width, sets=sets)
    if part.mixing == "differential-v2":
        return DifferentialV2(width=width, heads=part.heads)
    if part.mixing == "additive":
        return Additive(
            layer=layer,
            components=part.components,
            constraint=part.constraint,
            width=width,
            sets=sets,
            learn_beta=part.learn_beta,
        )
    return Single()


def _norm(config: ModelConfig) -> nn.Module:
    return nn.RMSNorm(config.width, eps=1e-5) if config.norm == "rms" else nn.LayerNorm(config.width)


def _feedforward(config: ModelConfig) -> nn.Module:
    if config.feedforward == "swiglu":
        return SwiGLU(width=config.width, hidden=config.ff_width, dropout=config.dropout)
    return FeedForward(
        width=config.width, hidden=config.ff_width, activation=config.feedforward, dropout=config.dropout
    )


def _initialise(model: EncoderClassifier) -> None:
    """Xavier-uniform weights, each component's projection on its own; zero biases; embedding N(0, 1/d)."""
    width = model.embedding.embedding_dim
    nn.init.normal_(model.embedding.weight, std=1 / math.sqrt(width))
    if model.class_token is not None:
        nn.init.normal_(model.class_token, std=1 / math.sqrt(width))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in model.modules():
        if isinstance(module, Attention):
            for stacked in (module.query, module.key):
                for block in stacked.weight.chunk(module.components):
                    nn.init.xavier_uniform_(block)
