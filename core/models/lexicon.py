"""The lexicon baseline: how positive the words of a text are, and nothing else."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.models.plain import Plain
from core.models.provides import BASELINES
from core.models.terms import valence
from core.models.trace import Batch, Intervene, Output, Trace


class LexiconClassifier(Plain):
    """logits = W · [sum, mean] of the valences of a text's tokens + b; a token's valence is positive - negative.

    The valence of a token that the lexicon does not know is 0, and so are both features of a text without tokens. Of
    several lexicons valences are added.

    Args:
        classes: C.
    """

    provides = BASELINES["lexicon"]

    def __init__(self, *, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervene = None) -> Output:
        """Classify a batch that carries polarities; `pooled` is (B, 2), and a trace holds the valences.

        Raises:
            RuntimeError: if the batch carries none, or a trace is asked for in training mode.
            InputError: if the intervention changes anything.
        """
        self.check(trace=trace, intervene=intervene)
        features = self.features(batch)
        valences = self._valences(batch)[..., None]
        seen = Trace((), valences, batch.keep, polarity=batch.polarity) if trace else None
        return Output(features @ self.weight + self.bias, features, seen)

    def features(self, batch: Batch) -> Tensor:
        """(B, 2): sum and mean of the valences of a text's tokens.

        Raises:
            RuntimeError: if the batch carries no polarities.
        """
        total = self._valences(batch).sum(1)
        return torch.stack([total, total / batch.keep.sum(1).clamp(min=1)], 1)

    def _valences(self, batch: Batch) -> Tensor:
        """(B, L): positive minus negative, from -1 to 1 of each lexicon; 0 where padded."""
        if batch.polarity is None:
            raise RuntimeError("a lexicon baseline needs the polarity of the tokens")
        return valence(batch.polarity).to(self.weight) * batch.keep
