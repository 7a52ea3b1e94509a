"""TF-IDF with a linear layer, with the input and output of every other model: the yardstick, naive Bayes, the SVM."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.plain import Plain
from core.models.provides import BASELINES
from core.models.segments import MARK, segments
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
        rows, grams, values = self._features(batch)
        starts = torch.searchsorted(rows, torch.arange(len(batch.ids), device=rows.device))
        logits = self.bias + F.embedding_bag(grams, self.weight, starts, mode="sum", per_sample_weights=values)
        return Output(logits=logits, pooled=logits)

    def _features(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Row of a text, row of the weights and value, sorted by the first; each (M,)."""
        return self._weigh(batch)

    def _weigh(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Row, n-gram and normalised TF-IDF value of each distinct n-gram of each text, sorted by row; each (M,)."""
        vocabulary = len(self.get_buffer("idf"))
        row = torch.arange(len(batch.ids), device=batch.ids.device)[:, None]
        keys, counts = torch.unique((row * vocabulary + batch.ids)[batch.keep], return_counts=True)
        rows, grams = keys // vocabulary, keys % vocabulary
        values = (1 + counts.to(self.weight.dtype).log()) * self.get_buffer("idf")[grams]
        squares = values.new_zeros(len(batch.ids)).index_add(0, rows, values * values)
        return rows, grams, values / squares.sqrt().clamp(min=1e-12)[rows]


class BagOfPairs(BagOfNgrams):
    """logits = W · [a, b, |a − b|, a · b] + b, where a and b are the TF-IDF rows of the two texts, each of length 1.

    What both texts have stands in the product, what one of them has alone in the difference: a linear layer over the
    n-grams of both together could compare nothing.

    Args:
        vocabulary: V, number of n-gram ids; the first of them is the mark.
        classes: C.
    """

    BLOCKS = 4  # V rows of the weights each
    mark = MARK

    def __init__(self, *, vocabulary: int, classes: int) -> None:
        super().__init__(vocabulary=vocabulary, classes=classes)
        self.weight = nn.Parameter(torch.zeros(self.BLOCKS * vocabulary, classes))

    def _features(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        vocabulary, second = len(self.get_buffer("idf")), segments(batch.ids).bool()
        of_text = batch.keep & (batch.ids != MARK)
        texts = [self._weigh(batch._replace(keep=of_text & part)) for part in (~second, second)]
        keys = [rows * vocabulary + grams for rows, grams, _ in texts]
        every, place = torch.unique(torch.cat(keys), return_inverse=True)
        places = place.split([len(each) for each in keys])
        a, b = (
            every.new_zeros(len(every), dtype=values.dtype).index_copy(0, at, values)
            for at, (_, _, values) in zip(places, texts, strict=True)
        )
        rows, grams = every // vocabulary, every % vocabulary
        found = torch.cat([a, b, (a - b).abs(), a * b])
        columns = torch.cat([grams + block * vocabulary for block in range(self.BLOCKS)])
        order = torch.argsort(rows.repeat(self.BLOCKS), stable=True)
        return rows.repeat(self.BLOCKS)[order], columns[order], found[order]
