"""The calibration of a run's probabilities, as stored in the run's record. Has no heavy imports."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.data.dataset import Task


class Scaling(NamedTuple):
    """The temperature and class prior that scale a run's logits; see `core.training.temperature`."""

    temperature: float = 1.0
    prior: tuple[float, ...] = ()
    """(C,), each between 0 and 1: the class probabilities that scaling moves towards; empty: equal ones."""

    def compute_prior_logits(self, task: Task) -> list[float]:
        """Return the logits (C,) of the class prior that scaling moves towards; (1,) zero without a prior."""
        if not self.prior:
            return [0.0]
        return [math.log(share) - (math.log1p(-share) if task == "multi" else 0) for share in self.prior]


UNSCALED = Scaling()
