"""The forward pass of one text as stages: LaTeX formulas, matrices with cell formulas, and explanations."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from core.data.dataset import Task
from core.formatting import MINUS
from core.lazy_imports import scipy
from core.models.head import ACTIVATIONS, Head
from core.models.trace import Parts, Record
from core.training.temperature import Scaling

Array = np.ndarray
Names = tuple[str, ...]  # Of tokens, dimensions or classes
After = Literal["", "relu", "gelu", "tanh", "silu", "sigmoid", "abs"]
SHOWN = 3  # Largest products that are written of a long sum
FEW = 4  # Products of a short sum, which are all written, in order
CALM = 12  # Larger scores are written relative to the largest of their row, which does not change the softmax


@dataclass(frozen=True, eq=False)
class Dot:
    """A scaled matrix product, cell by cell: activation( scale · Σ_k left_ik right_kj + bias_j )."""

    left: Array  # (R, K)
    right: Array  # (K, C)
    bias: Array | None = None  # (C,)
    scale: float = 1.0
    after: After = ""

    def compute_values(self) -> Array:
        """Compute the values (R, C) of a scaled matrix product with bias and activation."""
        total = self.scale * (self.left @ self.right)
        return apply_activation(total if self.bias is None else total + self.bias, self.after)

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of a matrix product as text, with its largest products."""
        left, right = self.left[i], self.right[:, j]
        there = np.arange(len(left))
        some = there if len(left) <= FEW else np.argsort(-np.abs(left * right), kind="stable")[:SHOWN]
        words = " + ".join(f"{_format_factor(left[k])}·{_format_factor(right[k])}" for k in some)
        words += f" + … {len(left) - len(some)} more" if len(some) < len(left) else ""
        words = f"{format_number(self.scale)} · ({words})" if self.scale != 1 else words
        words = words if self.bias is None else f"{words} + {_format_factor(self.bias[j])}"
        return _wrap_activation(words, self.after)


@dataclass(frozen=True, eq=False)
class Sum:
    """An elementwise sum of products, cell by cell: activation( Σ_n Π_m part_nm )."""

    parts: tuple[tuple[Array | float, ...], ...]  # Arrays that broadcast to (R, C), and numbers
    shape: tuple[int, int]  # (R, C)
    after: After = ""

    def compute_values(self) -> Array:
        """Compute the values (R, C) of an elementwise sum of products."""
        total = np.zeros(self.shape)
        for factors in self.parts:
            total = total + math.prod(factors, start=np.ones(self.shape))
        return apply_activation(total, self.after)

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of an elementwise sum of products as text, with all products."""
        cells = [[float(np.broadcast_to(each, self.shape)[i, j]) for each in factors] for factors in self.parts]
        words = " + ".join("·".join(_format_factor(each) for each in factors) for factors in cells)
        return _wrap_activation(words, self.after)


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """Masked attention scores, cell by cell: scores of keys that a query may see, −∞ for all others."""

    scores: Array  # (R, C)
    allowed: Array  # (R, C) bool

    def compute_values(self) -> Array:
        """Compute the masked attention scores (R, C)."""
        return np.where(self.allowed, self.scores, -np.inf)

    def format_cell(self, i: int, j: int) -> str:
        """Write whether a query may see a key, with the attention score if it may."""
        return f"seen: {format_number(self.scores[i, j])}" if self.allowed[i, j] else "hidden"


@dataclass(frozen=True, eq=False)
class Softmax:
    """A softmax over rows, cell by cell, exp(s_ij) / Σ_m exp(s_im); a key at −∞ has weight 0."""

    scores: Array  # (R, C)

    def compute_values(self) -> Array:
        """Compute the softmax (R, C), whose rows sum to 1, or to 0 where every key is hidden."""
        top = self.scores.max(-1, keepdims=True)
        raised = np.exp(self.scores - np.where(np.isfinite(top), top, 0))
        total = raised.sum(-1, keepdims=True)
        return raised / np.where(total > 0, total, 1)

    def format_cell(self, i: int, j: int) -> str:
        """Write one softmax cell as a fraction: the exponential of its score over the sum of the row."""
        row = self.scores[i]
        if not np.isfinite(row[j]):
            return "hidden, so it weighs 0"
        shift = float(row.max()) if abs(row.max()) > CALM else 0.0
        total = float(np.exp(row - shift).sum())
        power = f"{format_number(row[j])} − {format_number(shift)}" if shift else format_number(row[j])
        return f"exp({power}) / Σ = {format_number(math.exp(row[j] - shift))} / {format_number(total)}"


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer norm, cell by cell: scale · weight_j (x_ij − mean_i) / deviation_i + bias_j; RMSNorm: no mean."""

    x: Array  # (R, C)
    weight: Array  # (C,)
    bias: Array | None  # (C,)
    eps: float
    centered: bool
    scale: float = 1.0

    def compute_values(self) -> Array:
        """Compute the layer-normalised matrix (R, C)."""
        mean, deviation = self._compute_moments()
        found: Array = self.scale * self.weight * (self.x - mean) / deviation
        return found if self.bias is None else found + self.bias

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of a layer norm as text, with the mean and deviation of its row."""
        mean, deviation = self._compute_moments()
        above = format_number(self.x[i, j])
        above = f"({above} − {_format_factor(mean[i, 0])})" if self.centered else above
        factors = [format_number(self.scale)] if self.scale != 1 else []
        words = "·".join([*factors, _format_factor(self.weight[j]), f"{above} / {format_number(deviation[i, 0])}"])
        return words if self.bias is None else f"{words} + {_format_factor(self.bias[j])}"

    def _compute_moments(self) -> tuple[Array, Array]:
        mean = self.x.mean(-1, keepdims=True) if self.centered else np.zeros((len(self.x), 1))
        return mean, np.sqrt(((self.x - mean) ** 2).mean(-1, keepdims=True) + self.eps)


@dataclass(frozen=True, eq=False)
class Largest:
    """The formula of each cell of a max pooling, as shown on Steps: the largest value of each column."""

    x: Array  # (R, C)
    names: Names = field(default=())  # Of the rows

    def compute_values(self) -> Array:
        """Compute the largest value of each column, (1, C)."""
        return self.x.max(0, keepdims=True)

    def format_cell(self, i: int, j: int) -> str:
        """Write at which row a column has its largest value."""
        return f"the largest of {len(self.x)}, at {self.names[int(self.x[:, j].argmax())]}"


def to_float64(weight: Tensor | None) -> Array:
    """Convert a model weight to a float64 array on the CPU; RuntimeError if the model lacks this weight."""
    if weight is None:
        raise RuntimeError("this part of the model has no such weight")
    return weight.detach().double().cpu().numpy()


def make_linear_rule(x: Array, module: nn.Linear, part: slice = slice(None)) -> Dot:
    """Return the cell by cell formula x W^T + b of a linear layer, for all or some of its outputs."""
    bias = None if module.bias is None else to_float64(module.bias)[part]
    return Dot(x, to_float64(module.weight).T[:, part], bias)


def make_norm_rule(x: Array, module: nn.Module | None, scale: float = 1.0) -> Norm | None:
    """Return the formula of each cell of a LayerNorm or RMSNorm module; None if the module is neither."""
    if not isinstance(module, nn.LayerNorm | nn.RMSNorm):
        return None
    eps = torch.finfo(torch.float32).eps if module.eps is None else module.eps
    bias = None if (bias := getattr(module, "bias", None)) is None else to_float64(bias)
    return Norm(x, to_float64(module.weight), bias, eps, isinstance(module, nn.LayerNorm), scale)


def make_sum_rule(parts: Parts, shape: tuple[int, int], after: str, pick: Callable[[Tensor], Array]) -> Sum:
    """Return the formula of each cell of a sum of products that was recorded in a forward pass."""
    factors = (tuple(pick(each) if isinstance(each, Tensor) else each for each in part) for part in parts)
    return Sum(tuple(factors), shape, after)  # type: ignore[arg-type]


Rule = Dot | Sum | MaskedScores | Softmax | Norm | Largest


def apply_activation(x: Array, after: After) -> Array:
    """Apply ReLU, GELU, tanh, SiLU, sigmoid or absolute value elementwise; an empty name changes nothing."""
    return {
        "": lambda: x,
        "relu": lambda: np.maximum(x, 0),
        "gelu": lambda: x * (1 + scipy.special.erf(x / math.sqrt(2))) / 2,
        "tanh": lambda: np.tanh(x),
        "silu": lambda: x * scipy.special.expit(x),
        "sigmoid": lambda: scipy.special.expit(x),
        "abs": lambda: np.abs(x),
    }[after]()


def format_number(value: float) -> str:
    """Format a number with two decimals, three below 0.1, or in powers of ten; with a true minus sign."""
    size = abs(float(value))
    if not math.isfinite(size):
        return f"{MINUS}∞" if value < 0 else "∞"
    if size == 0:
        return "0"
    if size >= 1e5 or size < 0.0005:
        return f"{value:.1e}".replace("-", MINUS)
    return f"{value:.{2 if size >= 0.095 else 3}f}".replace("-", MINUS)


def _format_factor(value: float) -> str:
    said = format_number(value)
    return f"({said})" if said.startswith(MINUS) else said


def _wrap_activation(words: str, after: After) -> str:
    return {"": words, "relu": f"max(0, {words})", "abs": f"|{words}|"}.get(after, f"{after}({words})")


Kind = Literal["number", "score", "weight", "count"]


@dataclass(frozen=True, eq=False)
class StageMatrix:
    """A matrix of a forward-pass stage, with named rows and columns and the formula of its cells."""

    name: str  # LaTeX
    values: np.ndarray  # (R, C) float64; −∞ where a score is hidden
    rows: Names
    columns: Names
    kind: Kind = "number"  # Scores are compared, weights are mostly between 0 and 1, counts are integers
    rule: Rule | None = None  # Formula of its cells; None: they are given
    words: tuple[Names, ...] = ()  # (R, …) columns of text, whose names follow the others in `columns`

    def format_cell(self, row: int, column: int) -> str:
        """Write a matrix cell's formula with its numbers, `0.42·1.10 + … = 2.31`; without a formula only the number."""
        value = self.values[row, column]
        said = str(int(value)) if self.kind == "count" else format_number(value)
        return said if self.rule is None else f"{self.rule.format_cell(row, column)} = {said}"


@dataclass(frozen=True)
class ForwardStage:
    """One stage of the forward pass, from the text to the predicted probabilities."""

    key: str
    """tokens, embedding, queries, scores, terms, mask, softmax, combine, mix, heads, residual, feedforward,
    convolutions, head-attention, states, largest, weights, valences, pool, dense, logits, probabilities."""
    title: str
    formulas: Names  # LaTeX, with the letters of `core.models.model_description.write_equation`
    reading: str  # Explanation, also for a stage that the model does not have
    matrices: tuple[StageMatrix, ...] = ()  # The last is the output; empty: the model does not have the stage

    @property
    def made(self) -> np.ndarray:
        """Return the output of a forward-pass stage, the values of its last matrix."""
        return self.matrices[-1].values


@dataclass(frozen=True)
class ForwardStages:
    """All forward-pass stages of one text, for one layer, one head and one attention map of the head."""

    text: str
    tokens: Names  # As the model reads them, with a class token first and padding last
    stages: tuple[ForwardStage, ...]
    layer: int  # From 1; 0 without layers
    head: int  # From 1; 0 without heads
    component: int  # From 0
    layers: int
    heads: int
    components: int
    notes: Names  # Unknown words and truncation

    def find_stage(self, key: str) -> ForwardStage:
        """Return the forward-pass stage with a key such as `softmax`; KeyError if there is none."""
        return {stage.key: stage for stage in self.stages}[key]


def name_dimensions(many: int) -> Names:
    """Return the names of vector dimensions, numbered from 1."""
    return tuple(str(i) for i in range(1, many + 1))


ONE = ("text",)


def build_pooling(head: Head, record: Record, tokens: StageMatrix, *, lead: bool) -> list[ForwardStage]:
    """Build the stage that pools the token vectors of a text into one vector, by class token or mean."""
    many, letter = len(tokens.rows), tokens.name
    rule = Dot(np.eye(1, many) if head.first else np.full((1, many), 1 / many), tokens.values)
    formula = rf"p = {letter}_1" if head.first else rf"p = \tfrac{{1}}{{{many}}}\sum_i {letter}_i"
    of = "that of the class token" if head.first else f"the mean of its {many} tokens"
    shown = StageMatrix(letter, tokens.values, tokens.rows, tokens.columns, rule=tokens.rule if lead else None)
    pooled = StageMatrix("p", to_float64(record.values["p"].value), ONE, tokens.columns, rule=rule)
    return [ForwardStage("pool", "Pool", (formula,), f"One vector for the whole text: {of}.", (shown, pooled))]


def yield_classifier(head: Head, record: Record, pooled: StageMatrix, classes: Names) -> Iterator[ForwardStage]:
    """Yield the last forward-pass stages: the dense layer of the head, if there is one, and the classifier."""
    vector = pooled
    if head.dense is not None:
        dense, names = [each for each in "mt" if each in record.values], name_dimensions(head.dense.out_features)
        first = replace(make_linear_rule(pooled.values, head.dense), after=cast(After, head.activation))
        shown = [StageMatrix(pooled.name, pooled.values, pooled.rows, pooled.columns)]
        for name in dense:
            rule = first if name == dense[0] else make_norm_rule(shown[-1].values, head.dense_norm)
            shown.append(StageMatrix(name, to_float64(record.values[name].value), ONE, names, rule=rule))
        vector, formulas = shown[-1], tuple(record.values[name].formula for name in dense)
        does = "keeps them between −1 and 1" if head.activation == "tanh" else "leaves out what is below 0"
        reading = f"A dense layer makes new features of the pooled vector; {ACTIVATIONS[head.activation][0]} {does}."
        yield ForwardStage("dense", "Dense", formulas, reading, tuple(shown))
    one = int(head.one_logit)
    weight, bias = np.pad(to_float64(head.weight).T, ((0, 0), (one, 0))), np.pad(to_float64(head.bias), (one, 0))
    yield build_logits(vector, weight, bias, classes, to_float64(record.values["l"].value), one=head.one_logit)


def build_logits(
    vector: StageMatrix, weight: Array, bias: Array, classes: Names, found: Array | None = None, *, one: bool = False
) -> ForwardStage:
    """Build the stage of the linear classifier, from the pooled vector and the weights to the logits."""
    rule = Dot(vector.values, weight, bias)
    shown = StageMatrix(vector.name, vector.values, vector.rows, vector.columns)
    weights = StageMatrix("W", weight.T, classes, vector.columns)
    logits = StageMatrix("l", rule.compute_values() if found is None else found, ONE, classes, rule=rule)
    formula = rf"l = [0,\ w\cdot {vector.name} + b]" if one else rf"l = W\,{vector.name} + b"
    reading = "W has a row for each class: the more similar the vector is to it, the larger the logit of the class."
    if one:
        reading = "One number: above 0 the second class is more probable, and the first has logit 0."
    return ForwardStage("logits", "Logits", (formula,), reading, (shown, weights, logits))


def build_probabilities(
    logits: StageMatrix, task: Task, scaling: Scaling, mixed: tuple[float, Array] | None = None
) -> ForwardStage:
    """Build the last forward-pass stage, from logits (1, C) to the class probabilities of a prediction.

    `mixed` is the weight of the network and the logits (1, C) of TF-IDF, if its probabilities are mixed in.
    """
    shown = StageMatrix(logits.name, logits.values, ONE, logits.columns)
    matrices, formulas, letter, said = [shown], list[str](), "l", list[str]()
    if mixed is not None:
        weight, theirs = mixed
        rules = {name: _make_probability_rule(each, task) for name, each in (("n", logits.values), ("k", theirs))}
        made = ((name, rule.compute_values(), rule) for name, rule in rules.items())
        parts = [StageMatrix(name, values, ONE, logits.columns, "weight", rule) for name, values, rule in made]
        both = Sum(((weight, parts[0].values), (1 - weight, parts[1].values)), logits.values.shape)
        mixture = StageMatrix("m", both.compute_values(), ONE, logits.columns, "weight", both)
        matrices += [*parts, mixture]
        back = np.log(mixture.values) - (np.log1p(-mixture.values) if task == "multi" else 0)
        letter = r"\ln m" if task == "single" else r"\ln\tfrac{m}{1-m}"
        shown = StageMatrix(letter, back, ONE, logits.columns)
        formulas.append(rf"m = {weight:.2f}\,n + {1 - weight:.2f}\,k")
        said.append("The probabilities of the network, n, are mixed with those of TF-IDF, k.")
    if scaling.temperature != 1:
        letter = letter if letter == "l" else rf"({letter})"
        added = _apply_temperature(shown.values, logits.columns, letter, task, scaling)
        matrices += added
        shown, about = added[-1], f"The temperature T = {scaling.temperature:.2f}, fitted on validation,"
        if scaling.prior:
            doubt = r"\ln \pi" if task == "single" else r"\ln\tfrac{\pi}{1-\pi}"
            formulas.append(rf"z = {letter}/T + (1 - 1/T)\,{doubt}")
            towards = "towards" if scaling.temperature > 1 else "away from"
            kind = "class" if task == "single" else "label"
            about += f" moves the logits {towards} π, how frequent each {kind} is, and"
        letter = shown.name
        said.append(f"{about} makes the probabilities come true.")
    rule = _make_probability_rule(shown.values, task)
    function = "softmax" if task == "single" else "sigmoid"
    formulas.append(rf"P = \operatorname{{{function}}}({letter})")
    matrices.append(StageMatrix("P", rule.compute_values(), ONE, logits.columns, "weight", rule))
    sums = "shares that sum to 1" if task == "single" else "a probability of each label by itself"
    said.append(f"The logits become {sums}: the answer.")
    return ForwardStage("probabilities", "Probabilities", tuple(formulas), " ".join(said), tuple(matrices))


def _apply_temperature(logits: Array, columns: Names, named: str, task: Task, scaling: Scaling) -> list[StageMatrix]:
    """Return stage matrices for temperature scaling: the class prior, if any, and the scaled logits."""
    share = 1 / scaling.temperature
    if not scaling.prior:
        rule = Sum(((logits, share),), logits.shape)
        return [StageMatrix(f"{named}/T", rule.compute_values(), ONE, columns, rule=rule)]
    rule = Sum(((logits, share), (np.array([scaling.compute_prior_logits(task)]), 1 - share)), logits.shape)
    prior = StageMatrix(r"\pi", np.array([scaling.prior]), ("training",), columns, "weight")
    return [prior, StageMatrix("z", rule.compute_values(), ONE, columns, rule=rule)]


def _make_probability_rule(logits: Array, task: Task) -> Rule:
    return Softmax(logits) if task == "single" else Sum(((logits,),), logits.shape, "sigmoid")
