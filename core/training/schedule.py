"""The learning rate as a closed formula of the step."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["cosine", "linear", "constant"]


def rate(step: int, *, steps: int, warmup: float, schedule: Schedule) -> float:
    """Factor of the learning rate for update number `step`, counted from 0, of `steps` in all.

    With w = round(warmup * steps) warm-up updates it is (step + 1) / (w + 1) for step < w. After them, with the
    progress t = (step - w) / (steps - w): cosine (1 + cos(pi t)) / 2, linear 1 - t, constant 1. Update w has factor 1;
    cosine and linear reach 0 at step = steps, after the last update.
    """
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    progress = min(1.0, (step - rising) / max(1, steps - rising))
    if schedule == "cosine":
        return (1 + math.cos(math.pi * progress)) / 2
    return 1 - progress if schedule == "linear" else 1.0
