"""The cases of a test: few in the quick run, all in the slow one."""

from collections.abc import Iterable
from typing import Any

import pytest

QUICK = 8


def seeds(count: int) -> pytest.MarkDecorator:
    """Parametrize `seed` from 0 to `count` - 1: the first eight in the quick run, all others in the slow one."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, count)]
    return pytest.mark.parametrize("seed", [*range(QUICK), *slow])


def examples(count: int) -> pytest.MarkDecorator:
    """Parametrize `count` Hypothesis examples: 1/5 in the quick run, all in the slow one."""
    return pytest.mark.parametrize("count", [-(-count // 5), pytest.param(count, marks=pytest.mark.slow)])


def cases(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Return all values as cases; those not listed as quick are slow."""
    return [pytest.param(value, marks=[] if value in tuple(quick) else [pytest.mark.slow]) for value in values]
