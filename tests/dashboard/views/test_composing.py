"""What the builder offers, and what it says of a model that is put together."""

from __future__ import annotations

import pytest

from core.config import compose, setting_names
from core.runs.budget import Size
from dashboard.views.composing import FURTHER, GROUPS, OFFERED, composed_said, label, millions, size_said


def test_every_setting_of_the_model_is_offered_once():
    offered = [name for names in GROUPS.values() for name in names]
    assert len(offered) == len(set(offered))
    model = {name for name in setting_names() if name.startswith("model.")}
    assert model <= OFFERED
    assert OFFERED - model == set(FURTHER)
    assert set(setting_names()) >= OFFERED


def test_settings_are_named_in_words():
    assert label("model.attention.gate") == "gate on the keys"
    assert label("text.lexicon") == "lexicon"


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (Size(591_107, 1_000, True), "0.59 M parameters at 1\u202f000 tokens, as an earlier run counted"),
        (Size(22_000_000, 67_000, False), "22.00 M parameters at 67\u202f000 tokens, the most allowed"),
        (None, "Its size is known when its n-grams are counted"),
    ],
)
def test_a_size_says_what_it_rests_on(size, said):
    assert size_said(size) == said


def test_small_numbers_stand_as_they_are():
    assert (millions(6), millions(9_999), millions(10_000)) == ("6", "9\u202f999", "0.01 M")


def test_a_model_is_said_by_its_parts_its_changes_and_what_came_along():
    settings = {"model.attention.gate": "true", "model.attention.lexical": "add", "training.lr": "0.01"}
    along = {"text.lexicon": "vader"}
    said = composed_said(compose("ndt-01-n3", {**settings, **along}), settings, along)
    assert said == (
        "It has gate, σ added, 3 maps, λ in [0,1]. 2 changes to the preset. "
        "With it: text.lexicon=vader, which a part reads."
    )
    assert composed_said(compose("vanilla"), {}, {}) == "It has nothing beside a plain encoder."
