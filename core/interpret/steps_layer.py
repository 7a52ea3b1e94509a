"""The stages of one layer: queries and keys, scores, terms, mask, softmax, combine, mix, heads, sum, feed-forward."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from core.interpret.naive import (
    Given,
    Passed,
    angles,
    exact,
    gate_rule,
    lambda_rule,
    lambdas,
    lengths,
    lexicon,
    linear,
    norm,
    own_gates,
    silent_maps,
)
from core.interpret.rules import Array, Dot, Hidden, Rule, Softmax, Sum
from core.interpret.stages import Matrix, Stage, numbered
from core.models.encoder import Layer
from core.models.feedforward import FeedForward, SwiGLU
from core.models.mixing import Additive, Differential
from core.numbers import subscript
from core.text.lexicon import TRIPLE, triples

NONE = "This model has none"
SUMMED = "the sum over lexicons of the products of two tokens' polarities"
CLOSED = "As edited, a token whose gate is closed is hidden from all."


@dataclass(frozen=True, eq=False)
class Chosen:
    """A layer that was passed, and which of its heads and components is looked at, from 0."""

    layer: Layer
    passed: Passed
    given: Given
    tokens: tuple[str, ...]
    number: int
    """Of the layer, from 1."""
    head: int
    component: int

    @property
    def many(self) -> bool:
        """Whether a head has several maps."""
        return self.layer.attention.components > 1

    @property
    def score(self) -> str:
        """The letter of a score behind the terms, where there are any."""
        part = self.layer.attention
        return "s'" if part.terms.gate or part.terms.lexical or part.temperature is not None else "s"

    @property
    def at(self) -> str:
        """What tells the queries and keys of the maps apart, in LaTeX."""
        return rf"^{{({self.component})}}" if self.many else ""

    def vectors(self, name: str, values: Array, rule: Rule | None = None) -> Matrix:
        """A row for each token, a column for each dimension."""
        return Matrix(name, values, self.tokens, numbered(values.shape[1]), rule=rule)

    def pairs(self, name: str, values: Array, rule: Rule | None = None, *, weight: bool = False) -> Matrix:
        """A row for each token that reads, a column for each that is read: scores, or weights."""
        return Matrix(name, values, self.tokens, self.tokens, "weight" if weight else "score", rule)


def layer_stages(chosen: Chosen) -> Iterator[Stage]:
    """From what enters the layer to what leaves it."""
    scores = _terms(chosen)
    hidden = _mask(chosen)
    yield _queries(chosen)
    yield _scores(chosen)
    yield scores
    yield hidden
    yield _softmax(chosen)
    yield _combine(chosen)
    yield _mix(chosen)
    yield _joined(chosen)
    yield _residual(chosen)
    yield _feedforward(chosen)


def _queries(chosen: Chosen) -> Stage:
    attention, seen, at = chosen.layer.attention, chosen.passed.attention, chosen.at
    (q, k), (q_turned, k_turned) = (
        (pair[0][chosen.component, chosen.head], pair[1][chosen.component, chosen.head])
        for pair in (seen.plain, seen.turned)
    )
    first = (chosen.component * attention.heads + chosen.head) * q.shape[1]
    part = slice(first, first + q.shape[1])
    before = norm(chosen.passed.before, chosen.layer.attention_norm) if chosen.layer.pre else None
    matrices = [
        chosen.vectors("x", seen.x, before),
        chosen.vectors(f"q{at}", q, linear(seen.x, attention.query, part)),
        chosen.vectors(f"k{at}", k, linear(seen.x, attention.key, part)),
    ]
    formulas = [rf"q_i{at} = x_i W_Q + b_Q,\quad k_j{at} = x_j W_K + b_K"]
    reading = "Two views of each token: q is what it looks for, k is what it offers."
    if attention.terms.rotary:
        rules = [_turn(each) for each in (q, k)]
        names = (f"R_i q_i{at}", f"R_j k_j{at}")
        turned = zip(names, (q_turned, k_turned), rules, strict=True)
        matrices += [chosen.vectors(*each) for each in turned]
        formulas.append(rf"R_i:\ (2m,2m{{+}}1)\ \text{{turned by}}\ i\,/\,10000^{{2m/{q.shape[1]}}}")
        reading += " Rotary positions turn both by an angle that grows with the place, so scores see distances only."
    if before is not None:
        reading += " x is what enters the layer, normalised."
    return Stage("queries", "Queries and keys", tuple(formulas), reading, tuple(matrices))


def _turn(x: Array) -> Sum:
    """Each pair of numbers (2m, 2m+1) turned."""
    cos, sin = (np.repeat(each, 2, axis=1) for each in angles(*x.shape))
    other = x.reshape(len(x), -1, 2)[..., ::-1].reshape(x.shape)
    sign = np.tile([-1.0, 1.0], x.shape[1] // 2)
    return Sum(((x, cos), (other, sin * sign)), x.shape)


def _scores(chosen: Chosen) -> Stage:
    attention, seen, at = chosen.layer.attention, chosen.passed.attention, chosen.at
    q, k = (each[chosen.component, chosen.head] for each in seen.turned)
    width = q.shape[1]
    turned = ("R_i", "R_j") if attention.terms.rotary else ("", "")
    product = rf"{turned[0]} q_i{at}\cdot {turned[1]} k_j{at}"
    cosine = attention.temperature is not None
    scale = 1.0 if cosine else 1 / math.sqrt(width)
    formula = rf"s_{{ij}} = {product}" if cosine else rf"s_{{ij}} = \frac{{{product}}}{{\sqrt{{{width}}}}}"
    found = seen.content[chosen.component, chosen.head]
    matrix = chosen.pairs("s", found, Dot(q, k.T, scale=scale))
    reading = "Row i asks, column j answers: the larger, the better j fits what i looks for."
    return Stage("scores", "Scores", (formula,), reading, (matrix,))


def _terms(chosen: Chosen) -> Stage:
    """What changes a score before the softmax."""
    attention, seen, at = chosen.layer.attention, chosen.passed.attention, chosen.at
    content = seen.content[chosen.component, chosen.head]
    score, formula = seen.scores[chosen.component, chosen.head], "s_{ij}"
    factors: list[Array | float] = [content]
    added: list[tuple[Array | float, ...]] = []
    matrices, lines, said = [chosen.pairs("s", content)], list[str](), list[str]()
    if attention.temperature is not None:
        q, k = lengths(tuple(each[chosen.component, chosen.head] for each in seen.turned))
        tau = float(exact(attention.temperature)[0])
        cosine = (content, 1 / q[:, None], 1 / k[None])
        matrices.append(chosen.pairs(r"\cos", content / q[:, None] / k, Sum((cosine,), content.shape)))
        factors = [tau, matrices[-1].values]
        formula = rf"\tau\,\frac{{s_{{ij}}}}{{\lVert q_i{at}\rVert\,\lVert k_j{at}\rVert}}"
        said.append(f"QK-norm makes cosines of the products, and the temperature τ = {tau:.2f} stretches them.")
    lexical = attention.terms.lexical
    if lexical is not None and seen.sigma is not None and chosen.given.polarity is not None:
        said.append(_sigma(chosen, matrices, lines))
        found = lexicon(attention, seen.sigma[chosen.component, chosen.head], chosen.given)
        there = bool(lexical.reach[:, chosen.component, chosen.head].any())
        if there and lexical.kind == "hadamard" and found is not None:
            factors = [*factors, *found]
            level = found[1].shape[1] == 1
            sign = "" if found[0] == 1 else r"s\,"
            formula += rf"\,{sign}" + (r"\overline{\sigma}_i" if level else r"\sigma_{ij}")
        elif there and found is not None:
            added.append(found)
    gate = gate_rule(attention, seen.x, chosen.given)
    if gate is not None and seen.log_gate is not None:
        said.append(_gate(chosen, gate, matrices, lines))
        added.append((seen.log_gate[None],))
        formula += r" + \log g_j"
    if added and lexical is not None and lexical.kind == "add" and len(added) > (gate is not None):
        formula += rf" + {'' if added[0][0] == 1 else 's' + chr(92) + ','}\sigma_{{ij}}"
    if not said:
        return Stage("terms", "Terms", (), f"{NONE}: the scores stay as they are.")
    rule = Sum((tuple(factors), *added), content.shape)
    matrices.append(chosen.pairs("s'", score, rule))
    return Stage("terms", "Terms", (f"s'_{{ij}} = {formula}", *lines), " ".join(said), tuple(matrices))


def _sigma(chosen: Chosen, matrices: list[Matrix], lines: list[str]) -> str:
    """What a lexicon does to the scores, in a sentence."""
    lexical, sigma, polarity = (
        chosen.layer.attention.terms.lexical,
        chosen.passed.attention.sigma,
        chosen.given.polarity,
    )
    if lexical is None or sigma is None or polarity is None:
        raise RuntimeError("no lexicon acts on these scores")
    here = lexical.reach[:, chosen.component, chosen.head].tolist()
    if not any(here):
        heads = lexical.reach.any(0).any(0).tolist()
        places = [f"head {head}" for head, there in enumerate(heads, start=1) if there]
        return f"σ of the lexicon does not reach this map; it reaches {', '.join(places)} of each layer."
    sigma = sigma[chosen.component, chosen.head]
    if len(here) == 1:
        matrices.append(Matrix(r"\rho", polarity, chosen.tokens, TRIPLE, "weight"))
        rule = Dot(polarity, polarity.T)
        lines += [r"\sigma_{ij} = \rho_i\cdot\rho_j", r"\rho=(\rho^{+},\rho^{0},\rho^{-})"]
    else:
        numbers = [k for k, there in enumerate(here) if there]
        columns = [3 * k + place for k in numbers for place in range(3)]
        names = triples(len(here))
        read, strengths = polarity[:, columns], exact(lexical.strength)[numbers]
        matrices.append(Matrix(r"\rho", read, chosen.tokens, tuple(names[each] for each in columns), "weight"))
        rule = Dot(read * np.repeat(strengths, 3), read.T)
        lines.append(r"\sigma_{ij} = \sum_k s_k\,\rho_i^{(k)}\cdot\rho_j^{(k)}")
        lines += [rf"s_{{{k + 1}}} = {strength:.3g}" for k, strength in zip(numbers, strengths, strict=True)]
    matrices.append(chosen.pairs(r"\sigma", sigma, rule, weight=True))
    product = "the product of two tokens' polarities in the lexicon" if len(here) == 1 else SUMMED
    found = lexicon(chosen.layer.attention, sigma, chosen.given)
    if found is None:
        return f"σ, {product}, multiplies nothing: as edited, it is off."
    if found[0] != 1:
        lines.append(rf"s = {found[0]:.3g}")
    if lexical.kind == "hadamard" and found[1].shape[1] == 1:
        matrices.append(Matrix(r"\overline{\sigma}", found[1], chosen.tokens, ("mean",), "weight"))
        lines.append(r"\overline{\sigma}_i = \tfrac{1}{T}\sum_j \sigma_{ij}")
        return "As edited, every score of a row is multiplied by the mean of σ over the tokens that are read."
    if lexical.kind == "hadamard":
        return f"Every score is multiplied by σ, {product}."
    return f"σ, {product}, is added: words of a kind read each other more."


def _gate(chosen: Chosen, rule: Sum, matrices: list[Matrix], lines: list[str]) -> str:
    """What gates do to the scores, in a sentence."""
    first = int(chosen.given.class_token)
    words = Sum(
        tuple(tuple(each[first:] if isinstance(each, np.ndarray) else each for each in part) for part in rule.parts),
        (len(chosen.tokens) - first, 1),
        rule.after,
    )
    by_hand = own_gates(chosen.layer.attention, chosen.given)
    values = words.values()
    for token, value in by_hand:
        values[token - first] = value
    matrices.append(Matrix("g", values, chosen.tokens[first:], ("gate",), "weight", None if by_hand else words))
    several = chosen.given.polarity is not None and chosen.given.polarity.shape[1] > len(TRIPLE)
    valence = r"\sum_k \rho_j^{(k)+}-\rho_j^{(k)-}" if several else r"\rho_j^{+}-\rho_j^{-}"
    guided = rf" + c\,|{valence}|" * (len(rule.parts) > 2)
    lines.append(rf"g_j = \operatorname{{sigmoid}}(x_j\cdot w_g + b{guided})")
    told = "The logarithm of its gate is added to every score of a key: a gate near 0 hides the token from all."
    if by_hand:
        told += f" As edited, {' and '.join(f'that of {chosen.tokens[at]} is {value:.2f}' for at, value in by_hand)}."
    return f"{told} The class token has none." if first else told


def _mask(chosen: Chosen) -> Stage:
    seen, length = chosen.passed.attention, len(chosen.tokens)
    area = chosen.layer.attention.terms.support
    score = seen.scores[chosen.component, chosen.head]
    if seen.allowed.all():
        why = "every token reads every token, and a single text has no padding to hide."
        if area is not None:
            why = f"its window of {area.window} covers all {length} tokens, so nothing is hidden."
            return Stage("mask", "Mask", (r"S_i = \{1,\dots,T\}",), f"Nothing to do here: {why}")
        return Stage("mask", "Mask", (r"S_i = \{1,\dots,T\}",), f"{NONE}: {why}")
    rule = Hidden(score, seen.allowed)
    shown = (chosen.pairs(chosen.score, rule.values(), rule),)
    if area is None or area.covers(length):
        line = rf"{chosen.score}_{{ij}} = -\infty\ \text{{where}}\ g_j = 0"
        return Stage("mask", "Mask", (line,), CLOSED, shown)
    half = area.window // 2
    lines = (
        rf"{chosen.score}_{{ij}} = -\infty\ \text{{unless}}\ j \in S_i",
        rf"S_i = \{{j : |i-j|\le {half}\}} \cup G",
    )
    reading = (
        f"A token sees {half} neighbours on each side. G are the first, the last and the tokens drawn at random, which "
        "see all and are seen by all; what is crossed out is hidden."
    )
    if any(value == 0 for _, value in own_gates(chosen.layer.attention, chosen.given)):
        reading += f" {CLOSED}"
    return Stage("mask", "Mask", lines, reading, shown)


def _softmax(chosen: Chosen) -> Stage:
    seen, head = chosen.passed.attention, chosen.head
    matrices = []
    for component, maps in enumerate(seen.maps[:, head]):
        rule = Softmax(np.where(seen.allowed, seen.scores[component, head], -np.inf))
        matrices.append(chosen.pairs(_map(component, chosen.many), maps, rule, weight=True))
    which = r"A_{n,ij}" if chosen.many else "A_{ij}"
    formula = rf"{which} = \frac{{e^{{{chosen.score}_{{ij}}}}}}{{\sum_{{m}} e^{{{chosen.score}_{{im}}}}}}"
    reading = "Each row becomes shares that sum to 1: how much token i reads of each token."
    if chosen.many:
        reading += f" Each of the {len(matrices)} maps has queries and keys of its own."
    return Stage("softmax", "Softmax", (formula,), reading, tuple(matrices))


def _map(component: int, many: bool) -> str:
    return f"A_{{{component}}}" if many else "A"


def _combine(chosen: Chosen) -> Stage:
    attention, seen, head = chosen.layer.attention, chosen.passed.attention, chosen.head
    if not chosen.many:
        return Stage("combine", "Combine", ("P = A",), f"{NONE}: a head has one map, and nothing is added to it.")
    c, maps = seen.coefficients[:, head], seen.maps[:, head]
    parts = tuple((weight[:, None], each) for weight, each in zip(c, maps, strict=True))
    names = tuple(rf"\lambda_{n}" for n in range(1, len(maps)))
    matrices: list[Matrix] = []
    of_lambda, values = lambda_rule(attention, seen.x, head), lambdas(attention, seen.x, head, chosen.given.change)
    if of_lambda is not None and values is not None:
        untouched = np.array_equal(values, of_lambda.values())
        rows = chosen.tokens if len(values) > 1 else ("all tokens",)
        plain = tuple(f"λ{subscript(n)}" for n in range(1, len(names) + 1))
        matrices.append(Matrix(r"\lambda", values, rows, plain, rule=of_lambda if untouched else None))
    matrices += [chosen.pairs(_map(n, True), each, weight=True) for n, each in enumerate(maps)]
    matrices.append(chosen.pairs("P", seen.combined[head], Sum(parts, maps[0].shape), weight=True))
    lines, reading = _weights(chosen, names)
    off, level = (each[:, head, 0] for each in silent_maps(attention, chosen.given.change))
    for silent, how in ((off, "off"), (level, "at its mean, so that it weighs nothing here")):
        reading += "".join(f" As edited, A{subscript(n)} is {how}." for n, found in enumerate(silent) if found)
    return Stage("combine", "Combine", tuple(lines), reading, tuple(matrices))


def _weights(chosen: Chosen, names: tuple[str, ...]) -> tuple[list[str], str]:
    """How the maps are added up, as formulas and in words."""
    attention, c = chosen.layer.attention, chosen.passed.attention.coefficients[:, chosen.head]
    sign = "-" if attention.mixing.sign < 0 else "+"
    line = "P = A_0" + "".join(f" {sign} {name} A_{n}" for n, name in enumerate(names, start=1))
    line = line.replace(r"\lambda_1", r"\lambda") if sign == "-" else line
    lines = [line]
    if isinstance(attention.mixing, Differential):
        lines.append(r"\lambda = e^{u_1\cdot v_1} - e^{u_2\cdot v_2} + \lambda_{\mathrm{init}}")
    elif isinstance(attention.mixing, Additive):
        lines.append(r"\lambda_n = p_n\,\alpha_n + (1-p_n)\,\beta_n")
    else:
        lines.append(r"\lambda_i = \operatorname{sigmoid}(x_i\cdot w_h)")
    taken = "taken away" if sign == "-" else "added"
    total = c.sum(0)
    sums = f"{total[0]:.2f}" if np.allclose(total, total[0]) else f"{total.min():.2f} to {total.max():.2f}"
    reading = f"The further maps are {taken}, each with its λ; a row of P sums to {sums}."
    if attention.row_norm:
        lines.append(r"P \leftarrow P\,/\,\sum_n |c_n|")
        reading += " All weights are divided by the sum of their magnitudes."
    return lines, reading


def _mix(chosen: Chosen) -> Stage:
    attention, seen, head = chosen.layer.attention, chosen.passed.attention, chosen.head
    values, wide = seen.values[head], seen.values.shape[2]
    part = slice(head * wide, (head + 1) * wide)
    rule, left = Dot(seen.combined[head], values), seen.left[head]
    matrices = [
        chosen.pairs("P", seen.combined[head], weight=True),
        chosen.vectors("v", values, linear(seen.x, attention.value, part)),
        chosen.vectors("o", seen.read[head], rule),
    ]
    reading = "Every token takes the values of what it reads, as much of each as P says."
    formulas = (r"o_i = \sum_j P_{ij}\,v_j", r"v_j = x_j W_V + b_V")
    if left.any():
        stays, total = Matrix(r"\overline{o}", left, ("all tokens",), numbered(wide)), seen.read[head]
        read = chosen.vectors("r", rule.values(), rule)
        matrices[2:] = [read, stays, chosen.vectors("o", total, Sum(((read.values,), (left,)), total.shape))]
        formulas = (r"o_i = r_i + \overline{o},\quad r_i = \sum_j P_{ij}\,v_j", formulas[1])
        reading += " What is at its mean gives every token the same."
    return Stage("mix", "Mix", formulas, reading, tuple(matrices))


def _joined(chosen: Chosen) -> Stage:
    attention, seen, head = chosen.layer.attention, chosen.passed.attention, chosen.head
    matrices, formulas = [chosen.vectors("o", seen.read[head])], list[str]()
    reading = (
        f"The {attention.heads} heads stand side by side, and a linear map makes one vector of them for each token."
    )
    letter = "o"
    if attention.head_norm is not None:
        rule = norm(seen.read[head], attention.head_norm, attention.mixing.scale)
        matrices.append(chosen.vectors(r"\hat{o}", seen.read[head] if rule is None else rule.values(), rule))
        formulas.append(rf"\hat{{o}}_i = {attention.mixing.scale:.2f}\,\operatorname{{RMSNorm}}(o_i)")
        reading = f"Each head is normalised. {reading}"
        letter = r"\hat{o}"
    change, here = chosen.given.change, (attention.index, head)
    if here in change.heads_off | change.heads_mean:
        said = "off" if here in change.heads_off else "at its mean"
        matrices.append(chosen.vectors(r"\tilde{o}", seen.said[head]))
        reading += f" As edited, head {head + 1} is {said}."
    matrices.append(chosen.vectors("y", seen.out, linear(seen.joined, attention.out)))
    joined = rf"[{letter}^{{(1)}};\dots;{letter}^{{({attention.heads})}}]" if attention.heads > 1 else f"[{letter}]"
    formulas.append(rf"y_i = {joined}_i\,W_O + b_O")
    return Stage("heads", "Heads", tuple(formulas), reading, tuple(matrices))


def _residual(chosen: Chosen) -> Stage:
    passed, layer = chosen.passed, chosen.layer
    total = Sum(((passed.before,), (passed.attention.out,)), passed.before.shape)
    matrices = [
        chosen.vectors("h", passed.before),
        chosen.vectors("y", passed.attention.out),
        chosen.vectors("u", passed.added, total),
    ]
    formula, reading = "u_i = h_i + y_i", "What was read is added to what the token was before this layer, h."
    rule = None if layer.pre else norm(passed.added, layer.attention_norm)
    if rule is not None:
        matrices.append(chosen.vectors(r"\hat{u}", passed.middle, rule))
        formula += r",\quad \hat{u}_i = \operatorname{norm}(u_i)"
        reading += " Then it is normalised."
    return Stage("residual", "Residual", (formula,), reading, tuple(matrices))


def _feedforward(chosen: Chosen) -> Stage:
    passed, layer = chosen.passed, chosen.layer
    before = norm(passed.middle, layer.feedforward_norm) if layer.pre else None
    behind = None if layer.pre else norm(passed.summed, layer.feedforward_norm)
    inner = r"\hat{u}" if before is not None or behind is not None else "u"
    matrices = [chosen.vectors(inner, passed.inner, before)]
    shape = passed.raised[0].shape
    product = passed.raised[0] if len(passed.raised) == 1 else passed.raised[0] * passed.raised[1]
    kind = cast(FeedForward | SwiGLU, layer.feedforward)
    if isinstance(kind, SwiGLU):
        rule: Rule = Sum((passed.raised,), shape)
        raised = rf"m_i = \operatorname{{SiLU}}({inner}_i W_1) \odot {inner}_i W_3"
    else:
        after = "relu" if kind.activation.__name__ == "relu" else "gelu"
        up = linear(passed.inner, kind.up)
        rule = Dot(up.left, up.right, up.bias, after=after)  # type: ignore[arg-type]
        raised = rf"m_i = \operatorname{{{'ReLU' if after == 'relu' else 'GELU'}}}({inner}_i W_1 + b_1)"
    matrices.append(chosen.vectors("m", product, rule))
    matrices.append(chosen.vectors("f", passed.rewritten, linear(product, kind.down)))
    start = "u" if layer.pre else inner
    total = Sum(((passed.middle,), (passed.rewritten,)), passed.summed.shape)
    sum_line = f"{start}_i + f_i"
    if behind is None:
        matrices.append(chosen.vectors("z", passed.after, total))
        line = f"z_i = {sum_line}"
    else:
        matrices.append(chosen.vectors("z", passed.after, behind))
        line = rf"z_i = \operatorname{{norm}}({sum_line})"
    reading = f"Each token is rewritten by itself, and the result is added: z leaves layer {chosen.number}."
    return Stage("feedforward", "Feed-forward", (raised, "f_i = m_i W_2 + b_2", line), reading, tuple(matrices))
