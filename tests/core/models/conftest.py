"""A batch with every kind of row."""

from __future__ import annotations

import pytest
import torch
from small_models import VOCABULARY

from core.models.trace import Batch


@pytest.fixture
def batch() -> Batch:
    """Five texts: full length, short, a single token, two tokens, and one without any."""
    lengths = torch.tensor([9, 5, 1, 2, 0])
    keep = torch.arange(9) < lengths[:, None]
    ids = torch.randint(2, VOCABULARY, (5, 9), generator=torch.Generator().manual_seed(1))
    return Batch(ids * keep, keep)
