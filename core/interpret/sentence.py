"""One typed sentence: how it was read, what the model says, and everything that happened inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.evaluation.predict import device_of, evaluating
from core.models.build import Model
from core.models.trace import Intervention, LayerTrace, Trace
from core.text.tokenizers import UNKNOWN, Tokenizer
from core.training.batches import pad

CLASS_TOKEN = "[CLS]"


@dataclass(frozen=True)
class LayerView:
    """One layer for one text; float32 arrays, queries in rows."""

    components: np.ndarray
    """(N, H, L, L): softmax maps."""
    coefficients: np.ndarray
    """(N, H, L): c of each query token."""
    combined: np.ndarray
    """(H, L, L): sum of coefficient times map."""
    head_outputs: np.ndarray
    """(H, L, d/H)."""
    gates: np.ndarray | None
    """(L,) or None."""


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


def inspect_text(
    model: Model,
    tokenizer: Tokenizer,
    classes: tuple[str, ...],
    text: str,
    *,
    intervene: Intervention | None = None,
) -> SentenceView:
    """Classify one text and show the inside; the model is left as it was found.

    Raises:
        InputError: if the intervention names something the model does not have.
    """
    encoding = tokenizer.encode(text)
    batch = pad([encoding.ids])
    with evaluating(model):
        device = device_of(model)
        output = model(
            batch._replace(ids=batch.ids.to(device), keep=batch.keep.to(device)),
            trace="maps" in model.provides,
            intervene=intervene,
        )
    probabilities = output.logits[0].double().softmax(-1).tolist()
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
        label=classes[int(np.argmax(probabilities))],
        probabilities=dict(zip(classes, probabilities, strict=True)),
        pooled=_array(output.pooled[0]),
        layers=() if output.trace is None else _layers(output.trace, len(tokens)),
    )


def _layers(trace: Trace, length: int) -> tuple[LayerView, ...]:
    """The one text of a traced batch; padding (a text without tokens has one padded place) is cut."""
    return tuple(_layer(layer, length) for layer in trace.layers)


def _layer(layer: LayerTrace, length: int) -> LayerView:
    return LayerView(
        components=_array(layer.maps[0, ..., :length, :length]),
        coefficients=_array(layer.coefficients[0, ..., :length, 0]),
        combined=_array(layer.combined[0, ..., :length, :length]),
        head_outputs=_array(layer.head_outputs[0, :, :length]),
        gates=None if layer.gates is None else _array(layer.gates[0, :length]),
    )


def _array(tensor: Tensor) -> np.ndarray:
    with torch.inference_mode():
        return tensor.detach().float().cpu().numpy().copy()
