"""What makes the probabilities of a run come true, as its record has it. Imports nothing heavy."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.data.table import Task


class Scaling(NamedTuple):
    """What is done to the logits of a run (`core.evaluation.predict.scaled`); see `core.training.temperature`."""

    temperature: float = 1.0
    prior: tuple[float, ...] = ()
    """(C,), each above 0 and below 1: towards what; empty: towards every class alike."""

    def centre(self, task: Task) -> list[float]:
        """Return (C,): the logits of the prior; without one (1,), a 0 for all."""
        if not self.prior:
            return [0.0]
        return [math.log(share) - (math.log1p(-share) if task == "multi" else 0) for share in self.prior]


UNSCALED = Scaling()
