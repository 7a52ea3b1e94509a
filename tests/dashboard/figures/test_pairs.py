"""What a model has for all pairs of tokens besides its maps."""

from __future__ import annotations

import numpy as np
import pytest
from token_readings import read

from dashboard.figures import tokens

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("preset", "name"), [("lexical-last", "added"), ("lexical-hadamard", "multiplied")])
def test_sigma_is_the_product_of_the_polarities_in_the_last_head(preset, name):
    seen, _ = read(preset)
    row = tokens.sigma(seen, 0, slice(-1, None))
    assert row.name.startswith(name)
    np.testing.assert_allclose(row.weights[0], seen.polarity @ seen.polarity.T - 1 / 3, atol=1e-6)
    assert row.weights[0, 3, 3] > 0 and abs(row.weights[0, 1, 3]) < 1e-6, "bad with itself, and with not"
    rows = tokens.polarity_rows(seen)
    np.testing.assert_allclose(sum(row.values for row in rows), 1, rtol=1e-6)


@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_each_of_two_lexicons_that_lie_apart_is_shown_in_its_first_head(strength):
    apart = {"lexicons": 2, "lexical_heads": "apart", "lexical_strength": strength}
    seen, _ = read("lexical-all", **apart)
    row = tokens.sigma(seen, 0, slice(2))
    for k, weights in enumerate(row.weights):
        polarity = seen.polarity[:, 3 * k : 3 * k + 3]
        np.testing.assert_allclose(weights, strength * (polarity @ polarity.T - 1 / 3), atol=1e-5)
    assert [row.name for row in tokens.polarity_rows(seen)][2:4] == ["negative 1", "positive 2"]


def test_what_two_lexicons_add_in_one_head_is_counted_from_what_both_add_beside_a_neutral_word():
    seen, _ = read("lexical-all", lexicons=2)
    first, second = seen.polarity[:, :3], seen.polarity[:, 3:]
    added = first @ first.T + second @ second.T
    np.testing.assert_allclose(tokens.sigma(seen, 0, slice(-1, None)).weights[0], added - 2 / 3, atol=1e-5)
