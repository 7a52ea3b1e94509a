"""The forward pass of one text as stages: LaTeX formulas, matrices with cell formulas, and explanations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.data.dataset import Task
from core.interpret.cell_formulas import (
    Array,
    Dot,
    Rule,
    Softmax,
    Sum,
    format_number,
    make_linear_rule,
    make_norm_rule,
    to_float64,
)
from core.models.activation_record import Record
from core.models.head import Head
from core.training.calibration import Scaling

Kind = Literal["number", "score", "weight", "count"]


@dataclass(frozen=True, eq=False)
class StageMatrix:
    """A matrix of a forward-pass stage, with named rows and columns and the formula of its cells."""

    name: str  # LaTeX
    values: np.ndarray  # (R, C) float64; −∞ where a score is hidden
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    kind: Kind = "number"  # Scores are compared, weights are mostly between 0 and 1, counts are integers
    rule: Rule | None = None  # Formula of its cells; None: they are given
    words: tuple[tuple[str, ...], ...] = ()  # (R, …) columns of text, whose names follow the others in `columns`

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
    formulas: tuple[str, ...]  # LaTeX, with the letters of `core.models.model_description.write_equation`
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
    tokens: tuple[str, ...]  # As the model reads them, with a class token first and padding last
    stages: tuple[ForwardStage, ...]
    layer: int  # From 1; 0 without layers
    head: int  # From 1; 0 without heads
    component: int  # From 0
    layers: int
    heads: int
    components: int
    notes: tuple[str, ...]  # Unknown words and truncation

    def find_stage(self, key: str) -> ForwardStage:
        """Return the forward-pass stage with a key such as `softmax`; KeyError if there is none."""
        return {stage.key: stage for stage in self.stages}[key]


def name_dimensions(many: int) -> tuple[str, ...]:
    """Return the names of vector dimensions, numbered from 1."""
    return tuple(str(i) for i in range(1, many + 1))


ONE = ("text",)


def build_pooling(head: Head, record: Record, tokens: StageMatrix, *, lead: bool) -> list[ForwardStage]:
    """Build the stage that pools the token vectors of a text into one vector, by class token or mean."""
    many, letter = len(tokens.rows), tokens.name
    weights = np.eye(1, many) if head.first else np.full((1, many), 1 / many)
    rule = Dot(weights, tokens.values)
    formula = rf"p = {letter}_1" if head.first else rf"p = \tfrac{{1}}{{{many}}}\sum_i {letter}_i"
    of = "that of the class token" if head.first else f"the mean of its {many} tokens"
    shown = StageMatrix(letter, tokens.values, tokens.rows, tokens.columns, rule=tokens.rule if lead else None)
    pooled = StageMatrix("p", to_float64(record.values["p"].value), ONE, tokens.columns, rule=rule)
    return [ForwardStage("pool", "Pool", (formula,), f"One vector for the whole text: {of}.", (shown, pooled))]


def yield_classifier(
    head: Head, record: Record, pooled: StageMatrix, classes: tuple[str, ...]
) -> Iterator[ForwardStage]:
    """Yield the last forward-pass stages: the dense layer of the head, if there is one, and the classifier."""
    vector = pooled
    if head.dense is not None and head.dense_norm is not None:
        m, t, names = record.values["m"], record.values["t"], name_dimensions(head.dense.out_features)
        relu = replace(make_linear_rule(pooled.values, head.dense), after="relu")
        before = StageMatrix("m", to_float64(m.value), ONE, names, rule=relu)
        vector = StageMatrix("t", to_float64(t.value), ONE, names, rule=make_norm_rule(before.values, head.dense_norm))
        formulas = m.formula, t.formula
        reading = "A dense layer makes new features of the pooled vector; ReLU leaves out what is below 0."
        shown = StageMatrix(pooled.name, pooled.values, pooled.rows, pooled.columns)
        yield ForwardStage("dense", "Dense", formulas, reading, (shown, before, vector))
    one = int(head.one_logit)
    weight, bias = np.pad(to_float64(head.weight).T, ((0, 0), (one, 0))), np.pad(to_float64(head.bias), (one, 0))
    yield build_logits(vector, weight, bias, classes, to_float64(record.values["l"].value), one=head.one_logit)


def build_logits(
    vector: StageMatrix,
    weight: Array,
    bias: Array,
    classes: tuple[str, ...],
    found: Array | None = None,
    *,
    one: bool = False,
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
        parts = [
            StageMatrix(name, rule.compute_values(), ONE, logits.columns, "weight", rule)
            for name, rule in rules.items()
        ]
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


def _apply_temperature(
    logits: Array, columns: tuple[str, ...], named: str, task: Task, scaling: Scaling
) -> list[StageMatrix]:
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
