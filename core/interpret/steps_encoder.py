"""The stages of an encoder around its layers: tokens, embedding and positions, then pooling and the head."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import cast

import numpy as np
from torch import Tensor

from core.exceptions import InputError
from core.interpret.naive import Given, Passed, exact, linear, norm, normed, passed
from core.interpret.rules import Array, Dot, Softmax, Sum
from core.interpret.stages import Matrix, Stage, numbered
from core.interpret.steps_backbone import as_layer, entering_stage
from core.interpret.steps_head import dense_and_logits, pooling
from core.interpret.steps_layer import Chosen, layer_stages
from core.models.encoder import EncoderClassifier, Layer
from core.models.head import Branch, Head, HeadAttention
from core.models.positions import PolarityAware, recency, sinusoid
from core.models.pretrained import BackboneLayer, PretrainedClassifier
from core.models.trace import Intervention, Trace


def encoder_stages(
    model: EncoderClassifier,
    seen: Trace,
    ids: Array,
    tokens: tuple[str, ...],
    place: tuple[int, int, int],
    classes: tuple[str, ...],
    change: Intervention,
) -> Iterator[Stage]:
    """From the embedding to the logits, computed anew from the weights.

    Args:
        model: in evaluation mode.
        seen: its trace of one text, for what it reads of each token.
        ids: (L,) of the tokens, 0 at a class token of ours and where filled.
        tokens: L names.
        place: layer, head and component, from 0.
        classes: C.
        change: what is changed inside.
    """
    if isinstance(model, PretrainedClassifier):
        embedding = entering_stage(model, ids, tokens)
        layers = [as_layer(each) for each in cast(Sequence[BackboneLayer], model.layers)]
    else:
        embedding = embedding_stage(model, seen, ids, tokens, change)
        layers = list(cast(Sequence[Layer], model.layers))
    yield embedding
    at, head, component = place
    read = seen.keep if not model.fill else seen.keep.new_ones(seen.keep.shape)
    polarity = None if seen.polarity is None else exact(seen.polarity[0])
    given = Given(read, polarity, model.class_token is not None, change)
    x, chosen = embedding.made, None
    through: list[Passed] = []
    for number, layer in enumerate(layers):
        found = passed(layer, x, given)
        through = [found]  # of the others nothing is kept
        x = found.after
        if number == at:
            chosen = Chosen(layer, through[0], given, tokens, at + 1, head, component)
    if chosen is None:
        raise InputError(f"layer {at + 1}: this model has layers 1 to {len(model.layers)}")
    yield from layer_stages(chosen)
    yield from _above(model, x, tokens, classes, at, head)


def embedding_stage(
    model: EncoderClassifier, seen: Trace, ids: Array, tokens: tuple[str, ...], change: Intervention
) -> Stage:
    """What enters the first layer, as the sum of what it is made of."""
    dimensions = numbered(model.embedding.embedding_dim)

    def named(name: str, values: Array) -> Matrix:
        return Matrix(name, values, tokens, dimensions)

    first = int(model.class_token is not None)
    table = exact(model.embedding.weight)[ids]
    scale = np.full((len(ids), 1), model.scale)
    if model.class_token is not None:
        table[0], scale[0] = exact(model.class_token), 1.0
    parts: list[tuple[Array | float, ...]] = [(scale, table)]
    rooted = rf"\sqrt{{{table.shape[1]}}}\," if model.scale != 1 else ""
    row, matrices = "E_i", [named("E", table)]
    said = ["Each token is a row of numbers"]
    lines: list[str] = []
    if model.ngrams is not None and seen.grams is not None:
        means = _ngram_means(exact(model.ngrams.table.weight), seen.grams[0], change.pieces_off)
        means[:first] = 0
        parts.append((scale, means))
        matrices.append(named(r"\overline{G}", means))
        row = r"\big(E_i + \overline{G}_i\big)"
        lines.append(r"\overline{G}_i = \tfrac{1}{K_i}\sum_k G_{h(g_{ik})}")
        said.append("the mean of its character n-grams" + ", silenced ones as zeros" * bool(change.pieces_off))
    formula = f"x_i = {rooted}{row}"
    for letter, factor, values, words in _positions(model, seen):
        parts.append((factor, values) if factor != 1 else (values,))
        matrices.append(named(letter, values))
        formula += f" + {_named_factor(letter, factor, model)}{letter}_i"
        said.append(words)
    if model.segments is not None and seen.segments is not None:
        rows = exact(model.segments.table.weight)[seen.segments[0].cpu().numpy()] * (not change.segments_off)
        parts.append((rows,))
        matrices.append(named("S", rows))
        formula += r" + S_{s(i)}"
        said.append("what its text, the first or the second, adds" + ", silenced" * change.segments_off)
    total = Sum(tuple(parts), table.shape)
    matrices.append(Matrix("x", total.values(), tokens, dimensions, rule=total))
    reading = (
        f"{', '.join(said[:-1])} and {said[-1]}." if len(said) > 1 else f"{said[0]}; this model adds no positions."
    )
    reading += " A class token, learned, stands before the text." * first
    return Stage("embedding", "Embedding", (formula, *lines), reading, tuple(matrices))


FACTORS = {r"p^{\sin}": r"\alpha", "r": r"\beta", r"E^{\mathrm{tag}}": r"\gamma"}


def _named_factor(letter: str, factor: float, model: EncoderClassifier) -> str:
    return rf"{FACTORS[letter]}\," if isinstance(model.positions, PolarityAware) else ""


def _positions(model: EncoderClassifier, seen: Trace) -> Iterator[tuple[str, float, Array, str]]:
    """What is added for the place: letter, learned factor (1: none), values (L, d), words."""
    place, width = model.positions, model.embedding.embedding_dim
    if place is None:
        return
    length, device = seen.keep.shape[1], seen.keep.device
    aware = isinstance(place, PolarityAware)
    factors = {name: float(exact(value)[0]) for name, value in place.factors().items()}
    waves = exact(sinusoid(length, width, device))
    yield r"p^{\sin}", factors.get("alpha", 1.0), waves, "a sinusoid of its place" + " times α" * aware
    if "beta" in factors:
        words = "recency times β, which tells how near the end it stands"
        yield "r", factors["beta"], exact(recency(seen.keep, width)[0]), words
    if "gamma" in factors and isinstance(place, PolarityAware) and place.tags is not None:
        tags = np.zeros(length, int) if seen.tags is None else seen.tags[0].cpu().numpy()
        yield r"E^{\mathrm{tag}}", factors["gamma"], exact(place.tags.weight)[tags], "its part of speech times γ"


def _ngram_means(table: Array, grams: Tensor, off: Collection[tuple[int, int]]) -> Array:
    """(L, d): the mean row of the n-grams of each token, buckets (L, K) counted from 1; one that is off adds 0."""
    found = np.zeros((len(grams), table.shape[1]))
    for row, buckets in enumerate(grams.cpu().numpy()):
        own = [(bucket, (row, place) not in off) for place, bucket in enumerate(buckets) if bucket > 0]
        for bucket, speaks in own:
            found[row] += speaks * table[bucket - 1] / len(own)
    return found


def _above(
    model: EncoderClassifier, x: Array, tokens: tuple[str, ...], classes: tuple[str, ...], at: int, head: int
) -> Iterator[Stage]:
    """What follows the last layer."""
    rule = norm(x, model.final_norm)
    final = Matrix("h", normed(x, model.final_norm), tokens, numbered(x.shape[1]), rule=rule)
    more = len(model.layers) - at - 1
    passes = "" if not more else f"Layer {at + 2} does the same again. " if more == 1 else ""
    passes = passes or (f"Layers {at + 2} to {at + 1 + more} do the same again. " if more else "")
    lines = (r"h_i = \operatorname{norm}(z_i)",) if rule is not None else ("h_i = z_i",)
    stages = list(_reading(model.head, final, tokens, head))
    stages += pooling(model.head, stages[-1].matrices[-1] if stages else final, lead=not stages)
    stages += dense_and_logits(model.head, stages[-1].matrices[-1], classes)
    first = stages[0]
    yield Stage(first.key, first.title, (*lines, *first.formulas), passes + first.reading, first.matrices)
    yield from stages[1:]


def _reading(head: Head, final: Matrix, tokens: tuple[str, ...], number: int) -> Iterator[Stage]:
    """Convolutions and the attention of a head, where it has them."""
    matrix = final
    if head.branches:
        stage = _convolutions(head, final, tokens)
        matrix = stage.matrices[-1]
        yield stage
    if head.attention is not None:
        lead = (matrix,)
        yield _head_attention(head.attention, matrix.values, lead, tokens, min(number, head.attention.heads - 1))


def _convolutions(head: Head, final: Matrix, tokens: tuple[str, ...]) -> Stage:
    found = [branch_matrix(cast(Branch, branch), int(width), final) for width, branch in head.branches.items()]
    joined = np.concatenate([final.values, *(each.values for each in found)], 1)
    widths = ", ".join(head.branches)
    whole = Matrix("r", joined, tokens, numbered(joined.shape[1]))
    formulas = (
        r"C_{k,i} = \operatorname{ReLU}\big(\operatorname{norm}(\sum_j W_j\,h_{i+j} + b)\big)",
        rf"r_i = [h;\,{';'.join(f'C_{{{k}}}' for k in head.branches)}]_i",
    )
    reading = (
        f"Beside each token stands what convolutions of {widths} tokens find around it: a channel is large where its "
        "pattern is. The norm of a channel is in its weights here."
    )
    return Stage("convolutions", "Convolutions", formulas, reading, (final, *found, whole))


def branch_matrix(branch: Branch, width: int, final: Matrix) -> Matrix:
    """(L, c): one convolution with its batch norm and ReLU; zeros stand beyond the text."""
    x, convolution, batch = final.values, branch.convolution, branch.norm
    scale = exact(batch.weight) / np.sqrt(exact(batch.running_var) + batch.eps)
    bias = (exact(convolution.bias) - exact(batch.running_mean)) * scale + exact(batch.bias)
    weight = exact(convolution.weight).transpose(2, 1, 0).reshape(-1, len(scale)) * scale
    rule = Dot(windows(x, width), weight, bias, after="relu")
    return Matrix(f"C_{{{width}}}", rule.values(), final.rows, numbered(len(scale)), rule=rule)


def windows(x: Array, width: int) -> Array:
    """(L, width · d): the tokens of the window at each token, zeros beyond the text."""
    padded = np.pad(x, (((width - 1) // 2, width // 2), (0, 0)))
    return np.concatenate([padded[j : j + len(x)] for j in range(width)], 1)


def _head_attention(
    attention: HeadAttention, x: Array, lead: tuple[Matrix, ...], tokens: tuple[str, ...], number: int
) -> Stage:
    q, k, v = (
        linear(x, each).values().reshape(len(x), attention.heads, -1).swapaxes(0, 1)
        for each in (attention.query, attention.key, attention.value)
    )
    scale = 1 / math.sqrt(q.shape[-1])
    rules = [Dot(q[h], k[h].T, scale=scale) for h in range(attention.heads)]
    shares = [Softmax(rule.values()) for rule in rules]
    joined = np.concatenate([share.values() @ v[h] for h, share in enumerate(shares)], 1)
    out = linear(joined, attention.out)
    matrices = (
        *lead,
        Matrix("s", shares[number].scores, tokens, tokens, "score", rules[number]),
        Matrix("A", shares[number].values(), tokens, tokens, "weight", shares[number]),
        Matrix("a", out.values(), tokens, numbered(x.shape[1]), rule=out),
    )
    formulas = (
        rf"s_{{ij}} = \frac{{q_i\cdot k_j}}{{\sqrt{{{q.shape[-1]}}}}},\quad A = \operatorname{{softmax}}(s)",
        r"a_i = [A^{(1)}V;\dots]_i\,W_O + b_O",
    )
    reading = f"One more attention, over tokens and convolutions; shown is its head {number + 1} of {attention.heads}."
    return Stage("head-attention", "Head attention", formulas, reading, matrices)
