"""Separability of the classes in the embeddings that a model makes of texts, and similarity of two such embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from core.evaluation.inference import OnBatch, get_device, ignore_progress, switch_to_eval
from core.evaluation.intervals import compute_mean_interval
from core.evaluation.metrics import SEVERAL
from core.evaluation.projection import compute_purity, draw_rows
from core.models.encoder import EncoderClassifier
from core.models.head import average_tokens
from core.models.trace import Batch
from core.text.token_table import build_token_table, split_batches
from core.text.tokenizer import Tokenizer

LARGEST = 10_000  # rows that are compared, at most; of more rows a seeded sample is taken, as the cost is quadratic
_BLOCK = 4_000_000  # distances in memory at once


@dataclass(frozen=True)
class SplitSilhouettes:
    """The silhouettes of a split's embeddings by true class, or the reason why there are none."""

    rows: np.ndarray  # (m,) int64: the compared rows, ascending; `LARGEST` at most
    samples: np.ndarray  # (m,) float64 in [-1, 1]; empty if undefined
    overall: float | None
    per_class: dict[str, float]  # mean silhouette of each class that has compared rows
    total: int  # rows of the split
    reason: str = ""  # why there is no silhouette; empty if there is

    def summarize(self) -> dict[str, Any]:
        """Return a summary of a split's silhouettes as plain data, without those of single rows."""
        found: dict[str, Any] = {"rows": len(self.rows), "of": self.total}
        if self.reason:
            return {**found, "left_out": self.reason}
        return {**found, "overall": self.overall, "per_class": self.per_class}


def compute_silhouettes(
    embeddings: np.ndarray, labels: np.ndarray, classes: Sequence[str], *, seed: int = 0, largest: int = LARGEST
) -> SplitSilhouettes:
    """Compute exact Euclidean silhouettes (Rousseeuw 1987) of embeddings (n, d), at most `largest` of them."""
    total = len(embeddings)
    rows = draw_rows(total, largest, seed)
    labels = np.asarray(labels, np.int64)[rows]
    reason = _explain_undefined(embeddings, labels)
    if reason:
        return SplitSilhouettes(rows, np.zeros(0), None, {}, total, reason)
    samples = compute_row_silhouettes(torch.from_numpy(embeddings[rows]), torch.from_numpy(labels)).numpy()
    per_class = {
        name: float(samples[labels == number].mean()) for number, name in enumerate(classes) if (labels == number).any()
    }
    return SplitSilhouettes(rows, samples, float(samples.mean()), per_class, total)


def compute_row_silhouettes(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Compute (n,) float64 silhouettes of (n, d) embeddings with (n,) int64 labels, in blocks of rows."""
    points = embeddings.double()
    points = points - points.mean(0)
    squares = (points * points).sum(1)
    floor = 1e-13 * float(squares.max())  # the rounding error of squared distances; smaller ones count as 0
    members = F.one_hot(labels).double()
    sizes = members.sum(0)
    parts = []
    for some, norms, own in zip(
        *(each.split(max(1, _BLOCK // len(points))) for each in (points, squares, labels)), strict=True
    ):
        distances = torch.addmm(squares, some, points.T, alpha=-2).add_(norms[:, None])
        sums = torch.threshold_(distances, floor, 0.0).sqrt_() @ members
        place = own[:, None]
        inside = sums.gather(1, place)[:, 0] / (sizes[own] - 1)
        # A class without rows gives 0 / 0 and is no neighbour.
        outside = (sums / sizes).nan_to_num(nan=torch.inf).scatter(1, place, torch.inf).min(1).values
        found = (outside - inside) / torch.maximum(inside, outside)
        parts.append(torch.where(sizes[own] > 1, found, 0.0).nan_to_num(nan=0.0))
    return torch.cat(parts)


def _explain_undefined(embeddings: np.ndarray, labels: np.ndarray) -> str:
    present = len(np.unique(labels))
    if present < 2:
        return "the rows belong to fewer than two classes"
    if present == len(labels):
        return "every row is a class of its own"
    return "" if np.isfinite(embeddings).all() else "some vectors are not finite numbers"


AT_ONCE, PAIRS = 64, 1_000_000  # texts per batch, and pairs of their tokens, at most: a trace holds every map


def read_layers(
    model: EncoderClassifier, tokenizer: Tokenizer, texts: Sequence[str], on_batch: OnBatch = ignore_progress
) -> np.ndarray:
    """Return each text's mean token vector before and after each layer, (layers + 1, n, d) float32."""
    tokens = build_token_table(tokenizer, texts)
    order = np.argsort(-tokens.lengths, kind="stable")
    longest = int(tokens.lengths.max(initial=1)) or 1
    batches = split_batches(order, max(1, min(AT_ONCE, PAIRS // longest**2)))
    found = np.zeros((len(model.layers) + 1, len(tokens), model.width), np.float32)
    device = get_device(model)
    with switch_to_eval(model):
        for number, rows in enumerate(batches):
            on_batch(number / len(batches))
            batch = Batch.from_arrays(tokens.pad_rows(rows)).to(device)
            trace, own = model(batch, trace=True).trace, batch.keep
            text = slice(model.first, model.first + own.shape[1])
            for place, vectors in enumerate((trace.embedded, *(layer.hidden for layer in trace.layers))):
                found[place, rows] = average_tokens(vectors[:, text].float(), own).cpu().numpy()
    return found


def measure_separability(
    vectors: np.ndarray, labels: np.ndarray
) -> tuple[float | None, float | None, list[float] | None]:
    """Return mean silhouette and neighbour purity of text vectors, and the silhouette's bootstrap interval, or None."""
    pure = compute_purity(vectors, labels)
    mean, interval = None, None
    if np.ndim(labels) == 1:
        found = compute_silhouettes(vectors.astype(np.float64), labels, ())
        mean, interval = found.overall, compute_mean_interval(found.samples)
    return mean, None if pure is None else float(pure.mean()), interval


def explain_no_silhouette(labels: np.ndarray) -> str:
    """Return why silhouettes by class are not defined for these labels; empty if they are."""
    if np.ndim(labels) == 2:
        return SEVERAL
    return "" if 2 <= len(np.unique(labels)) < len(labels) else "the sentences belong to fewer than two classes"


def compute_cka(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return linear CKA (Kornblith et al. 2019) of vectors (n, d) and (n, e) of the same texts; None: all are equal."""
    x, y = (each.astype(np.float64) - each.mean(0, dtype=np.float64) for each in (first, second))
    below = float(np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    return float(np.linalg.norm(y.T @ x) ** 2) / below if below > 0 else None
