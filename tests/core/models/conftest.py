"""A batch with every kind of row."""

import pytest
from small_models import example

from core.models.trace import Batch


@pytest.fixture
def batch() -> Batch:
    """Five texts: full length, short, a single token, two tokens, and one without any."""
    return example()
