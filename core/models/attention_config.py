"""What an attention can have: each part's settings, and beside them what it is in words, as an equation and in size.

A new term is a field here, a function that says it, its line in `TERMS`, and the module that computes it: the pages,
the diagram, the equation and the refusals follow. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.exceptions import ConfigError
from core.settings import LARGEST_SEED, Group, Need, check_needs, check_ranges, setting

Mixing = Literal["single", "differential", "differential-v2", "additive"]
Constraint = Literal["01", "pm1", "pos", "free"]
Lexical = Literal["none", "add", "hadamard"]

WIDEST = 65_536
"""A window beyond the longest text."""
STRONGEST = 1000
"""A factor on scores beyond which a softmax is a maximum."""


class LambdaRange(NamedTuple):
    """A range of lambda: how it is written, what keeps lambda in it, where lambda may start."""

    interval: str
    """In LaTeX."""
    function: str
    """In LaTeX; `core.models.mixing` computes it."""
    start: tuple[float, float]
    """At a closed end of its range lambda could not move: its two ends would be one."""
    slider: tuple[float, float]
    """As far as lambda is moved by hand."""

    @property
    def plain(self) -> str:
        """The interval without LaTeX, as the papers' tables name it."""
        return self.interval.replace(r"\infty", "∞")

    @property
    def words(self) -> str:
        """The interval in a sentence, its minus a minus."""
        return self.plain.replace("-", "−")


LAMBDA_RANGES: dict[Constraint, LambdaRange] = {
    "01": LambdaRange("[0,1]", r"\operatorname{sigmoid}", (0.01, 0.99), (0.0, 1.0)),
    "pm1": LambdaRange("[-1,1]", r"\tanh", (-0.99, 0.99), (-1.0, 1.0)),
    "pos": LambdaRange(r"[0,\infty)", r"\operatorname{ReLU}", (0.0, 10.0), (0.0, 1.5)),
    "free": LambdaRange(r"(-\infty,\infty)", r"\operatorname{id}", (-10.0, 10.0), (-1.5, 1.5)),
}
DIFFERENTIAL_START = (0.0, 0.99)
"""Where the differential rule may start: its heads are scaled by 1 - start."""

MAPS: Group = "Maps and lambda"
SCORES: Group = "Scores"
GATE: Group = "Gate and window"
LEXICON: Group = "Lexicon"

FURTHER_MAPS = Need(
    lambda part: part.components > 1, "there is one map, which has no lambda; choose components=2", refused=False
)
WINDOW = Need(lambda part: part.window > 0, "no effect, because window is 0, so all tokens see all; choose window=64")
SIGMA = Need(lambda part: part.lexical != "none", "no effect, because lexical is 'none'; choose lexical=add")
SIGMA_ADDED = Need(
    lambda part: part.lexical != "hadamard", "no effect, because lexical is 'hadamard'; choose lexical=add"
)


def _additive(what: str) -> Need:
    return Need(lambda part: part.mixing == "additive", f"only mixing 'additive' has {what}; choose mixing=additive")


@dataclass(frozen=True)
class AttentionConfig:
    """out = (sum_i c_i softmax(score_i + bias)) V: how many components, where c comes from, what makes a score."""

    heads: int = setting(4, "heads", SCORES, within=(1, 1024))
    qk_width: Literal["full", "half"] = setting(
        "full",
        "width of queries and keys",
        SCORES,
        "Total width of the queries (and keys) of one component: full = model width, half = half of it (DT, NDT).",
    )
    components: int = setting(1, "maps per head", MAPS, "N, the base component included.")
    mixing: Mixing = setting(
        "single",
        "how maps combine",
        MAPS,
        "single: c = 1 · differential: 1, -lambda · differential-v2: that per token and head · additive: 1, lambda_i.",
    )
    constraint: Constraint = setting(
        "01",
        "range of lambda",
        MAPS,
        "Additive only, the range of lambda: 01 = [0,1] · pm1 = [-1,1] · pos = [0,inf) · free.",
        needs=(_additive("it"), FURTHER_MAPS),
    )
    learn_beta: bool = setting(
        False,
        "learned beta",
        MAPS,
        "Additive only: learn the bias term beta of lambda instead of keeping it fixed.",
        needs=(_additive("a beta"), FURTHER_MAPS),
    )
    lambda_per_head: bool = setting(
        False,
        "lambda per head",
        MAPS,
        "One lambda per head instead of one per layer (differential and additive).",
        needs=(
            Need(
                lambda part: part.mixing in ("differential", "additive"),
                "mixing '{0.mixing}' has no lambda of a layer; choose mixing=additive",
            ),
            FURTHER_MAPS,
        ),
    )
    lambda_input: bool = setting(
        False,
        "lambda per token",
        MAPS,
        "Additive only: lambda of each token from the token itself, in place of one for all.",
        needs=(
            Need(
                lambda part: part.mixing == "additive" and part.components > 1,
                "only mixing 'additive' with two components or more has it; choose mixing=additive, or "
                "mixing=differential-v2, whose lambda is one per token anyway",
            ),
        ),
    )
    lambda_start: str = setting(
        "paper",
        "lambda at the start",
        MAPS,
        "Where lambda starts: a number, the same for every layer and component · paper: differential as its paper "
        "says; additive, whose paper prints no start, a fit to the lambdas that it reports after training.",
        needs=(
            Need(
                lambda part: part.mixing in ("differential", "additive") and part.components > 1,
                "there is no lambda that it would start; choose lambda_start=paper",
            ),
        ),
    )
    head_norm: bool = setting(
        False,
        "norm of each head",
        MAPS,
        "Per-head RMSNorm of the head outputs, scaled by 1 - lambda_init (differential) or 1 / (1 + sum lambda_init).",
    )
    row_norm: bool = setting(
        False,
        "weights of maps normalised",
        MAPS,
        "Divide the coefficients by the sum of their magnitudes, so that a row of the combined map never exceeds 1.",
        needs=(Need(lambda part: part.components > 1, "one map needs none; choose components=2 and mixing=additive"),),
    )
    rotary: bool = setting(
        False,
        "rotary positions",
        SCORES,
        "Turn queries and keys by an angle that grows with the position (RoPE): scores see distances only.",
    )
    qk_norm: bool = setting(
        False,
        "cosine scores with a temperature",
        SCORES,
        "Scores are cosines times a learned temperature tau, one per layer, in place of q·k / sqrt(head width).",
    )
    gate: bool = setting(
        False,
        "gate on the keys",
        GATE,
        "Each key is weighted by a learned gate between 0 and 1 (SentiFormer, eq. 4).",
    )
    lexicon_gate: bool = setting(
        False,
        "gate guided by the lexicon",
        GATE,
        "The gate starts wider open for words that a lexicon calls positive or negative; by how much is learned.",
        needs=(Need(lambda part: part.gate, "there is no gate to guide; choose gate=true as well"),),
    )
    window: int = setting(
        0,
        "window of neighbours",
        GATE,
        "Each token sees this many neighbours, half on each side, and a few tokens that all see; 0: all see all.",
    )
    random_globals: int = setting(
        2,
        "random tokens that see all",
        GATE,
        "With a window: tokens drawn at random that all see, beside the first and the last.",
        within=(0, 64),
        needs=(WINDOW,),
    )
    support_seed: int = setting(
        0,
        "seed of these tokens",
        GATE,
        "With a window: seed of these draws; they depend on nothing else but the layer and the length of the text.",
        within=(0, LARGEST_SEED),
        needs=(WINDOW,),
    )
    lexical: Lexical = setting(
        "none",
        "sigma of the lexicon",
        LEXICON,
        "What sigma, the product of two tokens' polarities in a lexicon, does to their score: add · hadamard: "
        "multiply.",
    )
    lexical_heads: Literal["all", "last"] = setting(
        "all", "heads that sigma reaches", LEXICON, "Heads that sigma reaches.", needs=(SIGMA,)
    )
    lexical_scaled: bool = setting(
        False,
        "sigma divided by the root of the head width",
        LEXICON,
        "add only: divide sigma by sqrt(head width), as the content score is.",
        needs=(SIGMA, SIGMA_ADDED),
    )
    lexical_strength: float = setting(
        1.0, "strength of sigma", LEXICON, "Factor on sigma.", within=(-STRONGEST, STRONGEST), needs=(SIGMA,)
    )
    learn_strength: bool = setting(
        False,
        "learned strength of sigma",
        LEXICON,
        "add only: learn that factor, one per layer, from this start.",
        needs=(SIGMA, SIGMA_ADDED),
    )
    lexical_component: int = setting(
        -1,
        "map that sigma reaches",
        LEXICON,
        "The one component that sigma reaches, counted from 0; -1: every component.",
        needs=(SIGMA, FURTHER_MAPS),
    )

    def __post_init__(self) -> None:
        check_ranges(self, "model.attention")
        self._check_components()
        check_needs(self, "model.attention")
        self._check_start()
        self._check_places()

    def _check_components(self) -> None:
        wrong = f"model.attention.components={self.components!s:.40}"
        if self.mixing == "single" and self.components != 1:
            raise ConfigError(f"{wrong}: mixing 'single' has one; choose mixing=additive")
        if self.mixing.startswith("differential") and self.components != 2:
            raise ConfigError(f"{wrong}: mixing '{self.mixing}' has two; choose components=2")
        if self.mixing == "additive" and not 1 <= self.components <= 16:
            raise ConfigError(f"{wrong}: 1 to 16 for mixing 'additive'")

    def _check_start(self) -> None:
        if self.lambda_start == "paper":
            return
        name, value = f"model.attention.lambda_start={self.lambda_start:.40}", self.start
        if value is None:
            raise ConfigError(f"{name}: paper, or a number such as 0.5")
        low, high = DIFFERENTIAL_START if self.mixing == "differential" else LAMBDA_RANGES[self.constraint].start
        if not low <= value <= high:
            near = f"{min(max(value, low), high):g}"
            raise ConfigError(f"{name}: {low:g} to {high:g} with this rule for lambda; the nearest is {near}")

    def _check_places(self) -> None:
        """What is more than a range."""
        if not 0 <= self.window <= WIDEST or self.window % 2:
            raise ConfigError(
                f"model.attention.window={self.window!s:.40}: an even number, half on each side (0: all see all); "
                f"the nearest is {min(max(0, self.window + self.window % 2), WIDEST)}"
            )
        if not -1 <= self.lexical_component < self.components:
            raise ConfigError(
                f"model.attention.lexical_component={self.lexical_component!s:.40}: -1 (all) to {self.components - 1}"
            )

    @property
    def start(self) -> float | None:
        """`lambda_start` as a number; None where the paper says it."""
        try:
            value = float(self.lambda_start)
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    @property
    def of_token(self) -> bool:
        """Whether lambda is one per token."""
        return self.lambda_input or self.mixing == "differential-v2"

    @property
    def lambda_sets(self) -> int:
        """Lambdas of a layer and component."""
        return self.heads if self.lambda_per_head else 1

    def qk(self, width: int) -> int:
        """Total width of the queries of one component in a model of this width."""
        return width // 2 if self.qk_width == "half" else width


class Line(NamedTuple):
    """One line of an equation and what it says."""

    latex: str
    words: str


@dataclass(frozen=True)
class Term:
    """Something that an attention has beside queries, keys and values."""

    name: str
    """Short, as it stands in a table: `gate`."""
    detail: str
    """What it does, in a few words."""
    parameters: int = 0
    added: str = ""
    """To the content score, in LaTeX."""
    factor: str = ""
    """On the content score."""
    lines: tuple[Line, ...] = ()
    """What defines the letters that it brings into the equation."""


def terms(part: AttentionConfig, width: int) -> tuple[Term, ...]:
    """What an attention has, in the order in which it acts.

    Args:
        part: its settings.
        width: d, of the model.
    """
    return tuple(term for say in TERMS if (term := say(part, width)))


def _rotary(part: AttentionConfig, width: int) -> Term | None:
    if not part.rotary:
        return None
    turned = rf"R_i:\ (2m,2m{{+}}1)\ \text{{turned by}}\ i\,/\,10000^{{2m/{part.qk(width) // part.heads}}}"
    line = Line(turned, "Rotary positions: scores see distances only.")
    return Term("rotary", "queries and keys turned by their place", lines=(line,))


def _qk_norm(part: AttentionConfig, width: int) -> Term | None:
    return Term("QK-norm", "cosines times a learned temperature τ", 1) if part.qk_norm else None


def _gate(part: AttentionConfig, width: int) -> Term | None:
    if not part.gate:
        return None
    if part.lexicon_gate:
        name, guided, opened = "lexicon gate", ", wider for words of the lexicon", r" + c\,|\rho_j^{+}-\rho_j^{-}|"
        words = "The gate of token j, wider open for a word with a polarity; c is learned."
    else:
        name, guided, opened, words = "gate", "", "", "The gate of token j."
    return Term(
        name,
        f"each key weighed between 0 and 1{guided}",
        width + 1 + part.lexicon_gate,
        added=r" + \log g_j",
        lines=(Line(rf"g_j = \operatorname{{sigmoid}}(x_j\cdot w_g + b{opened})", words),),
    )


def _lexical(part: AttentionConfig, width: int) -> Term | None:
    if part.lexical == "none":
        return None
    line = Line(
        r"\sigma_{ij} = \rho_i\cdot\rho_j,\quad \rho=(\rho^{+},\rho^{0},\rho^{-})",
        "The polarities of two tokens in the lexicon; 1/3 each where it knows nothing."
        + " The strength s is learned." * part.learn_strength,
    )
    where, reach = _reach(part)
    strength = r"s\," if part.learn_strength else "" if part.lexical_strength == 1 else rf"{part.lexical_strength:g}\,"
    if part.lexical == "hadamard":
        detail = f"content scores times the product of two words' polarities, {where}"
        return Term("σ multiplied", detail, factor=rf"\,{strength}\sigma_{{ij}}{reach}", lines=(line,))
    sigma = (
        rf"\frac{{\sigma_{{ij}}}}{{\sqrt{{{part.qk(width) // part.heads}}}}}" if part.lexical_scaled else r"\sigma_{ij}"
    )
    return Term(
        "σ added" + " in the last head" * (part.lexical_heads == "last") + ", scaled" * part.lexical_scaled,
        f"product of two words' polarities, {where}"
        + ", over √(head width)" * part.lexical_scaled
        + "; strength learned" * part.learn_strength,
        int(part.learn_strength),
        added=f" + {strength}{sigma}{reach}",
        lines=(line,),
    )


def _reach(part: AttentionConfig) -> tuple[str, str]:
    """Which heads and maps sigma reaches, in words and as a condition behind it."""
    last, one = part.lexical_heads == "last", part.lexical_component >= 0
    words = ("the last head" if last else "all heads") + f" of map {part.lexical_component + 1}" * one
    conditions = ["h=H"] * last + [f"n={part.lexical_component}"] * (one and part.components > 1)
    return words, rf"\,[{', '.join(conditions)}]" if conditions else ""


def _window(part: AttentionConfig, width: int) -> Term | None:
    if not part.window:
        return None
    drawn = f", and {part.random_globals} random ones" if part.random_globals else ""
    return Term(
        f"window {part.window}",
        f"{part.window} neighbours; first, last and {part.random_globals} random tokens see all",
        lines=(
            Line(
                rf"S_i = \{{j : |i-j|\le {part.window // 2}\}} \cup G",
                f"Whom token i sees; G, the first and the last token{drawn}, see all and are seen by all.",
            ),
        ),
    )


def _mixing(part: AttentionConfig, width: int) -> Term | None:
    if part.mixing == "single":
        return None
    if part.mixing == "differential-v2":
        line = Line(r"\lambda_i = \operatorname{sigmoid}(x_i\cdot w_h)", "One per token i and head h.")
        detail = "two maps subtracted, λ per token and head"
        return Term("A₁ − λA₂, λ of the token", detail, width * part.heads, lines=(line,))
    return _differential(part, width) if part.mixing == "differential" else _added(part, width)


def _differential(part: AttentionConfig, width: int) -> Term:
    begin = "grows with the layer" if part.start is None else f"is {part.start:g}"
    return Term(
        "A₁ − λA₂",
        f"two maps subtracted, one λ{' per head' * part.lambda_per_head}{_starting(part)}",
        4 * part.lambda_sets * (part.qk(width) // part.heads),
        lines=(
            Line(
                r"\lambda = e^{u_1\cdot v_1} - e^{u_2\cdot v_2} + \lambda_{\mathrm{init}}",
                f"Four learned vectors; the start {begin}.{' One per head.' * part.lambda_per_head}",
            ),
        ),
    )


def _added(part: AttentionConfig, width: int) -> Term:
    extra = (part.components - 1) * part.lambda_sets
    each = " per token" if part.lambda_input else " per head" if part.lambda_per_head else ""
    maps = "1 map" if part.components == 1 else f"{part.components} maps"
    return Term(
        f"{maps}, λ in {LAMBDA_RANGES[part.constraint].words}",
        f"further maps added, each with its λ{each}{', β learned' * part.learn_beta}{_starting(part)}",
        extra * (width // 4) * (1 + width if part.lambda_input else 2) + extra * part.learn_beta,
        lines=_lambda(part) if part.components > 1 else (),
    )


def _lambda(part: AttentionConfig) -> tuple[Line, Line]:
    between = LAMBDA_RANGES[part.constraint]
    each, key = ("_{n,i}", "W_n x_i") if part.lambda_input else ("_n", "v_n")
    beta = "alpha is fixed, beta learned" if part.learn_beta else "alpha and beta are fixed"
    fitted = "fitted to what the paper's models learned"
    begin = fitted if part.start is None else f"so that it starts at {part.start:g}"
    return (
        Line(
            rf"\lambda{each} = p{each}\,\alpha_n + (1-p{each})\,\beta_n",
            f"The weight of map n, between two ends; {beta}: {begin}.{' One per head.' * part.lambda_per_head}",
        ),
        Line(
            rf"p{each} = \operatorname{{mean}}\big({between.function}(u_n)\odot {between.function}({key})\big)",
            f"In {between.words}, from two learned vectors{' and the token' * part.lambda_input}.",
        ),
    )


def _starting(part: AttentionConfig) -> str:
    return "" if part.start is None else f", starting at {part.start:g}"


def _row_norm(part: AttentionConfig, width: int) -> Term | None:
    detail = "weights of the maps divided by the sum of their magnitudes"
    return Term("row norm", detail) if part.row_norm else None


def _head_norm(part: AttentionConfig, width: int) -> Term | None:
    return Term("head norm", "RMSNorm of each head's output", width // part.heads) if part.head_norm else None


TERMS: tuple[Callable[[AttentionConfig, int], Term | None], ...] = (
    _rotary,
    _qk_norm,
    _gate,
    _lexical,
    _window,
    _mixing,
    _row_norm,
    _head_norm,
)
"""What makes a score, who sees whom, how maps combine, what follows."""
