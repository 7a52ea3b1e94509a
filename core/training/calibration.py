"""The calibration of a run's probabilities, as stored in its record. Imports nothing heavy."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.data.dataset import Task


class Scaling(NamedTuple):
    """The scaling of a run's logits (`core.evaluation.prediction.scale_logits`); see `core.training.temperature`."""

    temperature: float = 1.0
    prior: tuple[float, ...] = ()
    """(C,), each above 0 and below 1: towards what; empty: towards every class alike."""

    def compute_prior_logits(self, task: Task) -> list[float]:
        """Return the logits of the prior, (C,); without a prior one 0 for all classes, (1,)."""
        if not self.prior:
            return [0.0]
        return [math.log(share) - (math.log1p(-share) if task == "multi" else 0) for share in self.prior]


UNSCALED = Scaling()
