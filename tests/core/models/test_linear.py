"""The bag of n-grams: a closed formula, and nothing inside."""

import math

import pytest
import torch
from small_models import batch_of

from core.exceptions import InputError
from core.models.baselines import BagOfNgrams
from core.models.trace import Intervention


def test_logits_are_the_weighted_normalised_counts():
    model = BagOfNgrams(vocabulary=4, classes=2)
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.tensor([0.0, 0.0, 2.0, 3.0]))
        model.weight.copy_(torch.tensor([[9.0, 9.0], [9.0, 9.0], [1.0, -1.0], [0.5, 4.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2]))
    output = model(batch_of([[3, 2, 3], [], [2]]))
    two, three = 2.0, 3 * (1 + math.log(2))
    length = math.hypot(two, three)
    expected = [
        [0.1 + (two + 0.5 * three) / length, 0.2 + (-two + 4 * three) / length],
        [0.1, 0.2],
        [1.1, -0.8],
    ]
    torch.testing.assert_close(output.logits, torch.tensor(expected))
    assert output.pooled is output.logits


def test_the_order_of_the_ids_does_not_matter():
    model = BagOfNgrams(vocabulary=6, classes=3)
    torch.nn.init.normal_(model.weight)
    assert torch.equal(model(batch_of([[2, 5, 3, 5]])).logits, model(batch_of([[5, 3, 5, 2]])).logits)


def test_there_is_nothing_inside_to_change():
    model = BagOfNgrams(vocabulary=4, classes=2).eval()
    with pytest.raises(InputError, match="no attention"):
        model(batch_of([[2]]), intervene=Intervention(heads_off=frozenset({(0, 0)})))
    assert model(batch_of([[2]]), trace=True, intervene=Intervention()).trace is None
    assert (model.lambdas(), model.lambda_parameters()) == ([], set())
