"""The stages of an encoder's forward pass around its layers: tokens, embedding, positions, pooling and head.

The blocks of a pretrained encoder are converted to Sentiscope's layers: all five families compute
x = norm(x + attention(x)), then norm(x + W2 act(W1 x)), from the norm of word, position and type embeddings. Only the
names of their modules differ.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Literal, TypeVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import NotAvailable
from core.interpret import forward_stages
from core.interpret.forward_stages import Array, Dot, ForwardStage, Names, StageMatrix, Sum, name_dimensions, to_float64
from core.interpret.layer_stages import ShownHead, yield_layer_stages
from core.models.attention import Attention, SingleMap
from core.models.encoder import EncoderClassifier, FeedForward, Layer
from core.models.head import Branch, Head, HeadAttention
from core.models.positions import PolarityAware
from core.models.pretrained import BackboneLayer, PretrainedClassifier
from core.models.score_terms import AttentionInputs
from core.models.trace import Batch, Intervention, Record

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
}  # Module names in a block of BERT, RoBERTa, ELECTRA and XLM-R; and in a block of DistilBERT


def copy_to_float64(module: M) -> M:
    """Return a float64 copy of a model or model part, on the CPU and in evaluation mode."""
    return copy.deepcopy(module).cpu().double().eval()


def as_layer(model: PretrainedClassifier, index: int) -> Layer:
    """Convert a pretrained backbone's block to a Sentiscope layer; NotAvailable if it uses neither ReLU nor GELU."""
    layer = cast(Sequence[BackboneLayer], model.layers)[index]
    named = dict(layer.block.named_modules())
    parts = {role: next(named[name] for name in names if name in named) for role, names in NAMES.items()}
    injected, activation = layer.attention, _detect_activation(parts["activation"])
    with torch.device("meta"):  # needs no memory; the weights are replaced below
        attention = Attention(
            width=injected.heads,
            heads=injected.heads,
            qk_width=injected.heads,
            components=1,
            mixing=SingleMap(),
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
    return copy_to_float64(Layer(attention=attention, feedforward=feedforward, norms=norms, place="post", dropout=0.0))


def _detect_activation(module: nn.Module) -> Literal["relu", "gelu"]:
    """Detect whether an activation module is ReLU or GELU by its outputs, as class names differ between libraries."""
    asked = torch.linspace(-6, 6, 241)
    if torch.equal(module(asked), F.relu(asked)):
        return "relu"
    if torch.allclose(module(asked), F.gelu(asked), atol=1e-6):
        return "gelu"
    raise NotAvailable(f"its layers use {type(module).__name__}, which Steps cannot compute; Sentence shows its maps")


def build_backbone_input(model: PretrainedClassifier, ids: Array, tokens: Names) -> ForwardStage:
    """Build the embedding stage of a pretrained backbone: word, position and segment embeddings, and their norm."""
    entering, read, places = model.entering, torch.from_numpy(ids)[None], np.arange(len(ids))
    tables = dict(entering.named_children())
    places += int(getattr(entering, "padding_idx", -1)) + 1  # RoBERTa and XLM-R: positions start after the padding id
    of_type = tables.get("token_type_embeddings")
    parts = {"E": _select_rows(tables["word_embeddings"], model.map_to_rows(read)[0].numpy())}
    parts["P"] = _select_rows(tables["position_embeddings"], places)
    if of_type is not None:
        parts["S"] = _select_rows(of_type, model.number_types(read)[0].numpy())
    dimensions = name_dimensions(parts["E"].shape[1])
    total = Sum(tuple((each,) for each in parts.values()), parts["E"].shape)
    layer_norm = forward_stages.make_norm_rule(total.compute_values(), tables["LayerNorm"])
    if layer_norm is None:
        raise NotAvailable("the input of its first layer has another norm, which Steps cannot compute")
    matrices = [StageMatrix(name, values, tokens, dimensions) for name, values in parts.items()]
    matrices.append(StageMatrix("e", total.compute_values(), tokens, dimensions, rule=total))
    matrices.append(StageMatrix("x", layer_norm.compute_values(), tokens, dimensions, rule=layer_norm))
    letters = " + ".join(f"{name}_i" for name in parts)
    lines = [f"e_i = {letters}", r"x_i = \operatorname{norm}(e_i)"]
    reading = "Each token is a row of numbers, with what its place" + (" and its text add" if "S" in parts else " adds")
    if isinstance(model.project, nn.Linear):
        mapped = forward_stages.make_linear_rule(layer_norm.compute_values(), model.project)
        values = mapped.compute_values()
        matrices.append(StageMatrix("x'", values, tokens, name_dimensions(values.shape[1]), rule=mapped))
        lines.append("x'_i = x_i\\,W + b")
        reading += "; words are narrower than the layers, and are mapped to their width"
    return ForwardStage("embedding", "Embedding", tuple(lines), f"{reading}.", tuple(matrices))


def _select_rows(table: nn.Module, rows: Array) -> Array:
    weight = table.get_parameter("weight")
    return to_float64(weight[torch.from_numpy(rows).to(weight.device)])


def yield_encoder_stages(
    model: EncoderClassifier,
    batch: Batch,
    tokens: Names,
    place: tuple[int, int, int],
    classes: Names,
    change: Intervention,
) -> Iterator[ForwardStage]:
    """Yield the stages from embedding to logits in float64; `place` is layer, head and component, from 0."""
    at, head, component = place
    record, batch = Record(at), batch.to(torch.device("cpu"))
    batch = batch if batch.polarity is None else batch._replace(polarity=batch.polarity.double())
    read = model.complete_batch(batch)[0]
    changes = () if change == Intervention() else (change,)
    if isinstance(model, PretrainedClassifier):
        embedding, layer = build_backbone_input(model, read.ids[0].cpu().numpy(), tokens), as_layer(model, at)
        vectors = torch.from_numpy(embedding.made)[None]
        for index in range(len(model.layers)):  # a float64 copy of all layers would not fit memory
            reading = AttentionInputs(read.keep, read.polarity, class_token=False, record=record.get_layer(index))
            vectors, _ = as_layer(model, index)(vectors, reading, trace=False, intervene=changes)
        record("z", vectors)
        record("h", vectors)
        copy_to_float64(model.head)(vectors, read.keep, trace=False, record=record.get_part("head"))
    else:
        exact_model = copy_to_float64(model)
        exact_model(batch, intervene=changes, record=record)
        embedding = build_embedding(exact_model, record.get_part("embedding"), tokens, change)
        layer = cast(Layer, exact_model.layers[at])
    polarity = None if read.polarity is None else to_float64(read.polarity[0])
    yield embedding
    inside, first = record.get_part("layer"), model.class_token is not None
    yield from yield_layer_stages(ShownHead(layer, inside, polarity, first, change, tokens, at + 1, head, component))
    yield from _yield_upper_stages(model, record, tokens, classes, at, head)


def build_embedding(model: EncoderClassifier, record: Record, tokens: Names, change: Intervention) -> ForwardStage:
    """Build the embedding stage of an encoder: the input of the first layer as a sum of its parts."""
    values = {name: to_float64(each.value[0]) for name, each in record.values.items()}
    dimensions, first = name_dimensions(values["x"].shape[1]), int(model.class_token is not None)
    table, scale = values["E"], np.full((len(tokens), 1), model.scale)
    if model.class_token is not None:
        table[0], scale[0] = to_float64(model.class_token), 1.0
    parts: list[tuple[Array | float, ...]] = []
    row, lines, said = "E_i", list[str](), list[str]()
    more = {
        r"p^{\sin}": " times α" * isinstance(model.positions, PolarityAware),
        "S": ", silenced" * change.segments_off,
    }
    formula = ""
    for name, each in record.values.items():
        if name == "x":
            continue
        said.append(SAID[name] + more.get(name, ""))
        if not each.parts:
            parts.append((scale, values[name]))
            row = row if name == "E" else rf"\big(E_i + {name}_i\big)"
            lines += [each.formula] if each.formula else []
            continue
        [[factor]] = each.parts
        times = float(to_float64(factor)[0]) if isinstance(factor, Tensor) else factor
        parts.append((times, values[name]) if times != 1 else (values[name],))
        formula += f" + {each.formula}"
    rooted = rf"\sqrt{{{table.shape[1]}}}\," if model.scale != 1 else ""
    rules = {"x": Sum(tuple(parts), table.shape)}
    matrices = [StageMatrix(name, each, tokens, dimensions, rule=rules.get(name)) for name, each in values.items()]
    last = f" and {said[-1]}" if len(said) > 1 else "; this model adds no positions"
    reading = f"{', '.join(said[:-1]) or said[0]}{last}."
    reading += " A class token, learned, stands before the text." * first
    return ForwardStage("embedding", "Embedding", (f"x_i = {rooted}{row}{formula}", *lines), reading, tuple(matrices))


SAID = {
    "E": "Each token is a row of numbers",
    r"\overline{G}": "the mean of its character n-grams",
    r"p^{\sin}": "a sinusoid of its position",
    "r": "recency times β, which tells how near the end it is",
    r"E^{\mathrm{tag}}": "its part of speech times γ",
    "S": "what its text, the first or the second, adds",
}


def _yield_upper_stages(
    model: EncoderClassifier, record: Record, tokens: Names, classes: Names, at: int, head: int
) -> Iterator[ForwardStage]:
    """Yield the stages of an encoder's forward pass after its last layer: final norm, head, pooling and classifier."""
    z, h = (to_float64(record.values[name].value[0]) for name in "zh")
    rule, inside = forward_stages.make_norm_rule(z, model.final_norm), record.get_part("head")
    final = StageMatrix("h", h, tokens, name_dimensions(h.shape[1]), rule=rule)
    more = len(model.layers) - at - 1
    passes = f"Layer {at + 2} does the same again. " if more else ""
    passes = f"Layers {at + 2} to {at + 1 + more} do the same again. " if more > 1 else passes
    lines = (r"h_i = \operatorname{norm}(z_i)",) if rule is not None else ("h_i = z_i",)
    stages, matrix, attention = list[ForwardStage](), final, model.head.attention
    if model.head.branches:
        stages.append(_build_convolutions(model.head, inside, final))
        matrix = stages[0].matrices[-1]
    if attention is not None:
        stages.append(_build_head_attention(attention, inside, matrix, min(head, attention.heads - 1)))
    pooled = stages[-1].matrices[-1] if stages else final
    stages += forward_stages.build_pooling(model.head, inside, pooled, lead=not stages)
    stages += forward_stages.yield_classifier(model.head, inside, stages[-1].matrices[-1], classes)
    first = stages[0]
    yield ForwardStage(first.key, first.title, (*lines, *first.formulas), passes + first.reading, first.matrices)
    yield from stages[1:]


def _build_convolutions(head: Head, record: Record, final: StageMatrix) -> ForwardStage:
    found = [build_branch(cast(Branch, branch), int(width), record, final) for width, branch in head.branches.items()]
    widths, joined = ", ".join(head.branches), to_float64(record.values["r"].value[0])
    whole = StageMatrix("r", joined, final.rows, name_dimensions(joined.shape[1]))
    formulas = (
        r"C_{k,i} = \operatorname{ReLU}\big(\operatorname{norm}(\sum_j W_j\,h_{i+j} + b)\big)",
        record.values["r"].formula,
    )
    reading = (
        f"Beside each token stands what convolutions of {widths} tokens find around it: a channel is large where its "
        "pattern is. The norm of a channel is in its weights here."
    )
    return ForwardStage("convolutions", "Convolutions", formulas, reading, (final, *found, whole))


def build_branch(branch: Branch, width: int, record: Record, final: StageMatrix) -> StageMatrix:
    """Build the matrix (L, c) of one convolution with batch norm and ReLU; zero-padded beyond the text."""
    convolution, batch, name = branch.convolution, branch.norm, f"C_{{{width}}}"
    scale = to_float64(batch.weight) / np.sqrt(to_float64(batch.running_var) + batch.eps)
    bias = (to_float64(convolution.bias) - to_float64(batch.running_mean)) * scale + to_float64(batch.bias)
    weight = to_float64(convolution.weight).transpose(2, 1, 0).reshape(-1, len(scale)) * scale
    rule = Dot(stack_windows(final.values, width), weight, bias, after="relu")
    values = to_float64(record.values[name].value[0])
    return StageMatrix(name, values, final.rows, name_dimensions(len(scale)), rule=rule)


def stack_windows(x: Array, width: int) -> Array:
    """Stack the window of `width` token vectors around each token, (L, width · d), zero-padded beyond the text."""
    padded = np.pad(x, (((width - 1) // 2, width // 2), (0, 0)))
    return np.concatenate([padded[j : j + len(x)] for j in range(width)], 1)


def _build_head_attention(attention: HeadAttention, record: Record, read: StageMatrix, number: int) -> ForwardStage:
    q, k, maps = (to_float64(record.values[name].value[0, number]) for name in "qkA")  # (L, d / h), (L, d / h), (L, L)
    joined, out = (to_float64(record.values[name].value[0]) for name in ("joined", "a"))
    tokens, width = read.rows, q.shape[1]
    scores = Dot(q * math.sqrt(width), k.T, scale=1 / math.sqrt(width))
    made = forward_stages.make_linear_rule(joined, attention.out)
    matrices = (
        read,
        StageMatrix("s", scores.compute_values(), tokens, tokens, "score", scores),
        StageMatrix("A", maps, tokens, tokens, "weight", forward_stages.Softmax(scores.compute_values())),
        StageMatrix("a", out, tokens, name_dimensions(out.shape[1]), rule=made),
    )
    formulas = (
        rf"s_{{ij}} = \frac{{q_i\cdot k_j}}{{\sqrt{{{width}}}}},\quad A = \operatorname{{softmax}}(s)",
        record.values["a"].formula,
    )
    reading = f"One more attention, over tokens and convolutions; shown is its head {number + 1} of {attention.heads}."
    return ForwardStage("head-attention", "Head attention", formulas, reading, matrices)
