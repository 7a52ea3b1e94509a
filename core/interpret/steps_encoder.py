"""The stages of an encoder around its layers: tokens, embedding and positions, then pooling and the head.

A backbone's blocks become layers of ours: all five families compute x = norm(x + attention(x)), then
norm(x + W2 act(W1 x)), over the norm of word, place and type. Only the names of their modules differ.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Literal, TypeVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import NotAvailable
from core.interpret.rules import Array, Dot, Softmax, Sum, exact, linear, norm
from core.interpret.stages import Matrix, Stage, dense_and_logits, numbered, pooling
from core.interpret.steps_layer import Chosen, layer_stages
from core.models.attention import Attention
from core.models.encoder import EncoderClassifier, Layer
from core.models.feedforward import FeedForward
from core.models.head import Branch, Head, HeadAttention
from core.models.mixing import Single
from core.models.positions import PolarityAware
from core.models.pretrained import BackboneLayer, PretrainedClassifier
from core.models.record import Record
from core.models.terms import Reading
from core.models.trace import Batch, Intervention

M = TypeVar("M", bound=nn.Module)
NAMES = {
    "query": ("attention.self.query", "attention.q_lin"),
    "key": ("attention.self.key", "attention.k_lin"),
    "value": ("attention.self.value", "attention.v_lin"),
    "out": ("attention.output.dense", "attention.out_lin"),
    "attention_norm": ("attention.output.LayerNorm", "sa_layer_norm"),
    "up": ("intermediate.dense", "ffn.lin1"),
    "activation": ("intermediate.intermediate_act_fn", "ffn.activation"),
    "down": ("output.dense", "ffn.lin2"),
    "feedforward_norm": ("output.LayerNorm", "output_layer_norm"),
}
"""Of a block of BERT, RoBERTa, ELECTRA and XLM-R; of one of DistilBERT."""


def in_float64(module: M) -> M:
    """Return a float64 copy of a model or a part of it, on the CPU and in evaluation mode."""
    return copy.deepcopy(module).cpu().double().eval()


def doubled(batch: Batch) -> Batch:
    """Return a batch on the CPU, with its polarities in float64."""
    batch = batch.to(torch.device("cpu"))
    return batch if batch.polarity is None else batch._replace(polarity=batch.polarity.double())


def pass_backbone(
    model: PretrainedClassifier, x: Array, read: Batch, changes: Sequence[Intervention], record: Record
) -> None:
    """Pass x (L, d) through a backbone layer by layer, since a float64 copy of the whole would not fit into memory."""
    vectors = torch.from_numpy(x)[None]
    for index in range(len(model.layers)):
        reading = Reading(read.keep, read.polarity, class_token=False, record=record.of(index))
        vectors, _ = as_layer(model, index)(vectors, reading, trace=False, intervene=changes)
    record("z", vectors)
    record("h", vectors)
    in_float64(model.head)(vectors, read.keep, trace=False, record=record.part("head"))


def as_layer(model: PretrainedClassifier, index: int) -> Layer:
    """Return a backbone's block as our layer in float64, same weights; NotAvailable for an activation ours lacks."""
    layer = cast(Sequence[BackboneLayer], model.layers)[index]
    named = dict(layer.block.named_modules())
    parts = {role: next(named[name] for name in names if name in named) for role, names in NAMES.items()}
    injected, activation = layer.attention, _activation(parts["activation"])
    with torch.device("meta"):  # what is made here is replaced
        attention = Attention(
            width=injected.heads,
            heads=injected.heads,
            qk_width=injected.heads,
            components=1,
            mixing=Single(),
            terms=injected.terms,
            head_norm=False,
            row_norm=False,
            index=injected.index,
        )
        feedforward = FeedForward(width=1, hidden=1, activation=activation, dropout=0.0)
    for role in ("query", "key", "value", "out"):
        setattr(attention, role, parts[role])
    for role in ("up", "down"):
        setattr(feedforward, role, parts[role])
    norms = parts["attention_norm"], parts["feedforward_norm"]
    return in_float64(Layer(attention=attention, feedforward=feedforward, norms=norms, place="post", dropout=0.0))


def _activation(module: nn.Module) -> Literal["relu", "gelu"]:
    """Detect the activation by what it does, since its name is another library's."""
    asked = torch.linspace(-6, 6, 241)
    if torch.equal(module(asked), F.relu(asked)):
        return "relu"
    if torch.allclose(module(asked), F.gelu(asked), atol=1e-6):
        return "gelu"
    raise NotAvailable(
        f"its layers use {type(module).__name__}, which is not computed anew here; Sentence shows its maps"
    )


def entering_stage(model: PretrainedClassifier, ids: Array, tokens: tuple[str, ...]) -> Stage:
    """Build the stage before the first block: word, place and type, their norm, and the map of narrower words."""
    entering, read, places = model.entering, torch.from_numpy(ids)[None], np.arange(len(ids))
    tables = dict(entering.named_children())
    places += int(getattr(entering, "padding_idx", -1)) + 1  # RoBERTa and XLM-R count places from behind the padding
    of_type = tables.get("token_type_embeddings")
    parts = {"E": _rows(tables["word_embeddings"], model.rows(read)[0].numpy())}
    parts["P"] = _rows(tables["position_embeddings"], places)
    if of_type is not None:
        parts["S"] = _rows(of_type, model.types(read)[0].numpy())
    dimensions = numbered(parts["E"].shape[1])
    total = Sum(tuple((each,) for each in parts.values()), parts["E"].shape)
    layer_norm = norm(total.values(), tables["LayerNorm"])
    if layer_norm is None:
        raise NotAvailable("what enters its first layer has another norm, which is not computed anew here")
    matrices = [Matrix(name, values, tokens, dimensions) for name, values in parts.items()]
    matrices.append(Matrix("e", total.values(), tokens, dimensions, rule=total))
    matrices.append(Matrix("x", layer_norm.values(), tokens, dimensions, rule=layer_norm))
    letters = " + ".join(f"{name}_i" for name in parts)
    lines = [f"e_i = {letters}", r"x_i = \operatorname{norm}(e_i)"]
    reading = "Each token is a row of numbers, with what its place" + (" and its text add" if "S" in parts else " adds")
    if isinstance(model.project, nn.Linear):
        mapped = linear(layer_norm.values(), model.project)
        matrices.append(Matrix("x'", mapped.values(), tokens, numbered(mapped.values().shape[1]), rule=mapped))
        lines.append("x'_i = x_i\\,W + b")
        reading += "; words are narrower than the layers, and are mapped to their width"
    return Stage("embedding", "Embedding", tuple(lines), f"{reading}.", tuple(matrices))


def _rows(table: nn.Module, rows: Array) -> Array:
    weight = table.get_parameter("weight")
    return exact(weight[torch.from_numpy(rows).to(weight.device)])


def encoder_stages(
    model: EncoderClassifier,
    batch: Batch,
    tokens: tuple[str, ...],
    place: tuple[int, int, int],
    classes: tuple[str, ...],
    change: Intervention,
) -> Iterator[Stage]:
    """Yield the stages from the embedding to the logits, as the model computes them in float64.

    `place` is layer, head and component, from 0.
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
    """Build the stage of the input of the first layer, as a sum of its parts."""
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
    """Describe a part of the embedding in words."""
    more = {
        r"\overline{G}": ", silenced ones as zeros" * bool(change.pieces_off),
        r"p^{\sin}": " times α" * aware,
        "S": ", silenced" * change.segments_off,
    }
    return SAID[name] + more.get(name, "")


def _above(
    model: EncoderClassifier, record: Record, tokens: tuple[str, ...], classes: tuple[str, ...], at: int, head: int
) -> Iterator[Stage]:
    """Yield the stages after the last layer."""
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
    """Yield the stages of a head's convolutions and attention, if it has them."""
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
    """Return the matrix (L, c) of one convolution with its batch norm and ReLU; zero-padded beyond the text."""
    convolution, batch, name = branch.convolution, branch.norm, f"C_{{{width}}}"
    scale = exact(batch.weight) / np.sqrt(exact(batch.running_var) + batch.eps)
    bias = (exact(convolution.bias) - exact(batch.running_mean)) * scale + exact(batch.bias)
    weight = exact(convolution.weight).transpose(2, 1, 0).reshape(-1, len(scale)) * scale
    rule = Dot(windows(final.values, width), weight, bias, after="relu")
    return Matrix(name, exact(record.values[name].value[0]), final.rows, numbered(len(scale)), rule=rule)


def windows(x: Array, width: int) -> Array:
    """Return (L, width · d): the window of tokens at each token, zero-padded beyond the text."""
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
