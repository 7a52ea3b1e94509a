"""TF-IDF with a linear layer, with the input and output of every other model: the yardstick, naive Bayes, the SVM."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.plain import Plain
from core.models.provides import BASELINES
from core.models.trace import Batch, Intervene, Output


class BagOfNgrams(Plain):
    """logits = W · x / |x| + b with x_g = (1 + ln count_g) · idf_g, as scikit-learn's sublinear TF-IDF.

    The ids of a text are its known n-grams, repetitions kept, in any order. Nothing of size B × vocabulary is made.

    Args:
        vocabulary: V, number of n-gram ids.
        classes: C.
    """

    provides = BASELINES["tfidf-logreg"]

    def __init__(self, *, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("idf", torch.ones(vocabulary))
        self.weight = nn.Parameter(torch.zeros(vocabulary, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervene = None) -> Output:
        """Classify a batch; there is nothing inside to trace, and `pooled` is the logits.

        Raises:
            InputError: if an intervention is asked for.
        """
        self.check(trace=trace, intervene=intervene)
        rows, grams, values = self._weigh(batch)
        starts = torch.searchsorted(rows, torch.arange(len(batch.ids), device=rows.device))
        logits = self.bias + F.embedding_bag(grams, self.weight, starts, mode="sum", per_sample_weights=values)
        return Output(logits=logits, pooled=logits)

    def _weigh(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Row, n-gram and normalised TF-IDF value of each distinct n-gram of each text, sorted by row; each (M,)."""
        vocabulary = len(self.weight)
        row = torch.arange(len(batch.ids), device=batch.ids.device)[:, None]
        keys, counts = torch.unique((row * vocabulary + batch.ids)[batch.keep], return_counts=True)
        rows, grams = keys // vocabulary, keys % vocabulary
        values = (1 + counts.to(self.weight.dtype).log()) * self.get_buffer("idf")[grams]
        squares = values.new_zeros(len(batch.ids)).index_add(0, rows, values * values)
        return rows, grams, values / squares.sqrt().clamp(min=1e-12)[rows]
