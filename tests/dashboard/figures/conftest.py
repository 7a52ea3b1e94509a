"""Answers that a figure is drawn of: labels (n,) and probabilities (n, C) of two and of three classes."""

import numpy as np
import pytest


@pytest.fixture
def two():
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200)
    chance = np.clip(0.5 + 0.3 * (labels - 0.5) + 0.25 * random.standard_normal(200), 0.01, 0.99)
    return labels, np.stack([1 - chance, chance], 1)


@pytest.fixture
def three():
    random = np.random.default_rng(2)
    labels = random.integers(0, 3, 150)
    raw = random.random((150, 3)) + 0.8 * np.eye(3)[labels]
    return labels, raw / raw.sum(1, keepdims=True)
