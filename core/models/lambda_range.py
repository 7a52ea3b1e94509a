"""The ranges that lambda may be kept in: how each is written, what keeps lambda there, where lambda may start."""

from __future__ import annotations

from typing import Literal, NamedTuple

Constraint = Literal["01", "pm1", "pos", "free"]


class LambdaRange(NamedTuple):
    """A range of lambda: how it is written, what keeps lambda in it, where lambda may start."""

    interval: str  # In LaTeX
    function: str  # In LaTeX; `core.models.mixing` computes it
    start: tuple[float, float]  # At a closed end of its range lambda could not move
    slider: tuple[float, float]  # As far as lambda is moved by hand

    @property
    def plain(self) -> str:
        """The interval without LaTeX, as the papers' tables name it."""
        return self.interval.replace(r"\infty", "∞")

    @property
    def words(self) -> str:
        """The interval in a sentence, its minus a minus."""
        return self.plain.replace("-", "−")


LAMBDA_RANGES: dict[Constraint, LambdaRange] = {
    "01": LambdaRange("[0,1]", r"\operatorname{sigmoid}", (0.01, 0.99), (0.0, 1.0)),
    "pm1": LambdaRange("[-1,1]", r"\tanh", (-0.99, 0.99), (-1.0, 1.0)),
    "pos": LambdaRange(r"[0,\infty)", r"\operatorname{ReLU}", (0.0, 10.0), (0.0, 1.5)),
    "free": LambdaRange(r"(-\infty,\infty)", r"\operatorname{id}", (-10.0, 10.0), (-1.5, 1.5)),
}
DIFFERENTIAL_START = (0.0, 0.99)  # Where the differential rule may start: its heads are scaled by 1 - start
