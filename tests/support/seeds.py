"""Seeds of tests that draw their case at random."""

from __future__ import annotations

import pytest

QUICK = 20


def seeds(count: int) -> pytest.MarkDecorator:
    """Parametrize `seed` from 0 to `count` - 1: the first twenty in the quick run, all others in the slow one."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, count)]
    return pytest.mark.parametrize("seed", [*range(QUICK), *slow])
