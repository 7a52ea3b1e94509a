"""The settings of a model architecture, as plain data. Imports no torch, so that pages and run lists stay fast."""

import math
from dataclasses import dataclass, field
from typing import Literal

from core.exceptions import ConfigError
from core.models.attention_config import AttentionConfig
from core.settings import Group, Need, check_needs, check_ranges, collect_settings, get_value, setting

Family = Literal[
    "encoder", "pretrained", "bilstm", "cnn", "tfidf-logreg", "tfidf-nb", "tfidf-svm", "lexicon", "function"
]
Position = Literal["none", "sinusoidal", "polarity-aware"]

DENSE_TRACE = 1024  # With a window: longer texts are computed in linear time also when traced, without maps
MOST_DROPOUT = 0.99  # a higher rate would scale the remaining entries by more than a hundred
LONGEST_PATH = 4096
READS: dict[Family, tuple[str, ...]] = {
    "pretrained": (
        *("backbone", "width", "layers", "ff_width", "pooling", "dropout"),
        *("head.kernels", "head.channels", "head.attention_heads", "head.dense", "head.activation", "head.one_logit"),
        *("attention.heads", "attention.lexical", "attention.lexical_heads", "attention.lexical_scaled"),
        *("attention.lexical_strength", "attention.learn_strength", "attention.lexicons"),
    ),
    "bilstm": ("width", "layers", "ff_width", "dropout", "head.dense", "head.one_logit"),
    "cnn": ("width", "head.kernels", "head.channels", "dropout", "head.dense", "head.one_logit"),
    "tfidf-logreg": (),
    "tfidf-nb": (),
    "tfidf-svm": (),
    "lexicon": (),
    "function": (),
}  # Model settings that a family uses; the encoder uses all. A change of an unused setting is refused.

LAYERS: Group = "Layers"
POSITIONS: Group = "Positions"
HEAD: Group = "Pooling and head"

CONVOLUTIONS = Need(lambda head: bool(head.kernels), "no effect without convolutions; choose kernels=2,3,5,7")
DENSE = Need(lambda head: head.dense > 0, "no effect without a dense layer; choose head.dense=512")
POLARITY_AWARE = Need(
    lambda model: model.position == "polarity-aware",
    "no effect on {0.position} positions; choose model.position=polarity-aware",
)
BACKBONE = Need(lambda model: model.family == "pretrained", "no effect on this model; choose --model pretrained")
NORM = Need(lambda model: model.norm != "none", "no effect without a norm; choose model.norm=layer")


@dataclass(frozen=True)
class HeadConfig:
    """The settings of a model's head, from token vectors to logits. By default pooling and one linear map."""

    # fmt: off
    kernels: str = setting("", "convolutions of the head", HEAD,
        "Widths of parallel convolutions over the tokens, such as 2,3,5,7; empty: none (Inceptive Transformers).")
    channels: int = setting(64, "channels of each convolution", HEAD, "With kernels: output channels of each.",
        within=(1, 4096), needs=(CONVOLUTIONS,))
    attention_heads: int = setting(0, "attention heads of the head", HEAD,
        "Heads of one more attention before pooling, over the tokens and their convolutions; 0: none.", within=(0, 64))
    dense: int = setting(0, "dense layer of the head", HEAD,
        "Width of a hidden layer after pooling; 0: none.", within=(0, 65_536))
    activation: Literal["relu-norm", "relu", "gelu", "tanh"] = setting("relu-norm", "activation of the dense layer",
        HEAD, "relu-norm: ReLU and LayerNorm · tanh, relu, gelu: as in classifiers of the BERT family, without a norm.",
        needs=(DENSE,))
    one_logit: bool = setting(False, "one logit", HEAD,
        "Two classes only: one output, its sigmoid the probability of the second class.")
    # fmt: on

    def __post_init__(self) -> None:
        self.parse_widths()
        check_ranges(self, "model.head")
        check_needs(self, "model.head")

    @property
    def linear(self) -> bool:
        """Return whether the model's head is only pooling and one linear map."""
        return not (self.kernels or self.attention_heads or self.dense)

    def parse_widths(self) -> tuple[int, ...]:
        """Return the kernel widths of the head's convolutions; ConfigError unless distinct, from 1 to 31."""
        parts = [part.strip() for part in self.kernels.split(",")] if self.kernels.strip() else []
        known = all(part.isascii() and part.isdigit() and len(part) <= 2 and 1 <= int(part) <= 31 for part in parts)
        if not known or len(set(map(int, parts))) < len(parts):
            said = f"{self.kernels!r:.60}"
            raise ConfigError(f"model.head.kernels={said}: different widths from 1 to 31, such as 2,3,5,7")
        return tuple(map(int, parts))


@dataclass(frozen=True)
class ModelConfig:
    """The settings of a model: an encoder (tokens, positions, layers, pooling, head), or a baseline."""

    # fmt: off
    family: Family = setting("encoder", "kind of model", LAYERS,
        "pretrained: an encoder that others have trained on much text, with a head of ours · bilstm: `width` numbers a "
        "word, `ff_width` states in each direction · cnn: `width` numbers a word, convolutions of `head`, the largest "
        "value of each · tfidf-…: words and pairs with logistic regression, naive Bayes or a linear support vector "
        "machine · lexicon: the polarity of the words · function: one from outside, which cannot be trained here.")
    backbone: str = setting("", "pretrained encoder", LAYERS,
        "pretrained only: its name (`sentiscope backbones list`) or the path of its folder; width, layers, heads and "
        "feed-forward width are then its own.", needs=(BACKBONE,))
    width: int = setting(128, "width", LAYERS, within=(2, 8192))
    layers: int = setting(2, "layers", LAYERS, within=(1, 128))
    ngram_buckets: int = setting(0, "buckets for character n-grams", LAYERS,
        "Rows for the 3- to 5-grams of a word's letters, which share them by their hash; their mean is added to the "
        "word's row, so that an unknown word has a vector of its own. 0: none; try 20000.", within=(0, 10_000_000))
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    position: Position = setting("sinusoidal", "positions", POSITIONS,
        "Added to the embeddings; polarity-aware: sinusoid, recency and part of speech, each with a learned factor.")
    recency: bool = setting(True, "recency in the positions", POSITIONS,
        "polarity-aware only: how near the end of its text a token stands.", needs=(POLARITY_AWARE,))
    pos_tags: bool = setting(True, "parts of speech in the positions", POSITIONS,
        "polarity-aware only: the token's part of speech; needs text.tagger.", needs=(POLARITY_AWARE,))
    norm: Literal["layer", "rms", "none"] = setting("layer", "norm", LAYERS)
    norm_place: Literal["pre", "post"] = setting("pre", "place of the norm", LAYERS, needs=(NORM,))
    feedforward: Literal["relu", "gelu", "swiglu"] = setting("relu", "feed-forward", LAYERS)
    ff_width: int = setting(256, "feed-forward width", LAYERS, within=(1, 65_536))
    pooling: Literal["mean", "cls"] = setting("mean", "pooling", HEAD,
        "mean over the real tokens, or the output at a learned class token put before them.")
    head: HeadConfig = field(default_factory=HeadConfig)
    dropout: float = setting(0.1, "dropout", LAYERS,
        "After the embedding, on both residual branches and inside the feed-forward part; never on attention weights.",
        within=(0, MOST_DROPOUT))
    pad_mode: Literal["masked", "as_released"] = setting("masked", "padding", LAYERS,
        "as_released: no padding mask, every text filled up to the maximum length (the released code of 7ess-Xin).")
    initial: Literal["xavier", "torch"] = setting("xavier", "weights at the start", LAYERS,
        "Weights at the start: Xavier, biases 0, embeddings N(0, 1/d) times sqrt(d) · torch: its defaults, N(0, 1).")
    # fmt: on

    def __post_init__(self) -> None:
        check_ranges(self, "model")
        if self.family == "encoder":
            self._check_widths()
            check_needs(self, "model")
            if self.pad_mode == "as_released" and (self.needs_tags or self.needs_lexicon or self.pooling == "cls"):
                raise ConfigError(
                    "model.pad_mode=as_released: padding is read as text there, and has no part of speech or polarity, "
                    "and no class token stands before it; choose model.pad_mode=masked"
                )
            self._check_head()
        else:
            self._check_family()
        if self.family == "pretrained":
            if "\0" in self.backbone or len(self.backbone) > LONGEST_PATH:
                raise ConfigError(f"model.backbone={self.backbone!r:.60}: a name, or the path of a folder")
            if self.width % self.attention.heads:
                raise ConfigError(f"model.width={self.width}: must be divisible by {self.attention.heads} heads")
            self._check_head()

    def _check_family(self) -> None:
        read = READS[self.family]
        for each in collect_settings(ModelConfig):
            if (
                (value := get_value(self, each.name)) != each.default
                and each.name != "family"
                and each.name not in read
            ):
                what = f"of the model it reads {', '.join(read)}" if read else "it reads no setting of the model"
                raise ConfigError(f"model.{each.name}={value!s:.80}: no effect on model.family={self.family}; {what}")
        if self.family == "cnn" and not self.head.parse_widths():
            raise ConfigError("model.head.kernels: a CNN without windows sees nothing; choose model.head.kernels=3,4,5")

    def _check_widths(self) -> None:
        divisor = self.attention.heads * (2 if self.attention.qk_width == "half" else 1)
        reasons = {divisor: f"{self.attention.heads} heads, qk_width '{self.attention.qk_width}'"}
        if self.attention.rotary:
            reasons[2 * divisor] = f"{self.attention.heads} heads, whose queries rotary positions turn in pairs"
        if self.position != "none":
            reasons[2] = f"{self.position} positions"
        if self.attention.mixing == "additive":
            reasons[4] = "the vectors of lambda"
        step = math.lcm(*reasons)
        for number, why in reasons.items():
            if self.width % number:
                near = step * max(1, round(self.width / step))
                raise ConfigError(
                    f"model.width={self.width}: must be divisible by {number} ({why}); the nearest is {near}"
                )

    def _check_head(self) -> None:
        joined = self.width + len(self.head.parse_widths()) * self.head.channels
        heads = self.head.attention_heads
        if heads and joined % heads:
            near = min((n for n in range(1, 65) if joined % n == 0), key=lambda n: abs(n - heads))
            raise ConfigError(
                f"model.head.attention_heads={heads}: must divide {joined} (width, convolutions); the nearest is {near}"
            )

    @property
    def needs_tags(self) -> bool:
        """Return whether the model reads part-of-speech tags."""
        return self.position == "polarity-aware" and self.pos_tags

    @property
    def needs_lexicon(self) -> bool:
        """Return whether the model reads word polarities from a lexicon."""
        return self.attention.lexical != "none" or self.attention.lexicon_gate or self.family == "lexicon"

    @property
    def layered(self) -> bool:
        """Return whether the model has layers with attention heads."""
        return self.family in ("encoder", "pretrained")

    @property
    def has_lambda(self) -> bool:
        """Return whether the model has several attention maps per head, combined with learned weights λ."""
        return self.family == "encoder" and self.attention.components > 1

    @property
    def normalizes_batches(self) -> bool:
        """Return whether the model uses batch normalisation, in the convolutions of its head."""
        return self.layered and bool(self.head.parse_widths())

    @property
    def by_steps(self) -> bool:
        """Return whether the model is trained step by step with gradients, not fitted by scikit-learn."""
        return self.family in ("encoder", "pretrained", "bilstm", "cnn")


def explain_no_effect(name: str, model: ModelConfig) -> str:
    """Explain why a model setting such as `attention.gate` has no effect on a model; empty if it has one."""
    if model.family != "encoder" and name != "family" and name not in READS[model.family]:
        return f"no effect on model.family={model.family}"
    room, _, _ = name.rpartition(".")
    group = getattr(model, room) if room else model
    need = next(each for each in collect_settings(ModelConfig) if each.name == name).find_unmet_need(group)
    return need.unmet.format(group) if need else ""
