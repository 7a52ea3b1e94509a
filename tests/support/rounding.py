"""Comparison of results up to float32 rounding."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import pytest


def same_but_for_rounding(one: Any, other: Any, tolerance: float = 1e-3) -> bool:
    """Whether two results are equal, with numbers at most `tolerance` apart.

    Threads share the cores differently each time, so sums are taken in another order.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return bool(one == pytest.approx(other, abs=tolerance, nan_ok=True))
    if is_dataclass(one):
        values = [(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)]
        return all(same_but_for_rounding(*pair, tolerance) for pair in values)
    if isinstance(one, Mapping):
        return list(one) == list(other) and same_but_for_rounding(list(one.values()), list(other.values()), tolerance)
    if isinstance(one, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(
            same_but_for_rounding(*pair, tolerance) for pair in zip(one, other, strict=True)
        )
    return bool(one == other)
