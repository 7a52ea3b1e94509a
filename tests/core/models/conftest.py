"""A batch with every kind of row."""

import pytest
from small_models import example

from core.models.trace import Batch


@pytest.fixture
def batch() -> Batch:
    """Five texts: full length, short, one token, two tokens, no tokens."""
    return example()
