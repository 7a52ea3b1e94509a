"""TF-IDF with a linear layer: the yardstick, with the input and output of every other model."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.exceptions import InputError
from core.models.trace import Batch, Intervention, Output


class BagOfNgrams(nn.Module):
    """logits = W · x / |x| + b with x_g = (1 + ln count_g) · idf_g, as scikit-learn's sublinear TF-IDF.

    The ids of a text are its known n-grams, repetitions kept, in any order. Nothing of size B × vocabulary is made.

    Args:
        vocabulary: V, number of n-gram ids.
        classes: C.
    """

    provides = frozenset({"pooled"})

    def __init__(self, *, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("idf", torch.ones(vocabulary))
        self.weight = nn.Parameter(torch.zeros(vocabulary, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervention | None = None) -> Output:
        """Classify a batch; there is nothing inside to trace, and `pooled` is the logits.

        Raises:
            InputError: if an intervention is asked for.
        """
        if intervene is not None and intervene != Intervention():
            raise InputError("this model has no attention: there is no head, component or lambda to change")
        rows, grams, values = self._weigh(batch)
        starts = torch.searchsorted(rows, torch.arange(len(batch.ids), device=rows.device))
        logits = self.bias + F.embedding_bag(grams, self.weight, starts, mode="sum", per_sample_weights=values)
        return Output(logits=logits, pooled=logits)

    def lambdas(self) -> list[Tensor | None]:
        """None of the layers has one: an empty list."""
        return []

    def lambda_parameters(self) -> set[str]:
        """No parameter makes a lambda."""
        return set()

    def scalars(self) -> dict[str, list[float]]:
        """No learned number stands for itself."""
        return {}

    def _weigh(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Row, n-gram and normalised TF-IDF value of each distinct n-gram of each text, sorted by row; each (M,)."""
        vocabulary = len(self.weight)
        row = torch.arange(len(batch.ids), device=batch.ids.device)[:, None]
        keys, counts = torch.unique((row * vocabulary + batch.ids)[batch.keep], return_counts=True)
        rows, grams = keys // vocabulary, keys % vocabulary
        values = (1 + counts.to(self.weight.dtype).log()) * self.get_buffer("idf")[grams]
        squares = values.new_zeros(len(batch.ids)).index_add(0, rows, values * values)
        return rows, grams, values / squares.sqrt().clamp(min=1e-12)[rows]
