"""Cases of one test; only some run in the quick run."""

from collections.abc import Iterable
from typing import Any

import pytest


def cases(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Return all values as cases; those not listed as quick are slow."""
    return [pytest.param(value, marks=[] if value in tuple(quick) else [pytest.mark.slow]) for value in values]
