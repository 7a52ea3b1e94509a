"""Dropout with shared random draws behaves like torch's."""

import pytest
import torch

from core.models.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_zeroes_a_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    x = torch.ones(400, 1001)
    y = Dropout(p)(x)
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.003)
    assert y[y != 0].unique().item() == pytest.approx(1 / (1 - p), rel=1e-4)
    assert y.mean().item() == pytest.approx(1, abs=0.03)


def test_entries_with_a_shared_draw_are_independent():
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).double().view(-1, 4)
    assert (torch.corrcoef(dropped.T) - torch.eye(4)).abs().max() < 0.01


def test_dropout_is_off_in_evaluation_and_for_p_zero():
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_dropout_gradient_is_the_mask():
    torch.manual_seed(1)
    x = torch.ones(50, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
