"""The number of random cases of a test: few in the quick run, all in the slow one."""

import pytest

QUICK = 8


def seeds(count: int) -> pytest.MarkDecorator:
    """Parametrize `seed` from 0 to `count` - 1: the first eight in the quick run, all others in the slow one."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, count)]
    return pytest.mark.parametrize("seed", [*range(QUICK), *slow])


def examples(count: int) -> pytest.MarkDecorator:
    """Parametrize `count` Hypothesis examples: 1/5 in the quick run, all in the slow one."""
    return pytest.mark.parametrize("count", [-(-count // 5), pytest.param(count, marks=pytest.mark.slow)])
