"""One typed sentence: how it was read, what the model says, and everything that happened inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.data.table import Task
from core.evaluation.predict import device_of, evaluating
from core.models.build import Model
from core.models.trace import Intervention, LayerTrace, Trace
from core.text.tokenizers import UNKNOWN, Tokenizer
from core.training.batches import one_text
from core.training.loss import probabilities

CLASS_TOKEN = "[CLS]"


@dataclass(frozen=True)
class LayerView:
    """One layer for one text; float32 arrays, queries in rows."""

    components: np.ndarray
    """(N, H, L, L): softmax maps; (N, H, 0, 0) where the text is too long for maps."""
    coefficients: np.ndarray
    """(N, H, L): c of each query token."""
    combined: np.ndarray
    """(H, L, L): sum of coefficient times map; (H, 0, 0) where the text is too long for maps."""
    head_outputs: np.ndarray
    """(H, L, d/H)."""
    gates: np.ndarray | None
    """(L,): how much each token may be looked at, where the model has gates."""
    terms: dict[str, np.ndarray]
    """(H, L, L): `lexical`, what a lexicon adds to the scores, or `lexical_factor`, what they are multiplied with."""
    temperature: float | None
    """Factor of the cosines, where the model has one."""
    support: np.ndarray | None
    """(L, L) bool: who may see whom, where not everybody may see everybody."""


@dataclass(frozen=True)
class SentenceView:
    """What a page or the command line shows of one text."""

    text: str
    """As typed."""
    read_as: str
    """After normalising: what the tokens are pieces of."""
    tokens: tuple[str, ...]
    """One per row and column of the maps; a class token comes first where the model has one."""
    unknown: tuple[bool, ...]
    """True where the vocabulary lacks the token, so that the model saw only `<unk>`."""
    truncated: int
    """Tokens cut off at the end."""
    cut: str
    """The end of `read_as` that was cut off with them."""
    label: str
    probabilities: dict[str, float]
    """By class name, in label order."""
    pooled: np.ndarray
    """(d,)."""
    layers: tuple[LayerView, ...]
    """Empty for a model without attention (`maps` not in its `provides`)."""
    positions: dict[str, float]
    """Learned factors of the position terms (alpha, beta, gamma), where the model has them."""
    tags: tuple[int, ...] | None
    """Part of speech of each token, as the model reads them."""
    polarity: np.ndarray | None
    """(L, 3): positive, neutral, negative, as the model reads them from its lexicon."""
    branches: dict[int, np.ndarray]
    """By kernel width, (L, c): the convolutions of the head, where it has any."""
    head_maps: np.ndarray | None
    """(h, L, L): the head's own attention, where it has one."""

    @property
    def too_long(self) -> bool:
        """Whether the text has layers but, for its length, no maps."""
        return bool(self.layers) and len(self.tokens) > 0 and self.layers[0].combined.shape[-1] == 0


def inspect_text(
    model: Model,
    tokenizer: Tokenizer,
    classes: tuple[str, ...],
    text: str,
    *,
    task: Task = "single",
    intervene: Intervention | None = None,
) -> SentenceView:
    """Classify one text and show the inside; the model is left as it was found.

    Raises:
        InputError: if the intervention names something the model does not have.
    """
    encoding = tokenizer.encode(text)
    batch = one_text(encoding)
    with evaluating(model):
        device = device_of(model)
        output = model(
            batch.to(device),
            trace=True,
            intervene=intervene,
        )
    chances = probabilities(output.logits[0].double(), task).tolist()
    tokens, unknown = list(encoding.tokens), [token == UNKNOWN for token in encoding.ids]
    if output.trace is not None and output.trace.keep.shape[1] > batch.ids.shape[1]:
        tokens, unknown = [CLASS_TOKEN, *tokens], [False, *unknown]
    return SentenceView(
        text=text,
        read_as=encoding.text,
        tokens=tuple(tokens),
        unknown=tuple(unknown),
        truncated=encoding.truncated,
        cut=encoding.text[encoding.offsets[-1][1] :].strip() if encoding.truncated else "",
        label=classes[int(np.argmax(chances))],
        probabilities=dict(zip(classes, chances, strict=True)),
        pooled=_array(output.pooled[0]),
        layers=() if output.trace is None else _layers(output.trace, len(tokens)),
        **_beside(output.trace, len(tokens)),
    )


def _layers(trace: Trace, length: int) -> tuple[LayerView, ...]:
    """The one text of a traced batch; padding (a text without tokens has one padded place) is cut."""
    return tuple(_layer(layer, length) for layer in trace.layers)


def _layer(layer: LayerTrace, length: int) -> LayerView:
    _, n, h, _, _ = layer.coefficients.shape
    maps = layer.coefficients.new_zeros(n, h, 0, 0) if layer.maps is None else layer.maps[0, ..., :length, :length]
    combined = maps[0] if layer.maps is None else layer.combined[0, ..., :length, :length]
    return LayerView(
        components=_array(maps),
        coefficients=_array(layer.coefficients[0, ..., :length, 0]),
        combined=_array(combined),
        head_outputs=_array(layer.head_outputs[0, :, :length]),
        gates=None if layer.gates is None else _array(layer.gates[0, :length]),
        terms={name: _array(term[0, :, :length, :length]) for name, term in layer.terms.items()},
        temperature=None if layer.temperature is None else layer.temperature.item(),
        support=None if layer.support is None else layer.support[0, :length, :length].cpu().numpy(),
    )


def _beside(trace: Trace | None, length: int) -> dict[str, Any]:
    """What a trace tells beside its layers, as fields of `SentenceView`."""
    head = None if trace is None else trace.head
    if trace is None:
        return {"positions": {}, "tags": None, "polarity": None, "branches": {}, "head_maps": None}
    return {
        "positions": {name: factor.item() for name, factor in trace.positions.items()},
        "tags": None if trace.tags is None else tuple(trace.tags[0, :length].tolist()),
        "polarity": None if trace.polarity is None else _array(trace.polarity[0, :length]),
        "branches": {} if head is None else {k: _array(each[0, :length]) for k, each in head.branches.items()},
        "head_maps": None if head is None or head.maps is None else _array(head.maps[0, :, :length, :length]),
    }


def inside(view: SentenceView) -> dict[str, Any]:
    """What a reading shows of the inside as plain data for JSON; null or empty where the model has no such part."""

    def plain(values: np.ndarray | None) -> Any:
        return None if values is None else values.tolist()

    return {
        "tags": None if view.tags is None else list(view.tags),
        "polarity": plain(view.polarity),
        "positions": view.positions,
        "branches": {str(width): plain(values) for width, values in view.branches.items()},
        "head_maps": plain(view.head_maps),
        "layers": [
            {
                "components": plain(layer.components),
                "coefficients": plain(layer.coefficients),
                "combined": plain(layer.combined),
                "gates": plain(layer.gates),
                "temperature": layer.temperature,
                "terms": {name: plain(term) for name, term in layer.terms.items()},
                "support": plain(layer.support),
            }
            for layer in view.layers
        ],
    }


def _array(tensor: Tensor) -> np.ndarray:
    with torch.inference_mode():
        return tensor.detach().float().cpu().numpy().copy()
