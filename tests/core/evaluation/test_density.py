"""The field behind a map against SciPy's kernel estimate, and what its lines enclose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from core.evaluation.density import NARROWER, density


@pytest.fixture
def clouds():
    """Two clouds, one three times as large."""
    random = np.random.default_rng(3)
    return np.concatenate([random.normal(0, 1, (300, 2)), random.normal(8, 1, (100, 2))])


@pytest.mark.slow
def test_it_is_the_kernel_estimate_of_scipy(clouds):
    # Of points whose covariance is the identity SciPy's kernel is round, as ours always is.
    points = (clouds - clouds.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(clouds.T))).T
    found = density(points)  # of cells, so that a peak is off by a fiftieth at most
    x, y = np.meshgrid(found.x, found.y)
    wide = NARROWER * len(points) ** (-1 / 6) * np.sqrt(points.var(0).mean())
    expected = gaussian_kde(points.T, wide)(np.stack([x.ravel(), y.ravel()])).reshape(x.shape)
    assert found.values == pytest.approx(expected, abs=0.02 * expected.max())


def test_its_mass_is_one_and_its_lines_enclose_the_share_that_they_say(clouds):
    found = density(clouds)
    cell = (found.x[1] - found.x[0]) * (found.y[1] - found.y[0])
    assert found.values.sum() * cell == pytest.approx(1, abs=1e-6)
    for share in (0.1, 0.5, 0.9):
        assert found.values[found.held <= share].sum() * cell == pytest.approx(share, abs=0.01)
    dense, far = np.unravel_index(found.values.argmax(), found.values.shape), (0, 0)
    assert found.held[dense] < 0.01 and found.held[far] == pytest.approx(1)


def test_points_on_a_line_have_no_field():
    assert density(np.column_stack([np.arange(9.0), np.ones(9)])) is None
    assert density(np.zeros((1, 2))) is None
