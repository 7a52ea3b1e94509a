"""How often a study draws."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from studies import FEW


@pytest.fixture
def studies(pytestconfig: pytest.Config) -> Callable[..., int]:
    """Return studies(whole) → how many are drawn: all of them under `pytest -m study`, else `few` at most."""

    def count(whole: int, few: int = FEW) -> int:
        return whole if pytestconfig.option.markexpr == "study" else min(whole, few)

    return count
