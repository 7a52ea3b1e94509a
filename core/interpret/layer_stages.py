"""The forward-pass stages of one layer: queries and keys, scores, mask, softmax, combination, heads, feed-forward."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from core.exceptions import NotAvailable
from core.formatting import format_subscript
from core.interpret import forward_stages
from core.interpret.forward_stages import Array, Dot, ForwardStage, Rule, StageMatrix, Sum, make_linear_rule, to_float64
from core.models.attention_config import Formula, Term
from core.models.encoder import FeedForward, Layer, SwiGLU
from core.models.score_terms import apply_rotary
from core.models.trace import Changes, Intervention, Record
from core.text.lexicon import TRIPLE, name_triples

NONE = "This model has none"
SUMMED = "the sum over lexicons of the products of two tokens' polarities"
CLOSED = "As edited, a token whose gate is closed is hidden from all."
TINY = 1e-12  # Smallest length by which a query or key is divided
SAME = 1e-6  # Largest difference between the model's scores and those of the shown formula


@dataclass(frozen=True, eq=False)
class ShownHead:
    """An encoder layer with its recorded values, and the indices of the shown head and attention map."""

    layer: Layer
    record: Record
    polarity: Array | None  # (L, 3)
    class_token: bool
    change: Intervention
    tokens: tuple[str, ...]
    number: int  # Number of the layer, from 1
    head: int
    component: int

    @property
    def many(self) -> bool:
        """Return whether a head combines several attention maps."""
        return self.layer.attention.components > 1

    @property
    def score(self) -> str:
        """Return the LaTeX letter of an attention score: s, or s' if terms change it before the softmax."""
        part = self.layer.attention
        changed = self.record.get_part("added").values or part.terms.lexical or part.temperature is not None
        return "s'" if changed else "s"

    @property
    def at(self) -> str:
        """Return the LaTeX superscript that distinguishes a head's attention maps; empty if a head has one map."""
        return rf"^{{({self.component})}}" if self.many else ""

    @property
    def closed(self) -> list[tuple[int, float]]:
        """Return the attention gates of the layer that are set by hand, as (token, gate)."""
        return [(token, value) for layer, token, value in self.change.gates if layer == self.layer.attention.index]

    def read_value(self, name: str) -> Array:
        """Return a recorded value of a layer, only for the shown attention map or head if the value has such axes."""
        return self.pick_part(self.record.values[name].value)

    def pick_part(self, value: Tensor) -> Array:
        """Return the part of a recorded tensor that belongs to the shown head and attention map."""
        at = {5: (0, self.component, self.head), 4: (0, self.head)}.get(value.dim(), (0,))
        return to_float64(value[at])

    def read_maps(self, name: str) -> Array:
        """Return a recorded value of the shown head for all of the head's attention maps, (N, …)."""
        return to_float64(self.record.values[name].value[0, :, self.head])

    def get_formula(self, name: str) -> str:
        """Return the LaTeX formula that the layer recorded for a value."""
        return self.record.values[name].formula

    def find_term(self, name: str) -> Term | None:
        """Return the description of a term added to attention scores, such as rotary positions; None if absent."""
        return next((term for term in self.layer.attention.terms.said if name in term.name), None)

    def make_vectors(self, name: str, values: Array, rule: Rule | None = None) -> StageMatrix:
        """Build a matrix with a row for each token and a column for each vector dimension."""
        return StageMatrix(name, values, self.tokens, forward_stages.name_dimensions(values.shape[1]), rule=rule)

    def make_pairs(self, name: str, values: Array, rule: Rule | None = None, *, weight: bool = False) -> StageMatrix:
        """Build a matrix of scores or weights with a row for each query token and a column for each key token."""
        return StageMatrix(name, values, self.tokens, self.tokens, "weight" if weight else "score", rule)


def yield_layer_stages(chosen: ShownHead) -> Iterator[ForwardStage]:
    """Yield the forward-pass stages of one encoder layer, from its input to its output."""
    stages = (
        _build_queries,
        _build_scores,
        _build_terms,
        _build_mask,
        _build_softmax,
        _build_combination,
        _build_mix,
        _build_heads,
        _build_residual,
        _build_feedforward,
    )
    yield from (make(chosen) for make in stages)


def _build_queries(chosen: ShownHead) -> ForwardStage:
    attention, at = chosen.layer.attention, chosen.at
    x, q, k, h = (chosen.read_value(each) for each in "xqkh")
    first = (chosen.component * attention.heads + chosen.head) * q.shape[1]
    part = slice(first, first + q.shape[1])
    before = forward_stages.make_norm_rule(h, chosen.layer.attention_norm) if chosen.layer.pre else None
    matrices = [
        chosen.make_vectors("x", x, before),
        chosen.make_vectors(f"q{at}", q, make_linear_rule(x, attention.query, part)),
        chosen.make_vectors(f"k{at}", k, make_linear_rule(x, attention.key, part)),
    ]
    formulas = [rf"q_i{at} = x_i W_Q + b_Q,\quad k_j{at} = x_j W_K + b_K"]
    reading = "Two views of each token: q is what it looks for, k is what it offers."
    if attention.terms.rotary:
        turned = ((f"R_i q_i{at}", _rotate_pairs(q)), (f"R_j k_j{at}", _rotate_pairs(k)))
        matrices += [chosen.make_vectors(name, rule.compute_values(), rule) for name, rule in turned]
        formulas += _get_lines(chosen.find_term("rotary"))
        reading += " Rotary positions turn both by an angle that grows with the place, so scores see distances only."
    if before is not None:
        reading += " x is what enters the layer, normalised."
    return ForwardStage("queries", "Queries and keys", tuple(formulas), reading, tuple(matrices))


def _rotate_pairs(x: Array) -> Sum:
    """Return the rotary position encoding of vectors as a sum: dimensions (2m, 2m+1) rotated by position."""
    unit = torch.zeros(x.shape, dtype=torch.float64)
    unit[:, 0::2] = 1
    turned = apply_rotary(unit).numpy()
    cos, sin = (np.repeat(each, 2, axis=1) for each in (turned[:, 0::2], turned[:, 1::2]))
    other = x.reshape(len(x), -1, 2)[..., ::-1].reshape(x.shape)
    sign = np.tile([-1.0, 1.0], x.shape[1] // 2)
    return Sum(((x, cos), (other, sin * sign)), x.shape)


def _score_content(chosen: ShownHead) -> Dot:
    q, k = (chosen.read_value(each) for each in "qk")
    if chosen.layer.attention.terms.rotary:
        q, k = _rotate_pairs(q).compute_values(), _rotate_pairs(k).compute_values()
    return Dot(q, k.T, scale=1.0 if chosen.layer.attention.temperature is not None else 1 / math.sqrt(q.shape[1]))


def _get_lines(term: Term | None) -> list[str]:
    return [] if term is None else [line.latex for line in term.lines]


def _build_scores(chosen: ShownHead) -> ForwardStage:
    attention, at, rule = chosen.layer.attention, chosen.at, _score_content(chosen)
    width = rule.left.shape[1]
    turned = ("R_i", "R_j") if attention.terms.rotary else ("", "")
    product = rf"{turned[0]} q_i{at}\cdot {turned[1]} k_j{at}"
    cosine = attention.temperature is not None
    formula = rf"s_{{ij}} = {product}" if cosine else rf"s_{{ij}} = \frac{{{product}}}{{\sqrt{{{width}}}}}"
    matrix = chosen.make_pairs("s", rule.compute_values() if chosen.score != "s" else chosen.read_value("s'"), rule)
    reading = "Row i asks, column j answers: the larger, the better j fits what i looks for."
    return ForwardStage("scores", "Scores", (formula,), reading, (matrix,))


def _build_terms(chosen: ShownHead) -> ForwardStage:
    """Build the forward-pass stage of the terms that change an attention score before the softmax."""
    attention, at, dot = chosen.layer.attention, chosen.at, _score_content(chosen)
    content, score, formula = dot.compute_values(), chosen.read_value("s'"), "s_{ij}"
    factors: list[Array | float] = [content]
    added: list[tuple[Array | float, ...]] = []
    matrices, lines, said = [chosen.make_pairs("s", content)], list[str](), list[str]()
    if attention.temperature is not None:
        q, k = (np.maximum(np.linalg.norm(each, axis=-1), TINY) for each in (dot.left, dot.right.T))
        tau = float(to_float64(attention.temperature)[0])
        cosine = (content, 1 / q[:, None], 1 / k[None])
        matrices.append(chosen.make_pairs(r"\cos", content / q[:, None] / k, Sum((cosine,), content.shape)))
        factors = [tau, matrices[-1].values]
        formula = rf"\tau\,\frac{{s_{{ij}}}}{{\lVert q_i{at}\rVert\,\lVert k_j{at}\rVert}}"
        said.append(f"QK-norm makes cosines of the products, and the temperature τ = {tau:.2f} stretches them.")
    lexical = attention.terms.lexical
    if lexical is not None:
        told, found = _describe_sigma(chosen, matrices, lines)
        said.append(told)
        if lexical.kind == "hadamard" and found is not None:
            factors = [*factors, *found]
            level = found[1].shape[1] == 1
            sign = "" if found[0] == 1 else r"s\,"
            formula += rf"\,{sign}" + (r"\overline{\sigma}_i" if level else r"\sigma_{ij}")
        elif found is not None:
            added.append(found)
    strength = "" if not added or added[0][0] == 1 else r"s\,"
    sigma = rf" + {strength}\sigma_{{ij}}" if added else ""
    for name, term in chosen.record.get_part("added").values.items():
        if name == "gate":
            said.append(_describe_gate(chosen, matrices, lines))
            added.append((chosen.pick_part(term.value),))
            formula += r" + \log g_j"
        elif name != "lexical":
            told, latex = _describe_term(chosen, name, lines)
            sums = forward_stages.make_sum_rule(term.parts, content.shape, "", chosen.pick_part)
            matrices.append(chosen.make_pairs(latex, chosen.pick_part(term.value), sums))
            said.append(told)
            added.append((matrices[-1].values,))
            formula += f" + {latex}"
    formula += sigma
    rule = Sum((tuple(factors), *added), content.shape)
    if not np.allclose(rule.compute_values(), score, rtol=SAME, atol=SAME):
        raise NotAvailable("Steps does not know every part of the scores of this model, so it shows nothing")
    if not said:
        return ForwardStage("terms", "Terms", (), f"{NONE}: the scores stay as they are.")
    matrices.append(chosen.make_pairs("s'", score, rule))
    return ForwardStage("terms", "Terms", (f"s'_{{ij}} = {formula}", *lines), " ".join(said), tuple(matrices))


def _describe_term(chosen: ShownHead, name: str, lines: list[str]) -> tuple[str, str]:
    term = chosen.find_term(name)
    if term is None:
        return f"The term {name} is added to every score.", rf"\mathrm{{{name}}}_{{ij}}"
    lines += _get_lines(term)
    return f"{term.detail[0].upper()}{term.detail[1:]}.", term.write(Formula("", "", "")).added.removeprefix(" + ")


Found = tuple[float, Array] | None
"""A factor, and the matrix that it scales, which is added to the scores or multiplied with them; None: no matrix."""


def _describe_sigma(chosen: ShownHead, matrices: list[StageMatrix], lines: list[str]) -> tuple[str, Found]:
    """Describe how σ, the product of lexicon polarities, changes attention scores; also return factor and matrix."""
    attention, polarity, change = chosen.layer.attention, chosen.polarity, chosen.change
    lexical, at = attention.terms.lexical, attention.index
    if lexical is None or polarity is None:
        raise RuntimeError("no lexicon acts on these scores")
    here = lexical.reach[:, chosen.component, chosen.head].tolist()
    if not any(here):
        heads = lexical.reach.any(0).any(0).tolist()
        places = [f"head {head}" for head, there in enumerate(heads, start=1) if there]
        return f"σ of the lexicon does not reach this map; it reaches {', '.join(places)} of each layer.", None
    strengths, several = to_float64(lexical.strength), len(here) > 1
    numbers = [k for k, there in enumerate(here) if there]
    columns = [3 * k + place for k in numbers for place in range(3)]
    names = name_triples(len(here)) if several else TRIPLE
    read = polarity[:, columns]
    matrices.append(StageMatrix(r"\rho", read, chosen.tokens, tuple(names[each] for each in columns), "weight"))
    rule = Dot(read * np.repeat(strengths[numbers], 3) if several else read, read.T)
    if several:
        lines.append(r"\sigma_{ij} = \sum_k s_k\,\rho_i^{(k)}\cdot\rho_j^{(k)}")
        lines += [rf"s_{{{k + 1}}} = {strengths[k]:.3g}" for k in numbers]
    else:
        lines += [r"\sigma_{ij} = \rho_i\cdot\rho_j", r"\rho=(\rho^{+},\rho^{0},\rho^{-})"]
    sigma, strength = rule.compute_values(), 1.0 if several else float(strengths[0])
    matrices.append(chosen.make_pairs(r"\sigma", sigma, rule, weight=True))
    product = SUMMED if several else "the product of two tokens' polarities in the lexicon"
    if lexical.kind == "hadamard" and at in change.lexical_off:
        return f"σ, {product}, multiplies nothing: as edited, it is off.", None
    factor = strength * lexical.scale * change.get_lexical_factor(at) if lexical.kind == "add" else strength
    if factor != 1:
        lines.append(rf"s = {factor:.3g}")
    if lexical.kind == "add":
        return f"σ, {product}, is added: words of a kind read each other more.", (factor, sigma)
    if at not in change.lexical_mean:
        return f"Every score is multiplied by σ, {product}.", (factor, sigma)
    mean = sigma.mean(1, keepdims=True)
    matrices.append(StageMatrix(r"\overline{\sigma}", mean, chosen.tokens, ("mean",), "weight"))
    lines.append(r"\overline{\sigma}_i = \tfrac{1}{T}\sum_j \sigma_{ij}")
    told = "As edited, every score of a row is multiplied by the mean of σ over the tokens that are read."
    return told, (factor, mean)


def _describe_gate(chosen: ShownHead, matrices: list[StageMatrix], lines: list[str]) -> str:
    """Describe in a sentence how token gates change the attention scores; add the gates' matrix and formulas."""
    first, recorded, by_hand = int(chosen.class_token), chosen.record.values["g"], chosen.closed
    words = len(chosen.tokens) - first

    def to_column(value: Tensor) -> Array:
        return to_float64(value[0])[first:, None] if value.dim() > 1 else to_float64(value)

    rule = forward_stages.make_sum_rule(recorded.parts, (words, 1), recorded.after, to_column)
    values = to_column(recorded.value).copy()
    for token, value in by_hand:
        values[token - first] = value
    matrices.append(StageMatrix("g", values, chosen.tokens[first:], ("gate",), "weight", None if by_hand else rule))
    lines += _get_lines(chosen.find_term("gate"))
    told = "The logarithm of its gate is added to every score of a key: a gate near 0 hides the token from all."
    if by_hand:
        told += f" As edited, {' and '.join(f'that of {chosen.tokens[at]} is {value:.2f}' for at, value in by_hand)}."
    return f"{told} The class token has none." if first else told


def _build_mask(chosen: ShownHead) -> ForwardStage:
    length, area = len(chosen.tokens), chosen.layer.attention.terms.support
    allowed = chosen.read_value("S") > 0
    if allowed.all():
        reading = f"{NONE}: every token attends to every token, and a single text has no padding to hide."
        if area is not None:
            why = f"its window of {area.window} covers all {length} tokens, so nothing is hidden."
            reading = f"Nothing to do here: {why}"
        return ForwardStage("mask", "Mask", (r"S_i = \{1,\dots,T\}",), reading)
    rule = forward_stages.MaskedScores(chosen.read_value("s'"), allowed)
    shown = (chosen.make_pairs(chosen.score, rule.compute_values(), rule),)
    if area is None or area.can_see_all(length):
        line = rf"{chosen.score}_{{ij}} = -\infty\ \text{{where}}\ g_j = 0"
        return ForwardStage("mask", "Mask", (line,), CLOSED, shown)
    half = area.window // 2
    unless = rf"{chosen.score}_{{ij}} = -\infty\ \text{{unless}}\ j \in S_i"
    lines = (unless, rf"S_i = \{{j : |i-j|\le {half}\}} \cup G")
    reading = (
        f"A token sees {half} neighbours on each side. G are the first, the last and the tokens drawn at random, which "
        "see all and are seen by all; what is crossed out is hidden."
    )
    if any(value == 0 for _, value in chosen.closed):
        reading += f" {CLOSED}"
    return ForwardStage("mask", "Mask", lines, reading, shown)


def _build_softmax(chosen: ShownHead) -> ForwardStage:
    matrices, allowed = [], chosen.read_value("S") > 0
    for component, (maps, scores) in enumerate(zip(chosen.read_maps("A"), chosen.read_maps("s'"), strict=True)):
        rule = forward_stages.Softmax(np.where(allowed, scores, -np.inf))
        matrices.append(chosen.make_pairs(_name_map(component, chosen.many), maps, rule, weight=True))
    which = r"A_{n,ij}" if chosen.many else "A_{ij}"
    formula = rf"{which} = \frac{{e^{{{chosen.score}_{{ij}}}}}}{{\sum_{{m}} e^{{{chosen.score}_{{im}}}}}}"
    reading = "Each row becomes shares that sum to 1: how much token i attends to each token."
    if chosen.many:
        reading += f" Each of the {len(matrices)} maps has queries and keys of its own."
    return ForwardStage("softmax", "Softmax", (formula,), reading, tuple(matrices))


def _name_map(component: int, many: bool) -> str:
    return f"A_{{{component}}}" if many else "A"


def _combine_maps(chosen: ShownHead) -> Sum:
    c, maps = chosen.read_maps("c"), chosen.read_maps("A")  # (N, L, 1) and (N, L, L)
    return Sum(tuple(zip(c, maps, strict=True)), maps[0].shape)


def _build_combination(chosen: ShownHead) -> ForwardStage:
    attention, head = chosen.layer.attention, chosen.head
    if not chosen.many:
        reading = f"{NONE}: a head has one map, and nothing is added to it."
        return ForwardStage("combine", "Combine", ("P = A",), reading)

    def to_column(value: Tensor) -> Array:
        return to_float64(value[0, :, min(head, value.shape[2] - 1)]).T  # (1 or L, N − 1)

    learned, values = chosen.record.values[r"\lambda"], to_column(chosen.record.values["lambda"].value[..., 0])
    rule = forward_stages.make_sum_rule(learned.parts, values.shape, learned.after, to_column)
    rows = chosen.tokens if len(values) > 1 else ("all tokens",)
    plain = tuple(f"λ{format_subscript(n)}" for n in range(1, attention.components))
    untouched = rule if np.allclose(values, rule.compute_values(), rtol=1e-12, atol=0) else None
    matrices = [StageMatrix(r"\lambda", values, rows, plain, rule=untouched)]
    matrices += [
        chosen.make_pairs(_name_map(n, True), each, weight=True) for n, each in enumerate(chosen.read_maps("A"))
    ]
    combined = _combine_maps(chosen)
    matrices.append(chosen.make_pairs("P", combined.compute_values(), combined, weight=True))
    lines, reading = _describe_weights(chosen)
    changes, sizes = Changes((chosen.change,), attention.index), (attention.components, attention.heads)
    both = changes.find_silent_maps(*sizes, torch.device("cpu"))
    for silent, how in zip(both, ("off", "at its mean, so that it weighs nothing here"), strict=True):
        named = [n for n, found in enumerate(silent[0, :, head, 0, 0].tolist()) if found]
        reading += "".join(f" As edited, A{format_subscript(n)} is {how}." for n in named)
    return ForwardStage("combine", "Combine", tuple(lines), reading, tuple(matrices))


def _describe_weights(chosen: ShownHead) -> tuple[list[str], str]:
    """Describe how a head adds up its attention maps with weights λ, as formulas and in words."""
    attention = chosen.layer.attention
    sign = "-" if attention.mixing.sign < 0 else "+"
    line = "P = A_0" + "".join(rf" {sign} \lambda_{n} A_{n}" for n in range(1, attention.components))
    line = line.replace(r"\lambda_1", r"\lambda") if sign == "-" else line
    lines = [line, chosen.get_formula(r"\lambda")]
    taken = "taken away" if sign == "-" else "added"
    total = chosen.read_maps("c")[..., 0].sum(0)
    sums = f"{total[0]:.2f}" if np.allclose(total, total[0]) else f"{total.min():.2f} to {total.max():.2f}"
    reading = f"The further maps are {taken}, each with its λ; a row of P sums to {sums}."
    if attention.row_norm:
        lines.append(r"P \leftarrow P\,/\,\sum_n |c_n|")
        reading += " All weights are divided by the sum of their magnitudes."
    return lines, reading


def _build_mix(chosen: ShownHead) -> ForwardStage:
    values, combined, total = chosen.read_value("v"), _combine_maps(chosen).compute_values(), chosen.read_value("o")
    wide = values.shape[1]
    part = slice(chosen.head * wide, (chosen.head + 1) * wide)
    rule = Dot(combined, values)
    matrices = [
        chosen.make_pairs("P", combined, weight=True),
        chosen.make_vectors("v", values, make_linear_rule(chosen.read_value("x"), chosen.layer.attention.value, part)),
        chosen.make_vectors("o", total, rule),
    ]
    reading = "Every token adds up the values v of all tokens, weighted by P."
    formulas = (chosen.get_formula("o"), chosen.get_formula("v"))
    left = chosen.read_value(r"\overline{o}") if r"\overline{o}" in chosen.record.values else np.zeros(1)
    if left.any():
        stays = StageMatrix(r"\overline{o}", left, ("all tokens",), forward_stages.name_dimensions(wide))
        read = chosen.make_vectors("r", rule.compute_values(), rule)
        matrices[2:] = [read, stays, chosen.make_vectors("o", total, Sum(((read.values,), (left,)), total.shape))]
        formulas = (r"o_i = r_i + \overline{o},\quad r_i = \sum_j P_{ij}\,v_j", formulas[1])
        reading += " What is at its mean gives every token the same."
    return ForwardStage("mix", "Mix", formulas, reading, tuple(matrices))


def _build_heads(chosen: ShownHead) -> ForwardStage:
    attention, head, o = chosen.layer.attention, chosen.head, chosen.read_value("o")
    matrices, formulas = [chosen.make_vectors("o", o)], list[str]()
    reading = (
        f"The outputs of the {attention.heads} heads are joined; a linear map makes one vector of them for each token."
    )
    letter = "o"
    if attention.head_norm is not None:
        rule = forward_stages.make_norm_rule(o, attention.head_norm, attention.mixing.scale)
        matrices.append(chosen.make_vectors(r"\hat{o}", chosen.read_value(r"\hat{o}"), rule))
        formulas.append(chosen.get_formula(r"\hat{o}"))
        reading = f"Each head is normalised. {reading}"
        letter = r"\hat{o}"
    change, here = chosen.change, (attention.index, head)
    if here in change.heads_off | change.heads_mean:
        said = "off" if here in change.heads_off else "at its mean"
        matrices.append(chosen.make_vectors(r"\tilde{o}", chosen.read_value(r"\tilde{o}")))
        reading += f" As edited, head {head + 1} is {said}."
    side = to_float64(chosen.record.values[r"\tilde{o}"].value[0].transpose(0, 1).flatten(1))  # (L, d)
    matrices.append(chosen.make_vectors("y", chosen.read_value("y"), make_linear_rule(side, attention.out)))
    joined = rf"[{letter}^{{(1)}};\dots;{letter}^{{({attention.heads})}}]" if attention.heads > 1 else f"[{letter}]"
    formulas.append(rf"y_i = {joined}_i\,W_O + b_O")
    return ForwardStage("heads", "Heads", tuple(formulas), reading, tuple(matrices))


def _build_residual(chosen: ShownHead) -> ForwardStage:
    layer = chosen.layer
    h, y, u = (chosen.read_value(each) for each in "hyu")
    matrices = [
        chosen.make_vectors("h", h),
        chosen.make_vectors("y", y),
        chosen.make_vectors("u", u, Sum(((h,), (y,)), u.shape)),
    ]
    formula, reading = chosen.get_formula("u"), "Attention adds its output to h, the token's vector before this layer."
    rule = None if layer.pre else forward_stages.make_norm_rule(u, layer.attention_norm)
    if rule is not None:
        matrices.append(chosen.make_vectors(r"\hat{u}", chosen.read_value(r"\hat{u}"), rule))
        formula += r",\quad \hat{u}_i = \operatorname{norm}(u_i)"
        reading += " Then it is normalised."
    return ForwardStage("residual", "Residual", (formula,), reading, tuple(matrices))


def _build_feedforward(chosen: ShownHead) -> ForwardStage:
    layer, kind = chosen.layer, cast(FeedForward | SwiGLU, chosen.layer.feedforward)
    inner, middle, rewritten, total = (chosen.read_value(each) for each in (r"\hat{u}", "m", "f", "sum"))
    before = forward_stages.make_norm_rule(chosen.read_value("u"), layer.feedforward_norm) if layer.pre else None
    behind = None if layer.pre else forward_stages.make_norm_rule(total, layer.feedforward_norm)
    letter = r"\hat{u}" if before is not None or behind is not None else "u"
    recorded, after = chosen.record.values["m"], chosen.record.values["sum"]
    rule: Rule = forward_stages.make_sum_rule(recorded.parts, middle.shape, "", chosen.pick_part)
    if isinstance(kind, FeedForward):
        rule = replace(make_linear_rule(inner, kind.up), after=cast(forward_stages.After, recorded.after))
    sums = forward_stages.make_sum_rule(after.parts, total.shape, "", chosen.pick_part)
    added = f"{'u' if layer.pre else letter}_i + f_i"
    matrices = [
        chosen.make_vectors(letter, inner, before),
        chosen.make_vectors("m", middle, rule),
        chosen.make_vectors("f", rewritten, make_linear_rule(middle, kind.down)),
        chosen.make_vectors("z", chosen.read_value("z"), sums if behind is None else behind),
    ]
    formulas = (
        recorded.formula.replace("u_i", f"{letter}_i"),
        chosen.get_formula("f"),
        f"z_i = {added}" if behind is None else rf"z_i = \operatorname{{norm}}({added})",
    )
    reading = f"Each token is transformed on its own, and the result is added: z leaves layer {chosen.number}."
    return ForwardStage("feedforward", "Feed-forward", formulas, reading, tuple(matrices))
