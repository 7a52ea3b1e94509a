"""The builder that makes a PyTorch model from the settings in `ModelConfig`, and its warm start from another model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.exceptions import ConfigError
from core.models.attention import Additive, Attention, Differential, DifferentialV2, Mixing, SingleMap
from core.models.attention_config import list_terms
from core.models.attention_kernels import Support
from core.models.baselines import BagOfNgrams, BagOfPairs, BiLSTM, ConvolutionClassifier, LexiconClassifier, Plain
from core.models.capabilities import list_capabilities
from core.models.config import AttentionConfig, ModelConfig
from core.models.encoder import EncoderClassifier, FeedForward, Layer, SwiGLU
from core.models.head import Head
from core.models.model_description import list_mixing_terms
from core.models.passages import PassagePooling
from core.models.positions import CharacterNGrams, PolarityAware, Segments, Sinusoidal
from core.models.pretrained import BackboneAttention, Body, PretrainedClassifier
from core.models.score_terms import KeyGate, LexicalTerm, Terms

Model = EncoderClassifier | Plain


def build_model(
    config: ModelConfig,
    *,
    vocabulary: int,
    classes: int,
    max_length: int = 0,
    body: Body | None = None,
    pairs: bool = False,
    each_token: bool = False,
    passages: int = 0,
) -> Model:
    """Build a model from its settings with fresh weights, drawn from torch's global generator.

    `vocabulary` is the number of token ids, `max_length` only for `pad_mode=as_released`, `body` the backbone of a
    pretrained model, which keeps its weights. The tokens of `pairs` get a learned vector for the first or second text.
    With `each_token` every token gets logits, not the text. An encoder reads longer texts in `passages` of so many
    tokens; 0: as a whole. Raises ConfigError for fewer than two classes, no maximum
    length for padding, or a model that cannot tag tokens.
    """
    if classes < 2:
        raise ConfigError(f"{classes} class: a classifier needs at least two")
    if config.head.one_logit and classes != 2:
        raise ConfigError(
            f"model.head.one_logit: only for two classes, and these data have {classes}; choose one_logit=false"
        )
    if each_token:
        check_token_tagging(config)
    if config.family == "pretrained":
        return _build_pretrained(config, classes, body, pairs, each_token=each_token)
    if config.family != "encoder":
        return _build_baseline(config, vocabulary, classes, pairs)
    fill = max_length if config.pad_mode == "as_released" else 0
    if config.pad_mode == "as_released" and not fill:
        raise ConfigError("model.pad_mode=as_released: needs text.max_length, the length that texts are filled up to")
    positions: Sinusoidal | PolarityAware | None = Sinusoidal() if config.position == "sinusoidal" else None
    if config.position == "polarity-aware":
        positions = PolarityAware(width=config.width, recency=config.recency, tags=config.pos_tags)
    model = EncoderClassifier(
        vocabulary=vocabulary,
        width=config.width,
        scale=math.sqrt(config.width) if config.initial == "xavier" else 1.0,
        positions=positions,
        layers=[_build_layer(config, index) for index in range(config.layers)],
        final_norm=_build_norm(config) if config.norm_place == "pre" else nn.Identity(),
        head=_build_head(config, classes, each_token=each_token),
        fill=fill,
        dropout=config.dropout,
        ngrams=CharacterNGrams(buckets=config.ngram_buckets, width=config.width) if config.ngram_buckets else None,
        provides=list_capabilities(config) | ({"segments"} if pairs else frozenset()),
        segments=_build_segments(config, pairs),
        passages=PassagePooling(width=config.head.dense or config.width, most=passages) if passages else None,
    )
    if config.initial == "xavier":
        _initialize_weights(model)
    return model


def _build_segments(config: ModelConfig, pairs: bool) -> Segments | None:
    """Build the vectors that mark the first and second text of a pair; None for single texts."""
    std = 1.0 if config.family == "encoder" else 1 / math.sqrt(config.width)
    return Segments(width=config.width, std=std) if pairs else None


def check_token_tagging(config: ModelConfig) -> None:
    """Raise ConfigError, with the nearest valid choice, for a model that cannot tag single tokens."""
    if not config.layered:
        raise ConfigError(
            f"model.family={config.family}: it classifies whole texts, and here each word has a tag; choose "
            "--model vanilla, inceptive-64 or another encoder"
        )
    if config.head.one_logit:
        raise ConfigError(
            "model.head.one_logit: only for labels of whole texts, and here words have tags; choose false"
        )
    if config.pad_mode != "masked":
        raise ConfigError(
            "model.pad_mode=as_released: padding is read as text there, and has no tag; choose model.pad_mode=masked"
        )


def _build_pretrained(
    config: ModelConfig, classes: int, body: Body | None, pairs: bool, *, each_token: bool
) -> PretrainedClassifier:
    if body is None:
        raise ConfigError("model.backbone: a pretrained encoder is named; `sentiscope backbones list` shows which")
    part = config.attention
    return PretrainedClassifier(
        body=body,
        attentions=[
            BackboneAttention(
                heads=part.heads,
                terms=Terms(lexical=_build_lexical_term(part, config.width // part.heads)),
                index=index,
            )
            for index in range(config.layers)
        ],
        head=_build_head(config, classes, each_token=each_token),
        width=config.width,
        provides=list_capabilities(config),
        pairs=pairs,
    )


def _build_baseline(config: ModelConfig, vocabulary: int, classes: int, pairs: bool) -> Plain:
    if config.family == "lexicon":
        return LexiconClassifier(classes=classes)
    if config.family not in ("bilstm", "cnn"):
        return (BagOfPairs if pairs else BagOfNgrams)(vocabulary=vocabulary, classes=classes)
    states, kernels, channels = config.ff_width, config.head.parse_widths(), config.head.channels
    read = 2 * states if config.family == "bilstm" else len(kernels) * channels
    dense, one_logit = config.head.dense, config.head.one_logit
    head = Head(width=read, classes=classes, dense=dense, one_logit=one_logit, pooling="cls")
    about: dict[str, Any] = {
        "vocabulary": vocabulary,
        "width": config.width,
        "segments": _build_segments(config, pairs),
    }
    if config.family == "bilstm":
        return BiLSTM(states=states, layers=config.layers, dropout=config.dropout, head=head, **about)
    return ConvolutionClassifier(kernels=kernels, channels=channels, dropout=config.dropout, head=head, **about)


def _build_head(config: ModelConfig, classes: int, *, each_token: bool = False) -> Head:
    return Head(
        width=config.width,
        classes=classes,
        kernels=config.head.parse_widths(),
        channels=config.head.channels,
        attention_heads=config.head.attention_heads,
        dense=config.head.dense,
        activation=config.head.activation,
        one_logit=config.head.one_logit,
        pooling=config.pooling,
        dropout=0.0 if config.head.linear else config.dropout,
        each_token=each_token,
    )


def _build_layer(config: ModelConfig, index: int) -> Layer:
    part = config.attention
    qk_width = part.get_qk_width(config.width)
    attention = Attention(
        width=config.width,
        heads=part.heads,
        qk_width=qk_width,
        components=part.components,
        mixing=_build_mixing(part, config.width, index + 1),
        terms=Terms(
            rotary=part.rotary,
            qk_norm=part.qk_norm,
            gate=KeyGate(width=config.width, lexicon=part.lexicon_gate) if part.gate else None,
            lexical=_build_lexical_term(part, qk_width // part.heads),
            support=Support(part.window, part.random_globals, part.support_seed) if part.window else None,
            said=(*list_terms(part, config.width), *list_mixing_terms(part, config.width)),
        ),
        head_norm=part.head_norm,
        row_norm=part.row_norm,
        index=index,
    )
    inner: dict[str, Any] = {"width": config.width, "hidden": config.ff_width, "dropout": config.dropout}
    return Layer(
        attention=attention,
        feedforward=SwiGLU(**inner)
        if config.feedforward == "swiglu"
        else FeedForward(activation=config.feedforward, **inner),
        norms=(_build_norm(config), _build_norm(config)),
        place=config.norm_place,
        dropout=config.dropout,
    )


def _build_lexical_term(part: AttentionConfig, head_width: int) -> LexicalTerm | None:
    if part.lexical == "none":
        return None
    reach = torch.ones(part.lexicons, part.components, part.heads, dtype=torch.bool)
    if part.lexical_heads == "last":
        reach[..., :-1] = False
    if part.lexical_heads == "apart":
        reach &= torch.arange(part.lexicons)[:, None, None] == torch.arange(part.heads) % part.lexicons
    if part.lexical_component >= 0:
        reach[:, torch.arange(part.components) != part.lexical_component] = False
    return LexicalTerm(
        kind=part.lexical,
        reach=reach,
        strength=part.lexical_strength,
        learn=part.learn_strength,
        scale=1 / math.sqrt(head_width) if part.lexical_scaled else 1.0,
    )


def _build_mixing(part: AttentionConfig, width: int, layer: int) -> Mixing:
    if part.mixing == "differential":
        return Differential(
            layer=layer, head_width=part.get_qk_width(width) // part.heads, sets=part.lambda_sets, start=part.start
        )
    if part.mixing == "differential-v2":
        return DifferentialV2(width=width, heads=part.heads)
    if part.mixing == "additive":
        return Additive(
            layer=layer,
            components=part.components,
            constraint=part.constraint,
            width=width,
            sets=part.lambda_sets,
            learn_beta=part.learn_beta,
            from_input=part.lambda_input,
            start=part.start,
        )
    return SingleMap()


def _build_norm(config: ModelConfig) -> nn.Module:
    if config.norm == "none":
        return nn.Identity()
    return nn.RMSNorm(config.width, eps=1e-5) if config.norm == "rms" else nn.LayerNorm(config.width)


def _initialize_weights(model: EncoderClassifier) -> None:
    """Initialise an encoder's weights: Xavier-uniform for each attention map, zero biases, embeddings N(0, 1/d)."""
    width = model.embedding.embedding_dim
    nn.init.normal_(model.embedding.weight, std=1 / math.sqrt(width))
    if model.ngrams is not None:
        nn.init.normal_(model.ngrams.table.weight, std=1 / math.sqrt(width))
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


WORDS = "embedding.weight"


@dataclass(frozen=True)
class CopyResult:
    """Which weights a model received from another one: counts, and names of tensors not copied or copied in part."""

    numbers: int  # Copied numbers
    of: int  # All numbers of the model
    fresh: tuple[str, ...]  # Tensors that keep their random start
    partly: tuple[str, ...]  # Tensors copied in part: with more components, or new words


def copy_weights(
    model: EncoderClassifier, source: EncoderClassifier, *, origins: Sequence[Sequence[int]], same_classes: bool
) -> CopyResult:
    """Copy the weights of a trained model `source` into a new `model`, as far as names and shapes allow.

    Queries and keys have one block per component; those that both models have are copied, so the map of plain attention
    becomes the base map. The first words of `model` are those of `source`; each new word gets the mean of its `origins`
    (token ids of the source), if any. All else keeps its random start: further layers and parts, and the head unless
    both have the same classes. Raises ValueError if the vocabulary is not that of the source and `origins`.
    """
    theirs, own = source.state_dict(), dict(model.named_parameters())
    if len(own[WORDS]) != len(theirs[WORDS]) + len(origins):
        raise ValueError(f"{len(own[WORDS])} words, but {len(theirs[WORDS])} known and {len(origins)} new ones")
    taken: dict[str, int] = {}
    with torch.no_grad():
        for name, target in own.items():
            known = theirs.get(name)
            if known is None or (name.startswith("head.") and not same_classes):
                taken[name] = 0
            elif name == WORDS:
                taken[name] = _copy_words(target, known * (source.scale / model.scale), origins)
            elif name.startswith("ngrams."):
                taken[name] = _copy_whole(target, known * (source.scale / model.scale))
            elif name.split(".")[-2:-1] in (["query"], ["key"]):
                taken[name] = _copy_components(target, known, model, source)
            else:
                taken[name] = _copy_whole(target, known)
    sizes = {name: tensor.numel() for name, tensor in own.items()}
    return CopyResult(
        numbers=sum(taken.values()),
        of=sum(sizes.values()),
        fresh=tuple(name for name, count in taken.items() if not count),
        partly=tuple(name for name, count in taken.items() if 0 < count < sizes[name]),
    )


def _copy_whole(target: Tensor, known: Tensor) -> int:
    """Copy a whole weight tensor if the shapes agree; return how many of its numbers were copied."""
    if target.shape != known.shape:
        return 0
    target.copy_(known)
    return known.numel()


def _copy_words(target: Tensor, known: Tensor, origins: Sequence[Sequence[int]]) -> int:
    """Copy known word embeddings, and for new words the mean of their word pieces; return how many numbers were set."""
    if target.shape[1] != known.shape[1]:
        return 0
    target[: len(known)].copy_(known)
    made = 0
    for row, pieces in enumerate(origins, len(known)):
        if pieces:
            target[row] = known[list(pieces)].mean(0)
            made += 1
    return (len(known) + made) * known.shape[1]


def _copy_components(target: Tensor, known: Tensor, model: EncoderClassifier, source: EncoderClassifier) -> int:
    """Copy the weights of the attention maps that both models have; return how many numbers were copied."""
    ours, theirs = model.components, source.components
    if target[: len(target) // ours].shape != known[: len(known) // theirs].shape:
        return 0
    shared = min(ours, theirs) * (len(target) // ours)
    target[:shared].copy_(known[:shared])
    return target[:shared].numel()
