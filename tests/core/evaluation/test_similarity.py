"""Linear CKA against the formula with Gram matrices, and what it is blind to."""

import numpy as np
import pytest

from core.evaluation.class_separability import compute_cka
from core.evaluation.intervals import compute_mean_interval

RANDOM = np.random.default_rng(0)
FIRST, SECOND = RANDOM.normal(size=(60, 8)), RANDOM.normal(size=(60, 5))


def test_cka_equals_the_formula_with_gram_matrices_and_ignores_rotation_shift_and_scale():
    center = np.eye(60) - 1 / 60
    own, other = (center @ (each @ each.T) @ center for each in (FIRST, SECOND))
    expected = np.trace(own @ other) / np.sqrt(np.trace(own @ own) * np.trace(other @ other))
    assert compute_cka(FIRST, SECOND) == pytest.approx(expected, abs=1e-12) and 0 < expected < 0.3
    assert compute_cka(SECOND, FIRST) == pytest.approx(expected, abs=1e-12)
    rotation = np.linalg.qr(RANDOM.normal(size=(8, 8)))[0]
    assert compute_cka(FIRST, 3 * FIRST @ rotation + 7) == pytest.approx(1, abs=1e-12)
    assert compute_cka(FIRST, np.ones((60, 3))) is None


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    values = RANDOM.normal(2, 1, 400)
    low, high = compute_mean_interval(values)
    assert (low, high) == pytest.approx(values.mean() + np.array([-1.96, 1.96]) * values.std() / 20, abs=0.02)
    assert compute_mean_interval([]) is None is compute_mean_interval([0.5] * 9)
