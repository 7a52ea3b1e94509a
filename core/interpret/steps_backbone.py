"""What a pretrained encoder computes around its attention, as layers and a stage of ours.

All five families compute alike: x = norm(x + attention(x)), then norm(x + W2 act(W1 x)), over the norm of word, place
and type. Only the names of their modules differ.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal, TypeVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from core.exceptions import NotAvailable
from core.interpret.rules import Array, Sum, exact, linear, norm
from core.interpret.stages import Matrix, Stage, numbered
from core.models.attention import Attention
from core.models.encoder import Layer
from core.models.feedforward import FeedForward
from core.models.mixing import Single
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
    """A copy of a model or a part of it, on the CPU and in evaluation mode."""
    return copy.deepcopy(module).cpu().double().eval()


def doubled(batch: Batch) -> Batch:
    """A batch on the CPU, its polarities in float64."""
    batch = batch.to(torch.device("cpu"))
    return batch if batch.polarity is None else batch._replace(polarity=batch.polarity.double())


def pass_backbone(
    model: PretrainedClassifier, x: Array, read: Batch, changes: Sequence[Intervention], record: Record
) -> None:
    """Pass a text through a backbone layer by layer, as the whole would not fit into memory in float64 beside itself.

    Args:
        model: the backbone.
        x: (L, d), what enters the first layer.
        read: the completed text.
        changes: of the inside.
        record: what is told everything on the way.
    """
    vectors = torch.from_numpy(x)[None]
    for index in range(len(model.layers)):
        reading = Reading(read.keep, read.polarity, class_token=False, record=record.of(index))
        vectors, _ = as_layer(model, index)(vectors, reading, trace=False, intervene=changes)
    record("z", vectors)
    record("h", vectors)
    in_float64(model.head)(vectors, read.keep, trace=False, record=record.part("head"))


def as_layer(model: PretrainedClassifier, index: int) -> Layer:
    """A block of a backbone as a layer of ours in float64, with the same weights.

    Raises:
        NotAvailable: its feed-forward part has an activation that ours has not.
    """
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
    """By what it does: its name is another library's."""
    asked = torch.linspace(-6, 6, 241)
    if torch.equal(module(asked), F.relu(asked)):
        return "relu"
    if torch.allclose(module(asked), F.gelu(asked), atol=1e-6):
        return "gelu"
    raise NotAvailable(
        f"its layers use {type(module).__name__}, which is not computed anew here; Sentence shows its maps"
    )


def entering_stage(model: PretrainedClassifier, ids: Array, tokens: tuple[str, ...]) -> Stage:
    """What enters the first block: word, place and type, their norm, and where words are narrower their map.

    Args:
        model: in evaluation mode.
        ids: (L,) of the completed text.
        tokens: L names.
    """
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
