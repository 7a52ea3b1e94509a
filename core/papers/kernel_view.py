"""Attention of a run on one text as a kernel smoother: weights from numpy, beside the maps that the model computes.

SentiFormer, section III.B, Definition 1: an output is the mean of the values, weighted by K(x_i, x_j) = exp(q_i · k_j /
√e). The gate of its eq. 4 is a factor on K(·, x_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from core.evaluation.inference import get_device
from core.exceptions import InputError, NotAvailable
from core.interpret.encoder_stages import copy_to_float64
from core.interpret.sentence_inspection import CLASS_TOKEN, LAST_TOKEN
from core.models.encoder import EncoderClassifier
from core.models.pretrained import PretrainedClassifier
from core.models.trace import Batch, Record
from core.runs.load import LoadedRun
from core.text.token_table import to_batch

LIMIT = 1e-6
"""Greatest difference between an attention weight and that of the kernel smoother."""


@dataclass(frozen=True)
class KernelView:
    """One layer's attention on a text, from the model and as a kernel smoother."""

    tokens: tuple[str, ...]  # L of them
    layer: int  # from 1
    gates: np.ndarray  # (L,): factors on the keys; ones if the model has no gate
    maps: np.ndarray  # (H, L, L): as the model computes them
    kernel: np.ndarray  # (H, L, L): K(i, j) g_j, divided by the largest of its row
    weights: np.ndarray  # (H, L, L): the kernel, divided by the sum of its row
    outputs: np.ndarray  # (H, L, e): of the model
    values: np.ndarray  # (H, L, e)

    @property
    def difference(self) -> float:
        """Return the largest difference between an attention weight and that of the kernel smoother."""
        return float(np.abs(self.maps - self.weights).max())

    @property
    def output_difference(self) -> float:
        """Return the largest difference between an output of the model and the weighted mean of the values."""
        return float(np.abs(self.weights @ self.values - self.outputs).max())

    @property
    def outside(self) -> float:
        """Return how far an output lies outside the least and greatest value of any coordinate; 0: nowhere."""
        low, high = self.values.min(1, keepdims=True), self.values.max(1, keepdims=True)
        return float(max(0.0, (low - self.outputs).max(), (self.outputs - high).max()))


def compute_kernel(q: np.ndarray, k: np.ndarray, gates: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return exp(q_i · k_j / √e) g_j, (H, L, L), divided by the largest of its row; 0 for keys that are not seen.

    `q`, `k` (H, L, e); `gates` (L,); `seen` (L, L) bool.
    """
    scores = np.where(seen, q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), -np.inf)
    kernel = np.exp(scores - scores.max(-1, keepdims=True)) * gates
    found: np.ndarray = kernel / kernel.max(-1, keepdims=True)
    return found


def compute_view(run: LoadedRun, text: str, layer: int = 0) -> KernelView:
    """Compute one layer's attention on a text by the model and by a kernel; layer 0: the last.

    Raises:
        InputError: There is no such layer.
        NotAvailable: The scores have more terms than queries, keys and gate, or the model knows no word.
    """
    model, encoding = run.model, run.tokenizer.encode(text)
    if not isinstance(model, EncoderClassifier) or isinstance(model, PretrainedClassifier) or model.components > 1:
        raise NotAvailable(f"{run.record.preset} has no single attention map per head; choose a SentiFormer run")
    part = run.record.config.model.attention
    if part.rotary or part.qk_norm or part.lexical != "none":
        raise NotAvailable(f"the scores of {run.record.preset} have more terms than queries, keys and gate")
    if not 0 <= layer <= len(model.layers):
        raise InputError(f"layer {layer}: this model has layers 1 to {len(model.layers)}")
    if not encoding.tokens:
        raise NotAvailable("the model knows no word of this text; type another one")
    batch, at = Batch.from_arrays(to_batch(encoding)).to(get_device(model)), (layer or len(model.layers)) - 1
    record, exact = Record(at), batch.to(torch.device("cpu"))
    exact = exact if exact.polarity is None else exact._replace(polarity=exact.polarity.double())
    with torch.inference_mode():
        trace = model.eval()(batch, trace=True).trace
        copy_to_float64(model)(exact, record=record)
    found = {name: each.value[0].numpy() for name, each in record.get_part("layer").values.items()}
    if trace is None or "S" not in found:
        raise NotAvailable("the text is too long to keep its maps; type a shorter one")
    gates = found.get("g", np.ones(len(found["S"])))
    gates = np.where(np.arange(len(gates)) < model.first, 1.0, gates)
    kernel = compute_kernel(found["q"][0], found["k"][0], gates, found["S"])
    return KernelView(
        tokens=(*[CLASS_TOKEN] * model.first, *encoding.tokens, *[LAST_TOKEN] * model.last),
        layer=at + 1,
        gates=gates,
        maps=trace.layers[at].combined[0].cpu().numpy(),
        kernel=kernel,
        weights=kernel / kernel.sum(-1, keepdims=True),
        outputs=found["o"],
        values=found["v"],
    )
