"""The stages of an encoder around its layers: tokens, embedding and positions, then pooling and the head."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
from torch import Tensor

from core.interpret.rules import Array, Dot, Softmax, Sum, exact, linear, norm
from core.interpret.stages import Matrix, Stage, numbered
from core.interpret.steps_backbone import as_layer, doubled, entering_stage, in_float64, pass_backbone
from core.interpret.steps_head import dense_and_logits, pooling
from core.interpret.steps_layer import Chosen, layer_stages
from core.models.encoder import EncoderClassifier, Layer
from core.models.head import Branch, Head, HeadAttention
from core.models.positions import PolarityAware
from core.models.pretrained import PretrainedClassifier
from core.models.record import Record
from core.models.trace import Batch, Intervention


def encoder_stages(
    model: EncoderClassifier,
    batch: Batch,
    tokens: tuple[str, ...],
    place: tuple[int, int, int],
    classes: tuple[str, ...],
    change: Intervention,
) -> Iterator[Stage]:
    """From the embedding to the logits, as the model computes them in float64.

    Args:
        model: in evaluation mode.
        batch: one text.
        tokens: L names.
        place: layer, head and component, from 0.
        classes: C.
        change: what is changed inside.
    """
    at, head, component = place
    record, batch = Record(at), doubled(batch)
    read = model.complete(batch)[0]
    changes = () if change == Intervention() else (change,)
    if isinstance(model, PretrainedClassifier):
        embedding, layer = entering_stage(model, read.ids[0].cpu().numpy(), tokens), as_layer(model, at)
        pass_backbone(model, embedding.made, read, changes, record)
    else:
        exact_model = in_float64(model)
        exact_model(batch, intervene=changes, record=record)
        embedding = embedding_stage(exact_model, record.part("embedding"), tokens, change)
        layer = cast(Layer, exact_model.layers[at])
    polarity = None if read.polarity is None else exact(read.polarity[0])
    yield embedding
    first = model.class_token is not None
    yield from layer_stages(
        Chosen(layer, record.part("layer"), polarity, first, change, tokens, at + 1, head, component)
    )
    yield from _above(model, record, tokens, classes, at, head)


def embedding_stage(model: EncoderClassifier, record: Record, tokens: tuple[str, ...], change: Intervention) -> Stage:
    """What enters the first layer, as the sum of what it is made of."""
    values = {name: exact(each.value[0]) for name, each in record.values.items()}
    dimensions, first = numbered(values["x"].shape[1]), int(model.class_token is not None)
    table, scale = values["E"], np.full((len(tokens), 1), model.scale)
    if model.class_token is not None:
        table[0], scale[0] = exact(model.class_token), 1.0
    parts: list[tuple[Array | float, ...]] = []
    row, lines, said = "E_i", list[str](), list[str]()
    formula = ""
    for name, each in record.values.items():
        if name == "x":
            continue
        said.append(_said(name, change, aware=isinstance(model.positions, PolarityAware)))
        if not each.parts:
            parts.append((scale, values[name]))
            row = row if name == "E" else rf"\big(E_i + {name}_i\big)"
            lines += [each.formula] if each.formula else []
            continue
        [[factor]] = each.parts
        times = float(exact(factor)[0]) if isinstance(factor, Tensor) else factor
        parts.append((times, values[name]) if times != 1 else (values[name],))
        formula += f" + {each.formula}"
    rooted = rf"\sqrt{{{table.shape[1]}}}\," if model.scale != 1 else ""
    rule = Sum(tuple(parts), table.shape)
    matrices = [
        Matrix(name, each, tokens, dimensions, rule=rule if name == "x" else None) for name, each in values.items()
    ]
    reading = (
        f"{', '.join(said[:-1])} and {said[-1]}." if len(said) > 1 else f"{said[0]}; this model adds no positions."
    )
    reading += " A class token, learned, stands before the text." * first
    return Stage("embedding", "Embedding", (f"x_i = {rooted}{row}{formula}", *lines), reading, tuple(matrices))


SAID = {
    "E": "Each token is a row of numbers",
    r"\overline{G}": "the mean of its character n-grams",
    r"p^{\sin}": "a sinusoid of its place",
    "r": "recency times β, which tells how near the end it stands",
    r"E^{\mathrm{tag}}": "its part of speech times γ",
    "S": "what its text, the first or the second, adds",
}


def _said(name: str, change: Intervention, *, aware: bool) -> str:
    """What is a part of the embedding, in words."""
    more = {
        r"\overline{G}": ", silenced ones as zeros" * bool(change.pieces_off),
        r"p^{\sin}": " times α" * aware,
        "S": ", silenced" * change.segments_off,
    }
    return SAID[name] + more.get(name, "")


def _above(
    model: EncoderClassifier, record: Record, tokens: tuple[str, ...], classes: tuple[str, ...], at: int, head: int
) -> Iterator[Stage]:
    """What follows the last layer."""
    z, h = (exact(record.values[name].value[0]) for name in "zh")
    rule, inside = norm(z, model.final_norm), record.part("head")
    final = Matrix("h", h, tokens, numbered(h.shape[1]), rule=rule)
    more = len(model.layers) - at - 1
    passes = "" if not more else f"Layer {at + 2} does the same again. " if more == 1 else ""
    passes = passes or (f"Layers {at + 2} to {at + 1 + more} do the same again. " if more else "")
    lines = (r"h_i = \operatorname{norm}(z_i)",) if rule is not None else ("h_i = z_i",)
    stages = list(_reading(model.head, inside, final, head))
    stages += pooling(model.head, inside, stages[-1].matrices[-1] if stages else final, lead=not stages)
    stages += dense_and_logits(model.head, inside, stages[-1].matrices[-1], classes)
    first = stages[0]
    yield Stage(first.key, first.title, (*lines, *first.formulas), passes + first.reading, first.matrices)
    yield from stages[1:]


def _reading(head: Head, record: Record, final: Matrix, number: int) -> Iterator[Stage]:
    """Convolutions and the attention of a head, where it has them."""
    matrix = final
    if head.branches:
        stage = _convolutions(head, record, final)
        matrix = stage.matrices[-1]
        yield stage
    if head.attention is not None:
        yield _head_attention(head.attention, record, matrix, min(number, head.attention.heads - 1))


def _convolutions(head: Head, record: Record, final: Matrix) -> Stage:
    found = [branch_matrix(cast(Branch, branch), int(width), record, final) for width, branch in head.branches.items()]
    widths, joined = ", ".join(head.branches), exact(record.values["r"].value[0])
    whole = Matrix("r", joined, final.rows, numbered(joined.shape[1]))
    formulas = (
        r"C_{k,i} = \operatorname{ReLU}\big(\operatorname{norm}(\sum_j W_j\,h_{i+j} + b)\big)",
        record.values["r"].formula,
    )
    reading = (
        f"Beside each token stands what convolutions of {widths} tokens find around it: a channel is large where its "
        "pattern is. The norm of a channel is in its weights here."
    )
    return Stage("convolutions", "Convolutions", formulas, reading, (final, *found, whole))


def branch_matrix(branch: Branch, width: int, record: Record, final: Matrix) -> Matrix:
    """(L, c): one convolution with its batch norm and ReLU; zeros stand beyond the text."""
    convolution, batch, name = branch.convolution, branch.norm, f"C_{{{width}}}"
    scale = exact(batch.weight) / np.sqrt(exact(batch.running_var) + batch.eps)
    bias = (exact(convolution.bias) - exact(batch.running_mean)) * scale + exact(batch.bias)
    weight = exact(convolution.weight).transpose(2, 1, 0).reshape(-1, len(scale)) * scale
    rule = Dot(windows(final.values, width), weight, bias, after="relu")
    return Matrix(name, exact(record.values[name].value[0]), final.rows, numbered(len(scale)), rule=rule)


def windows(x: Array, width: int) -> Array:
    """(L, width · d): the tokens of the window at each token, zeros beyond the text."""
    padded = np.pad(x, (((width - 1) // 2, width // 2), (0, 0)))
    return np.concatenate([padded[j : j + len(x)] for j in range(width)], 1)


def _head_attention(attention: HeadAttention, record: Record, read: Matrix, number: int) -> Stage:
    q, k, maps = (exact(record.values[name].value[0, number]) for name in "qkA")  # (L, d / h), (L, d / h), (L, L)
    joined, out = (exact(record.values[name].value[0]) for name in ("joined", "a"))
    tokens, width = read.rows, q.shape[1]
    scores = Dot(q * math.sqrt(width), k.T, scale=1 / math.sqrt(width))
    matrices = (
        read,
        Matrix("s", scores.values(), tokens, tokens, "score", scores),
        Matrix("A", maps, tokens, tokens, "weight", Softmax(scores.values())),
        Matrix("a", out, tokens, numbered(out.shape[1]), rule=linear(joined, attention.out)),
    )
    formulas = (
        rf"s_{{ij}} = \frac{{q_i\cdot k_j}}{{\sqrt{{{width}}}}},\quad A = \operatorname{{softmax}}(s)",
        record.values["a"].formula,
    )
    reading = f"One more attention, over tokens and convolutions; shown is its head {number + 1} of {attention.heads}."
    return Stage("head-attention", "Head attention", formulas, reading, matrices)
