"""The settings of an attention layer, each with a description, its term in the equation and its size.

A new term needs a field here, a function that describes it, its line in `TERMS`, and the module that computes it;
pages, diagram, equation and error messages follow from these. Imports no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from core.exceptions import ConfigError
from core.formatting import parse_number
from core.settings import LARGEST_SEED, Group, Need, check_needs, check_ranges, setting


class EquationLine(NamedTuple):
    """A line of a model's LaTeX equation with its explanation."""

    latex: str
    words: str


class Formula(NamedTuple):
    """The LaTeX parts of the attention equation: queries, keys, divisor, factors, added terms, mask, and norm."""

    q: str
    k: str
    below: str
    before: str = ""
    factor: str = ""
    added: str = ""
    seen: str = "j"
    combined: str = "A"
    norm: str = ""
    words: str = "One map weighs the values."  # How the maps combine


@dataclass(frozen=True)
class Term:
    """An extension of plain attention: name, description, parameters, and how it changes the equation."""

    name: str  # Short name for tables: `gate`
    detail: str  # What it does, in a few words
    parameters: int = 0
    write: Callable[[Formula], Formula] = field(default=lambda formula: formula, compare=False)  # Changes the equation
    lines: tuple[EquationLine, ...] = ()  # Definitions of its symbols


Constraint = Literal["01", "pm1", "pos", "free"]


class LambdaRange(NamedTuple):
    """An allowed range of the map weight λ: notation, the function that enforces it, and possible starting values."""

    interval: str  # In LaTeX
    function: str  # In LaTeX; `core.models.attention` computes it
    start: tuple[float, float]  # Excludes closed ends of the range, where lambda could not change
    slider: tuple[float, float]  # Range of the slider on pages

    @property
    def plain(self) -> str:
        """Return the range of the map weight λ as plain text without LaTeX, such as [0,∞)."""
        return self.interval.replace(r"\infty", "∞")

    @property
    def words(self) -> str:
        """Return the range of the map weight λ as text for a sentence, with a typographic minus sign."""
        return self.plain.replace("-", "−")


LAMBDA_RANGES: dict[Constraint, LambdaRange] = {
    "01": LambdaRange("[0,1]", r"\operatorname{sigmoid}", (0.01, 0.99), (0.0, 1.0)),
    "pm1": LambdaRange("[-1,1]", r"\tanh", (-0.99, 0.99), (-1.0, 1.0)),
    "pos": LambdaRange(r"[0,\infty)", r"\operatorname{ReLU}", (0.0, 10.0), (0.0, 1.5)),
    "free": LambdaRange(r"(-\infty,\infty)", r"\operatorname{id}", (-10.0, 10.0), (-1.5, 1.5)),
}
DIFFERENTIAL = r"\lambda = e^{u_1\cdot v_1} - e^{u_2\cdot v_2} + \lambda_{\mathrm{init}}"
OF_TOKEN = r"\lambda_i = \operatorname{sigmoid}(x_i\cdot w_h)"
ADDITIVE = r"\lambda_n = p_n\,\alpha_n + (1-p_n)\,\beta_n"
DIFFERENTIAL_START = (0.0, 0.99)  # Range of the differential rule's start, as heads are scaled by 1 - start

Mixing = Literal["single", "differential", "differential-v2", "additive"]
Lexical = Literal["none", "add", "hadamard"]

WIDEST = 65_536  # Larger than the longest text
MOST_LEXICONS = 8
STRONGEST = 1000  # With a larger factor on scores a softmax is a maximum

MAPS: Group = "Maps and lambda"
SCORES: Group = "Scores"
GATE: Group = "Gate and window"
LEXICON: Group = "Lexicon"

FURTHER_MAPS = Need(
    lambda part: part.components > 1, "there is one map, which has no lambda; choose components=2", refused=False
)
FURTHER_ADDED = Need(
    lambda part: part.mixing == "additive" and part.components > 1,
    "only mixing 'additive' with two components or more has it; choose mixing=additive, or mixing=differential-v2, "
    "whose lambda is one per token anyway",
)
LAMBDA_OF_LAYER = Need(
    lambda part: part.mixing in ("differential", "additive"),
    "mixing '{0.mixing}' has no lambda of a layer; choose mixing=additive",
)
STARTED = Need(
    lambda part: part.mixing in ("differential", "additive") and part.components > 1,
    "there is no lambda that it would start; choose lambda_start=paper",
)
WINDOW = Need(lambda part: part.window > 0, "no effect, because window is 0, so all tokens see all; choose window=64")
SIGMA = Need(lambda part: part.lexical != "none", "no effect, because lexical is 'none'; choose lexical=add")
SIGMA_ADDED = Need(
    lambda part: part.lexical != "hadamard", "no effect, because lexical is 'hadamard'; choose lexical=add"
)


def _require_additive(what: str) -> Need:
    return Need(lambda part: part.mixing == "additive", f"only mixing 'additive' has {what}; choose mixing=additive")


@dataclass(frozen=True)
class AttentionConfig:
    """The settings of an attention layer: its maps (components), how they are combined, and terms of the scores."""

    # fmt: off
    heads: int = setting(4, "heads", SCORES, within=(1, 1024))
    qk_width: Literal["full", "half"] = setting("full", "width of queries and keys", SCORES,
        "Total width of the queries (and keys) of one component: full = model width, half = half of it (DT, NDT).")
    components: int = setting(1, "maps per head", MAPS, "N, the base component included.")
    mixing: Mixing = setting("single", "how maps combine", MAPS,
        "single: c = 1 · differential: 1, -lambda · differential-v2: that per token and head · additive: 1, lambda_i.")
    constraint: Constraint = setting("01", "range of lambda", MAPS,
        "Additive only, the range of lambda: 01 = [0,1] · pm1 = [-1,1] · pos = [0,inf) · free.",
        needs=(_require_additive("it"), FURTHER_MAPS))
    learn_beta: bool = setting(False, "learned beta", MAPS,
        "Additive only: learn the bias term beta of lambda instead of keeping it fixed.",
        needs=(_require_additive("a beta"), FURTHER_MAPS))
    lambda_per_head: bool = setting(False, "lambda per head", MAPS,
        "One lambda per head instead of one per layer (differential and additive).",
        needs=(LAMBDA_OF_LAYER, FURTHER_MAPS))
    lambda_input: bool = setting(False, "lambda per token", MAPS,
        "Additive only: lambda of each token from the token itself, in place of one for all.", needs=(FURTHER_ADDED,))
    lambda_start: str = setting("paper", "lambda at the start", MAPS,
        "Where lambda starts: a number, the same for every layer and component · paper: differential as its paper "
        "says; additive, whose paper prints no start, a fit to the lambdas that it reports after training.",
        needs=(STARTED,))
    head_norm: bool = setting(False, "norm of each head", MAPS,
        "Per-head RMSNorm of the head outputs, scaled by 1 - lambda_init (differential) or 1 / (1 + sum lambda_init).")
    row_norm: bool = setting(False, "weights of maps normalised", MAPS,
        "Divide the coefficients by the sum of their magnitudes, so that a row of the combined map never exceeds 1.",
        needs=(Need(lambda part: part.components > 1, "one map needs none; choose components=2 and mixing=additive"),))
    rotary: bool = setting(False, "rotary positions", SCORES,
        "Turn queries and keys by an angle that grows with the position (RoPE): scores see distances only.")
    qk_norm: bool = setting(False, "cosine scores with a temperature", SCORES,
        "Scores are cosines times a learned temperature tau, one per layer, in place of q·k / sqrt(head width).")
    gate: bool = setting(False, "gate on the keys", GATE,
        "Each key is weighted by a learned gate between 0 and 1 (SentiFormer, eq. 4).")
    lexicon_gate: bool = setting(False, "gate guided by the lexicon", GATE,
        "The gate starts wider open for words that a lexicon calls positive or negative; by how much is learned.",
        needs=(Need(lambda part: part.gate, "there is no gate to guide; choose gate=true as well"),))
    window: int = setting(0, "window of neighbours", GATE,
        "Each token sees this many neighbours, half on each side, and a few tokens that all see; 0: all see all.")
    random_globals: int = setting(2, "random tokens that see all", GATE,
        "With a window: tokens drawn at random that all see, besides the first and the last.", within=(0, 64),
        needs=(WINDOW,))
    support_seed: int = setting(0, "seed of these tokens", GATE,
        "With a window: seed of these draws; they depend on nothing else but the layer and the length of the text.",
        within=(0, LARGEST_SEED), needs=(WINDOW,))
    lexical: Lexical = setting("none", "sigma of the lexicon", LEXICON,
        "What sigma, the product of two tokens' polarities in a lexicon, does to their score: add · hadamard: "
        "multiply.")
    lexicons: int = setting(1, "lexicons that sigma reads", LEXICON,
        "So many lexicons as text.lexicon names: each has a sigma of its own, and they are added.",
        within=(1, MOST_LEXICONS), needs=(SIGMA,))
    lexical_heads: Literal["all", "last", "apart"] = setting("all", "heads that sigma reaches", LEXICON,
        "Heads that sigma reaches; apart: of K lexicons each has every K-th head to itself.", needs=(SIGMA,))
    lexical_scaled: bool = setting(False, "sigma divided by the root of the head width", LEXICON,
        "add only: divide sigma by sqrt(head width), as the content score is.", needs=(SIGMA, SIGMA_ADDED))
    lexical_strength: float = setting(1.0, "strength of sigma", LEXICON, "Factor on sigma.",
        within=(-STRONGEST, STRONGEST), needs=(SIGMA,))
    learn_strength: bool = setting(False, "learned strength of sigma", LEXICON,
        "add only: learn that factor, one per layer and lexicon, from this start.", needs=(SIGMA, SIGMA_ADDED))
    lexical_component: int = setting(-1, "map that sigma reaches", LEXICON,
        "The one component that sigma reaches, counted from 0; -1: every component.", needs=(SIGMA, FURTHER_MAPS))
    # fmt: on

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
        if not 0 <= self.window <= WIDEST or self.window % 2:
            raise ConfigError(
                f"model.attention.window={self.window!s:.40}: an even number, half on each side (0: all see all); "
                f"the nearest is {min(max(0, self.window + self.window % 2), WIDEST)}"
            )
        if not -1 <= self.lexical_component < self.components:
            raise ConfigError(
                f"model.attention.lexical_component={self.lexical_component!s:.40}: -1 (all) to {self.components - 1}"
            )
        if self.lexical_heads == "apart" and not 1 < self.lexicons <= self.heads:
            raise ConfigError(
                f"model.attention.lexical_heads=apart: for 2 to {self.heads} lexicons, a head for each, and "
                f"model.attention.lexicons={self.lexicons}; name more in text.lexicon, or choose lexical_heads=all"
            )

    @property
    def start(self) -> float | None:
        """Return the starting value of the map weight λ as a number; None if the paper's rule determines it."""
        return parse_number(self.lambda_start)

    @property
    def subtracts(self) -> bool:
        """Return whether the second attention map is subtracted from the first."""
        return self.mixing.startswith("differential")

    @property
    def superscript(self) -> str:
        """Return the LaTeX superscript for queries and keys of several attention maps; empty for one map."""
        return "^{(n)}" if self.components > 1 else ""

    @property
    def lambda_sets(self) -> int:
        """Return how many weights λ each attention map of a layer has: one, or one per head."""
        return self.heads if self.lambda_per_head else 1

    def get_qk_width(self, width: int) -> int:
        """Return the total width of the queries of one attention map (component) for a model width."""
        return width // 2 if self.qk_width == "half" else width


def list_terms(part: AttentionConfig, width: int) -> tuple[Term, ...]:
    """List descriptions of what is added to plain attention (rotation, gate, lexicon, window …), in order of effect."""
    return tuple(term for say in TERMS if (term := say(part, width)))


def _describe_rotary(part: AttentionConfig, width: int) -> Term | None:
    if not part.rotary:
        return None
    turned = rf"R_i:\ (2m,2m{{+}}1)\ \text{{turned by}}\ i\,/\,10000^{{2m/{part.get_qk_width(width) // part.heads}}}"
    return Term(
        "rotary",
        "queries and keys turned by their place",
        write=lambda formula: formula._replace(q=f"R_i{formula.q}", k=f"R_j{formula.k}"),
        lines=(EquationLine(turned, "Rotary positions: scores see distances only."),),
    )


def _describe_qk_norm(part: AttentionConfig, width: int) -> Term | None:
    if not part.qk_norm:
        return None
    at = part.superscript
    below = rf"\lVert q_i{at}\rVert\,\lVert k_j{at}\rVert"
    return Term(
        "QK-norm",
        "cosines times a learned temperature τ",
        1,
        lambda formula: formula._replace(before=r"\tau\,", below=below),
    )


def _describe_gate(part: AttentionConfig, width: int) -> Term | None:
    if not part.gate:
        return None
    if part.lexicon_gate:
        valence = r"\rho_j^{+}-\rho_j^{-}" if part.lexicons == 1 else r"\sum_k \rho_j^{(k)+}-\rho_j^{(k)-}"
        name, guided, opened = "lexicon gate", ", wider for words of the lexicon", rf" + c\,|{valence}|"
        words = "The gate of token j, wider open for a word with a polarity; c is learned."
    else:
        name, guided, opened, words = "gate", "", "", "The gate of token j."
    return Term(
        name,
        f"each key weighed between 0 and 1{guided}",
        width + 1 + part.lexicon_gate,
        lambda formula: formula._replace(added=rf"{formula.added} + \log g_j"),
        lines=(EquationLine(rf"g_j = \operatorname{{sigmoid}}(x_j\cdot w_g + b{opened})", words),),
    )


def _describe_lexical(part: AttentionConfig, width: int) -> Term | None:
    if part.lexical == "none":
        return None
    line = _define_sigma(part)
    last, one = part.lexical_heads == "last", part.lexical_component >= 0
    heads = {"all": "all heads", "last": "the last head", "apart": "each lexicon in heads of its own"}
    words = heads[part.lexical_heads] + f" of map {part.lexical_component + 1}" * one
    conditions = ["h=H"] * last + [f"n={part.lexical_component}"] * (one and part.components > 1)
    where, reach = words, rf"\,[{', '.join(conditions)}]" if conditions else ""
    number = "" if part.lexical_strength == 1 else rf"{part.lexical_strength:g}\,"
    strength = number if not part.learn_strength else "" if part.lexicons > 1 else r"s\,"
    if part.lexical == "hadamard":
        detail = f"content scores times the product of two words' polarities{_describe_lexicons(part)}, {where}"
        factor = rf"\,{strength}\sigma_{{ij}}{reach}"
        return Term("σ multiplied", detail, write=lambda formula: formula._replace(factor=factor), lines=(line,))
    sigma = (
        rf"\frac{{\sigma_{{ij}}}}{{\sqrt{{{part.get_qk_width(width) // part.heads}}}}}"
        if part.lexical_scaled
        else r"\sigma_{ij}"
    )
    return Term(
        "σ added" + " in the last head" * (part.lexical_heads == "last") + ", scaled" * part.lexical_scaled,
        f"product of two words' polarities{_describe_lexicons(part)}, {where}"
        + ", over √(head width)" * part.lexical_scaled
        + "; strength learned" * part.learn_strength,
        part.lexicons * part.learn_strength,
        lambda formula: formula._replace(added=f"{formula.added} + {strength}{sigma}{reach}"),
        lines=(line,),
    )


def _describe_lexicons(part: AttentionConfig) -> str:
    return f" in each of {part.lexicons} lexicons, added up" * (part.lexicons > 1)


def _define_sigma(part: AttentionConfig) -> EquationLine:
    """Return the LaTeX line that defines sigma, the score term that compares the lexicon polarities of two tokens."""
    learned = " The strength s is learned" * part.learn_strength
    known = r",\quad \rho=(\rho^{+},\rho^{0},\rho^{-})"
    if part.lexicons == 1:
        words = "The polarities of two tokens in the lexicon; 1/3 each where it knows nothing."
        return EquationLine(rf"\sigma_{{ij}} = \rho_i\cdot\rho_j{known}", words + learned + "." * part.learn_strength)
    strength = r"s_k\," * part.learn_strength
    where = rf"\,[h \equiv k \bmod {part.lexicons}]" if part.lexical_heads == "apart" else ""
    words = f"The polarities of two tokens in each of {part.lexicons} lexicons; 1/3 each where it knows nothing."
    return EquationLine(
        rf"\sigma_{{ij}} = \sum_{{k=1}}^{{{part.lexicons}}} {strength}\rho_i^{{(k)}}\cdot\rho_j^{{(k)}}{where}{known}",
        words + " A strength s_k is learned for each." * part.learn_strength,
    )


def _describe_window(part: AttentionConfig, width: int) -> Term | None:
    if not part.window:
        return None
    drawn = f", and {part.random_globals} random ones" if part.random_globals else ""
    return Term(
        f"window {part.window}",
        f"{part.window} neighbours; first, last and {part.random_globals} random tokens see all",
        write=lambda formula: formula._replace(seen=r"j \in S_i"),
        lines=(
            EquationLine(
                rf"S_i = \{{j : |i-j|\le {part.window // 2}\}} \cup G",
                f"Whom token i sees; G, the first and the last token{drawn}, see all and are seen by all.",
            ),
        ),
    )


TERMS: tuple[Callable[[AttentionConfig, int], Term | None], ...] = (
    _describe_rotary,
    _describe_qk_norm,
    _describe_gate,
    _describe_lexical,
    _describe_window,
)  # Terms of the scores and of the window; `core.models.model_description` describes how maps combine
