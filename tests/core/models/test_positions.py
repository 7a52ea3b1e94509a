"""Polarity-aware positions term by term (SentiFormer, eq. 3)."""

from __future__ import annotations

import math

import pytest
import torch
from small_models import example, longer, make

from core.models.config import ModelConfig
from core.models.positions import CLASS_TAG, PolarityAware, recency, sinusoid

KEEP = torch.arange(6) < torch.tensor([6, 3, 1, 0])[:, None]


def test_recency_is_the_angle_to_the_end_of_the_text_itself():
    table = recency(KEEP, 4)
    for row, n in enumerate((6, 3, 1)):
        for i in range(1, n + 1):
            wanted = [math.sin(math.pi * i / n), math.cos(math.pi * i / n)] * 2
            assert table[row, i - 1].tolist() == pytest.approx(wanted, abs=1e-6)
        assert table[row, n - 1, 1] == -1
        assert (table[row, : n - 1, 1] > -1).all()


def test_positions_are_the_weighted_sum_of_the_three_terms():
    torch.manual_seed(0)
    positions = PolarityAware(width=8, recency=True, tags=True)
    tags = torch.arange(24).view(4, 6) % 13
    x = torch.zeros(4, 6, 8)
    start = positions(x, KEEP, tags)
    torch.testing.assert_close(
        start, sinusoid(6, 8, x.device) + recency(KEEP, 8) + positions.tags.weight[tags], msg="factors start at 1"
    )
    with torch.no_grad():
        positions.alpha.fill_(2), positions.beta.fill_(-3), positions.gamma.fill_(0.5)
    wanted = 2 * sinusoid(6, 8, x.device) - 3 * recency(KEEP, 8) + 0.5 * positions.tags.weight[tags]
    torch.testing.assert_close(positions(x, KEEP, tags), wanted)


def test_an_unknown_tag_adds_nothing_and_the_class_token_has_its_own():
    positions = PolarityAware(width=8, recency=False, tags=True)
    assert (positions.tags.weight[0] == 0).all()
    assert positions.tags.weight.shape == (14, 8)
    assert set(positions.factors()) == {"alpha", "gamma"}
    model = make(ModelConfig(width=16, position="polarity-aware", pooling="cls"))
    trace = model(example(), trace=True).trace
    assert (trace.tags[:, 0] == CLASS_TAG).all()


def test_texts_without_tags_switch_the_term_off_and_still_train():
    model = make(ModelConfig(width=16, position="polarity-aware"))
    with torch.no_grad():
        model.positions.tags.weight[0] = 0
    untagged, unknown = example()._replace(tags=None), example()._replace(tags=torch.zeros(5, 9, dtype=torch.long))
    torch.testing.assert_close(model(untagged).logits, model(unknown).logits)
    model.train()(untagged).logits.sum().backward()
    assert (model.positions.gamma.grad == 0).all() and model.positions.alpha.grad.abs() > 0


def test_as_released_fills_every_text_up_and_reads_the_padding():
    config = ModelConfig(width=16, pad_mode="as_released")
    released, masked = make(config), make(ModelConfig(width=16))
    batch = example((9, 5))
    assert (released(batch).logits == released(longer(batch, 6)).logits).all()
    assert (released.layers[0].attention.query.weight == masked.layers[0].attention.query.weight).all()
    assert not torch.allclose(released(batch).logits, masked(batch).logits)
    full = longer(batch, 6)
    unmasked = full._replace(keep=torch.ones_like(full.keep))
    torch.testing.assert_close(released(batch).logits, masked(unmasked).logits, msg="all 15 positions count")
    assert released(batch, trace=True).trace.keep.sum(1).tolist() == [9, 5]
