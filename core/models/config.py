"""Orthogonal choices of a model, as plain data. Imports no torch, so pages and run lists stay quick."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from core.exceptions import ConfigError

Mixing = Literal["single", "differential", "differential-v2", "additive"]
Constraint = Literal["01", "pm1", "pos", "free"]
Family = Literal["encoder", "bilstm", "cnn", "tfidf-logreg", "tfidf-nb", "tfidf-svm", "lexicon"]
Lexical = Literal["none", "add", "hadamard"]
Position = Literal["none", "sinusoidal", "polarity-aware"]

WIDEST = 65_536
"""A window beyond the longest text."""
STRONGEST = 1000
"""A factor on scores beyond which a softmax is a maximum."""
DENSE_TRACE = 1024
"""With a window: longer texts have no maps, and are computed in linear time also when traced."""
MOST_DROPOUT = 0.99
"""Above that next to nothing is left, and what is kept would be scaled by more than a hundred."""
LARGEST = {"width": 8192, "ff_width": 65_536, "layers": 128}
"""Far above what trains here: a slip of the finger is refused before it takes the machine's memory."""

START_RANGES = {
    "01": (0.01, 0.99),
    "pm1": (-0.99, 0.99),
    "pos": (0.0, 10.0),
    "free": (-10.0, 10.0),
    "differential": (0.0, 0.99),
}
"""By constraint of lambda (and of the differential rule, whose heads are scaled by 1 - start): where it may start."""

READS: dict[Family, tuple[str, ...]] = {
    "bilstm": ("width", "layers", "ff_width", "dropout", "head.dense", "head.one_logit"),
    "cnn": ("width", "head.kernels", "head.channels", "dropout", "head.dense", "head.one_logit"),
    "tfidf-logreg": (),
    "tfidf-nb": (),
    "tfidf-svm": (),
    "lexicon": (),
}
"""Settings of the model that a family reads; the encoder reads all, and a change of one that is not read is refused."""


@dataclass(frozen=True)
class AttentionConfig:
    """out = (sum_i c_i softmax(score_i + bias)) V: how many components, where c comes from, what makes a score."""

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
    lambda_input: bool = False
    """Additive only: lambda of each token from the token itself, in place of one for all."""
    lambda_start: str = "paper"
    """Where lambda starts: a number, the same for every layer and component · paper: differential as its paper says;
    additive, whose paper prints no start, a fit to the lambdas that it reports after training."""
    head_norm: bool = False
    """Per-head RMSNorm of the head outputs, scaled by 1 - lambda_init (differential) or 1 / (1 + sum lambda_init)."""
    row_norm: bool = False
    """Divide the coefficients by the sum of their magnitudes, so that a row of the combined map never exceeds 1."""
    rotary: bool = False
    """Turn queries and keys by an angle that grows with the position (RoPE): scores see distances only."""
    qk_norm: bool = False
    """Scores are cosines times a learned temperature tau, one per layer, in place of q·k / sqrt(head width)."""
    gate: bool = False
    """Each key is weighted by a learned gate between 0 and 1 (SentiFormer, eq. 4)."""
    lexicon_gate: bool = False
    """The gate starts wider open for words that a lexicon calls positive or negative; by how much is learned."""
    window: int = 0
    """Each token sees this many neighbours, half on each side, and a few tokens that all see; 0: all see all."""
    random_globals: int = 2
    """With a window: tokens drawn at random that all see, beside the first and the last."""
    support_seed: int = 0
    """With a window: seed of these draws; they depend on nothing else but the layer and the length of the text."""
    lexical: Lexical = "none"
    """What sigma, the product of two tokens' polarities in a lexicon, does to their score: add · hadamard: multiply."""
    lexical_heads: Literal["all", "last"] = "all"
    """Heads that sigma reaches."""
    lexical_scaled: bool = False
    """add only: divide sigma by sqrt(head width), as the content score is."""
    lexical_strength: float = 1.0
    """Factor on sigma."""
    learn_strength: bool = False
    """add only: learn that factor, one per layer, from this start."""
    lexical_component: int = -1
    """The one component that sigma reaches, counted from 0; -1: every component."""

    def __post_init__(self) -> None:
        self._check_mixing()
        self._check_terms()

    def _check_mixing(self) -> None:
        if not 1 <= self.heads <= 1024:
            raise ConfigError(f"model.attention.heads={self.heads!s:.40}: 1 to 1024")
        if self.mixing == "single" and self.components != 1:
            raise ConfigError(
                f"model.attention.components={self.components!s:.40}: mixing 'single' has one; choose mixing=additive"
            )
        if self.mixing.startswith("differential") and self.components != 2:
            raise ConfigError(
                f"model.attention.components={self.components!s:.40}: mixing '{self.mixing}' has two; "
                "choose components=2"
            )
        if self.mixing == "additive" and not 1 <= self.components <= 16:
            raise ConfigError(f"model.attention.components={self.components!s:.40}: 1 to 16 for mixing 'additive'")
        if self.constraint != "01" and self.mixing != "additive":
            raise ConfigError(
                f"model.attention.constraint={self.constraint}: only mixing 'additive' has it; choose mixing=additive"
            )
        if self.row_norm and self.components == 1:
            raise ConfigError("model.attention.row_norm: one map needs none; choose components=2 and mixing=additive")
        if self.learn_beta and self.mixing != "additive":
            raise ConfigError("model.attention.learn_beta: only mixing 'additive' has a beta; choose mixing=additive")
        if self.lambda_per_head and self.mixing not in ("differential", "additive"):
            raise ConfigError(
                f"model.attention.lambda_per_head: mixing '{self.mixing}' has no lambda of a layer; "
                "choose mixing=additive"
            )
        self._check_start()
        if self.lambda_input and (self.mixing != "additive" or self.components < 2):
            raise ConfigError(
                "model.attention.lambda_input: only mixing 'additive' with two components or more has it; "
                "choose mixing=additive, or mixing=differential-v2, whose lambda is one per token anyway"
            )

    def _check_start(self) -> None:
        """At a closed end of its range lambda could not move: its two ends would be one."""
        if self.lambda_start == "paper":
            return
        name, value = f"model.attention.lambda_start={self.lambda_start:.40}", self.start
        if self.mixing not in ("differential", "additive") or self.components < 2:
            raise ConfigError(f"{name}: there is no lambda that it would start; choose lambda_start=paper")
        if value is None:
            raise ConfigError(f"{name}: paper, or a number such as 0.5")
        low, high = START_RANGES["differential" if self.mixing == "differential" else self.constraint]
        if not low <= value <= high:
            near = f"{min(max(value, low), high):g}"
            raise ConfigError(f"{name}: {low:g} to {high:g} with this rule for lambda; the nearest is {near}")

    @property
    def start(self) -> float | None:
        """`lambda_start` as a number; None where the paper says it."""
        try:
            value = float(self.lambda_start)
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def _check_terms(self) -> None:
        if self.lexicon_gate and not self.gate:
            raise ConfigError("model.attention.lexicon_gate: there is no gate to guide; choose gate=true as well")
        if not 0 <= self.window <= WIDEST or self.window % 2:
            raise ConfigError(
                f"model.attention.window={self.window!s:.40}: an even number, half on each side (0: all see all); "
                f"the nearest is {min(max(0, self.window + self.window % 2), WIDEST)}"
            )
        for name, most in (("random_globals", 64), ("support_seed", 2**63 - 1)):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"model.attention.{name}={getattr(self, name)!s:.40}: 0 to {most}")
        if abs(self.lexical_strength) > STRONGEST:
            raise ConfigError(
                f"model.attention.lexical_strength={self.lexical_strength!s:.40}: -{STRONGEST} to {STRONGEST}"
            )
        if not self.window:
            self._refuse_idle(
                ("random_globals", "support_seed"), "window is 0, so all tokens see all; choose window=64"
            )
        parts = ("lexical_heads", "lexical_scaled", "lexical_strength", "learn_strength", "lexical_component")
        if self.lexical == "none":
            self._refuse_idle(parts, "lexical is 'none'; choose lexical=add")
        if self.lexical == "hadamard":
            self._refuse_idle(("lexical_scaled", "learn_strength"), "lexical is 'hadamard'; choose lexical=add")
        if not -1 <= self.lexical_component < self.components:
            raise ConfigError(
                f"model.attention.lexical_component={self.lexical_component!s:.40}: -1 (all) to {self.components - 1}"
            )

    def _refuse_idle(self, names: tuple[str, ...], why: str) -> None:
        """A setting that would do nothing is a misunderstanding."""
        for name in names:
            if getattr(self, name) != _DEFAULTS[name]:
                raise ConfigError(f"model.attention.{name}={getattr(self, name)!s:.40}: no effect, because {why}")


_DEFAULTS = {field.name: field.default for field in fields(AttentionConfig)}


@dataclass(frozen=True)
class HeadConfig:
    """From token vectors to logits. With everything off: pooling and one linear map."""

    kernels: str = ""
    """Widths of parallel convolutions over the tokens, such as 2,3,5,7; empty: none (Inceptive Transformers)."""
    channels: int = 64
    """With kernels: output channels of each."""
    attention_heads: int = 0
    """Heads of one more attention before pooling, over the tokens and their convolutions; 0: none."""
    dense: int = 0
    """Width of a hidden layer (ReLU, LayerNorm) after pooling; 0: none."""
    one_logit: bool = False
    """Two classes only: one output, its sigmoid the probability of the second class."""

    def __post_init__(self) -> None:
        self.widths()
        for name, most in (("channels", 4096), ("attention_heads", 64), ("dense", 65_536)):
            low = 1 if name == "channels" else 0
            if not low <= getattr(self, name) <= most:
                raise ConfigError(f"model.head.{name}={getattr(self, name)!s:.40}: {low} to {most}")
        if not self.kernels and self.channels != 64:
            raise ConfigError(
                f"model.head.channels={self.channels}: no effect without convolutions; choose kernels=2,3,5,7"
            )

    @property
    def linear(self) -> bool:
        """Whether pooling and one linear map are all there is."""
        return not (self.kernels or self.attention_heads or self.dense)

    def widths(self) -> tuple[int, ...]:
        """The kernel widths as numbers.

        Raises:
            ConfigError: if they are not different whole numbers from 1 to 31.
        """
        parts = [part.strip() for part in self.kernels.split(",")] if self.kernels.strip() else []
        known = all(part.isascii() and part.isdigit() and len(part) <= 2 and 1 <= int(part) <= 31 for part in parts)
        if not known or len(set(map(int, parts))) < len(parts):
            said = f"{self.kernels!r:.60}"
            raise ConfigError(f"model.head.kernels={said}: different widths from 1 to 31, such as 2,3,5,7")
        return tuple(map(int, parts))


@dataclass(frozen=True)
class ModelConfig:
    """One classifier: an encoder (tokens, positions, layers, pooling, head), or a baseline without attention."""

    family: Family = "encoder"
    """bilstm: `width` numbers a word, `ff_width` states in each direction · cnn: `width` numbers a word, convolutions
    of `head`, the largest value of each · tfidf-…: words and pairs with logistic regression, naive Bayes or a linear
    support vector machine · lexicon: the polarity of the words."""
    width: int = 128
    layers: int = 2
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    position: Position = "sinusoidal"
    """Added to the embeddings; polarity-aware: sinusoid, recency and part of speech, each with a learned factor."""
    recency: bool = True
    """polarity-aware only: how near the end of its text a token stands."""
    pos_tags: bool = True
    """polarity-aware only: the token's part of speech; needs text.tagger."""
    norm: Literal["layer", "rms", "none"] = "layer"
    norm_place: Literal["pre", "post"] = "pre"
    feedforward: Literal["relu", "gelu", "swiglu"] = "relu"
    ff_width: int = 256
    pooling: Literal["mean", "cls"] = "mean"
    """mean over the real tokens, or the output at a learned class token put before them."""
    head: HeadConfig = field(default_factory=HeadConfig)
    dropout: float = 0.1
    """After the embedding, on both residual branches and inside the feed-forward part; never on attention weights."""
    pad_mode: Literal["masked", "as_released"] = "masked"
    """as_released: no padding mask, every text filled up to the maximum length (the released code of 7ess-Xin)."""
    initial: Literal["xavier", "torch"] = "xavier"
    """Weights at the start: Xavier, biases 0, embeddings N(0, 1/d) times sqrt(d) · torch: its defaults, N(0, 1)."""

    def __post_init__(self) -> None:
        self._check_sizes()
        if self.family == "encoder":
            self._check_widths()
            self._check_parts()
            self._check_head()
        else:
            self._check_family()

    def _check_sizes(self) -> None:
        if self.layers < 1 or self.ff_width < 1 or self.width < 2:
            raise ConfigError("model.layers, model.ff_width and model.width must be positive")
        for name, most in LARGEST.items():
            if getattr(self, name) > most:
                raise ConfigError(f"model.{name}={getattr(self, name)!s:.40}: at most {most}")
        if not 0 <= self.dropout <= MOST_DROPOUT:
            raise ConfigError(f"model.dropout={self.dropout!s:.40}: 0 to {MOST_DROPOUT}")

    def _check_family(self) -> None:
        """A setting that would do nothing is a misunderstanding."""
        read = READS[self.family]
        usual = _leaves(asdict(ModelConfig(family="encoder")))
        for name, value in _leaves(asdict(self)).items():
            if value != usual[name] and name != "family" and name not in read:
                what = f"of the model it reads {', '.join(read)}" if read else "it reads no setting of the model"
                raise ConfigError(f"model.{name}={value}: no effect on model.family={self.family}; {what}")
        if self.family == "cnn" and not self.head.widths():
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

    def _check_parts(self) -> None:
        if self.norm == "none" and self.norm_place != "pre":
            raise ConfigError(f"model.norm_place={self.norm_place}: no effect without a norm; choose model.norm=layer")
        for name in ("recency", "pos_tags"):
            if self.position != "polarity-aware" and not getattr(self, name):
                raise ConfigError(
                    f"model.{name}: no effect on {self.position} positions; choose model.position=polarity-aware"
                )
        if self.pad_mode == "as_released" and (self.needs_tags or self.needs_lexicon or self.pooling == "cls"):
            raise ConfigError(
                "model.pad_mode=as_released: padding is read as text there, and has no part of speech or polarity, and "
                "no class token stands before it; choose model.pad_mode=masked"
            )

    def _check_head(self) -> None:
        """The head's attention splits d + kernels * channels numbers among its heads."""
        joined = self.width + len(self.head.widths()) * self.head.channels
        heads = self.head.attention_heads
        if heads and joined % heads:
            near = min((n for n in range(1, 65) if joined % n == 0), key=lambda n: abs(n - heads))
            raise ConfigError(
                f"model.head.attention_heads={heads}: must divide {joined} (width, convolutions); the nearest is {near}"
            )

    @property
    def needs_tags(self) -> bool:
        """Whether the model reads parts of speech."""
        return self.position == "polarity-aware" and self.pos_tags

    @property
    def needs_lexicon(self) -> bool:
        """Whether the model reads a lexicon's polarities."""
        return self.attention.lexical != "none" or self.attention.lexicon_gate or self.family == "lexicon"

    @property
    def has_lambda(self) -> bool:
        """Whether further maps have weights that are learned."""
        return self.family == "encoder" and self.attention.components > 1

    @property
    def by_steps(self) -> bool:
        """Whether it is trained step by step, rather than solved in one go."""
        return self.family in ("encoder", "bilstm", "cnn")


def _leaves(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= _leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found
