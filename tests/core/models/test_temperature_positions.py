"""Interventions on the temperature of attention and on positions, against closed formulas and permuted texts."""

from __future__ import annotations

import math

import pytest
import torch
from structures import PRESETS

from core.exceptions import InputError
from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.positions import compute_sinusoid, place_tokens
from core.models.trace import Batch, Intervention

BATCH = Batch(torch.tensor([[5, 6, 7, 8, 9], [4, 3, 2, 0, 0]]), torch.tensor([[1] * 5, [1, 1, 1, 0, 0]]).bool())


def build(**settings):
    torch.manual_seed(0)
    return build_model(ModelConfig(width=16, dropout=0.0, **settings), vocabulary=12, classes=2).eval()


def test_temperature_divides_the_scores_before_the_softmax():
    model = build(layers=1)
    maps, hot, cold = (
        model(BATCH, trace=True, intervene=None if t is None else Intervention(temperature=t)).trace.layers[0].maps
        for t in (None, 2.0, 0.5)
    )
    scores = maps[0].log()  # up to a constant of each row
    torch.testing.assert_close(hot[0], (scores / 2).softmax(-1))
    torch.testing.assert_close(cold[0], (scores * 2).softmax(-1))
    both = model(BATCH, trace=True, intervene=[Intervention(), Intervention(temperature=2.0)]).trace.layers[0].maps
    torch.testing.assert_close(both, torch.stack([maps[0], hot[1]]))


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_temperature_is_above_zero(value):
    with pytest.raises(InputError, match="the temperature: a number above 0"):
        build()(BATCH, intervene=Intervention(temperature=value))


def test_places_are_those_of_the_words():
    places = place_tokens(BATCH.keep, 1, ["shuffled"])
    assert places[:, 0].tolist() == [0, 0] and sorted(places[0].tolist()) == [*range(5)] != places[0].tolist()
    assert sorted(places[1, :3].tolist()) == [0, 1, 2] and places[1, 3:].tolist() == [3, 4]
    assert place_tokens(BATCH.keep, 0, ["", "off"]).tolist() == [[0, 1, 2, 3, 4], [-1] * 5]
    assert place_tokens(BATCH.keep, 0, ["", ""]) is None is place_tokens(BATCH.keep, 0, [])


@pytest.mark.parametrize("settings", [{}, {"position": "polarity-aware", "pos_tags": False}])
def test_shuffled_and_missing_positions_enter_the_first_layer(settings):
    model = build(**settings)
    plain, off, shuffled = (
        model(BATCH, trace=True, intervene=Intervention(positions=way)).trace.embedded
        for way in ("", "off", "shuffled")
    )
    embedded = model.embed_tokens(BATCH)
    torch.testing.assert_close(off, embedded)
    places = place_tokens(BATCH.keep, 0, ["shuffled"])
    vectors = (plain - embedded).gather(1, places[..., None].expand_as(plain))
    torch.testing.assert_close(shuffled, embedded + vectors)
    if not settings:
        torch.testing.assert_close(vectors[0], compute_sinusoid(5, 16, embedded.device)[places[0]])


@pytest.mark.parametrize("settings", [{}, {"position": "none", "attention": PRESETS["vanilla"].model.attention}])
def test_without_positions_the_order_of_words_does_not_matter(settings):
    if settings:
        settings = {"position": "none", "attention": type(settings["attention"])(rotary=True)}
    model, off = build(**settings), Intervention(positions="off")
    other = BATCH._replace(ids=torch.cat([BATCH.ids[:, [2, 0, 1]], BATCH.ids[:, 3:]], 1))
    assert not torch.allclose(model(BATCH).logits, model(other).logits, atol=1e-5)
    torch.testing.assert_close(model(BATCH, intervene=off).logits, model(other, intervene=off).logits)


def test_without_positions_a_part_of_speech_stays_and_a_model_that_has_none_refuses():
    model = build(position="polarity-aware")
    batch = BATCH._replace(tags=torch.tensor([[1, 2, 3, 4, 5], [1, 1, 2, 0, 0]]))
    entered = model(batch, trace=True, intervene=Intervention(positions="off")).trace.embedded
    torch.testing.assert_close(entered, model.embed_tokens(batch) + model.positions.tags(batch.tags))
    with pytest.raises(InputError, match="the positions: this model reads none of its own"):
        build(position="none")(BATCH, intervene=Intervention(positions="off"))
