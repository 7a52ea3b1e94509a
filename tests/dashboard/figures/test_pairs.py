"""What a model has for all pairs of tokens besides its maps."""

from __future__ import annotations

import numpy as np
import pytest
from token_readings import read

from dashboard.figures import pairs, tokens


@pytest.mark.parametrize(("preset", "name"), [("lexical-last", "added"), ("lexical-hadamard", "multiplied")])
def test_sigma_is_the_product_of_the_polarities_in_the_last_head(preset, name):
    seen, _ = read(preset)
    row = pairs.sigma(seen, 0)
    assert row.name.startswith(name)
    np.testing.assert_allclose(row.weights[0], seen.polarity @ seen.polarity.T - 1 / 3, atol=1e-6)
    assert row.weights[0, 3, 3] > 0 and abs(row.weights[0, 1, 3]) < 1e-6, "bad with itself, and with not"
    rows = tokens.polarity_rows(seen)
    np.testing.assert_allclose(sum(row.values for row in rows), 1, rtol=1e-6)
