"""Which part of one model stands for which of another, and what is said where none does."""

from __future__ import annotations

import dataclasses

import pytest
from finished import run

from core.config import compose
from dashboard.figures.counterparts import counterparts

QUERY = "layers.0.attention.query.weight"


def of(name: str, preset: str, *, start: str = "", fresh: tuple[str, ...] = (), **settings):
    given = {"model.layers": 2, "model.attention.heads": 4}
    given |= {key.replace("__", "."): value for key, value in settings.items()}
    record = dataclasses.replace(run(name), config=compose(preset, given))
    return dataclasses.replace(record, results={"start": {"run": start, "fresh": list(fresh)}} if start else {})


def test_within_one_run_everything_stands_for_itself():
    both = counterparts(of("a", "ndt-01-n3"), of("a", "ndt-01-n3"))
    assert both.layers and both.heads and both.lexicon and both.components == {0, 1, 2} and both.said == ()


def test_models_of_different_depth_have_no_layer_in_common():
    found = counterparts(of("a", "vanilla", model__layers=2), of("b", "vanilla", model__layers=3))
    assert not (found.layers or found.heads or found.lexicon or found.components)
    assert found.said == ("a has 2 layers and b 3: none stands for another.",)


@pytest.mark.parametrize(
    ("first", "second", "heads"),
    [
        ({"start": "base"}, {"start": "base"}, True),
        ({}, {"start": "a"}, True),
        ({"start": "base"}, {"start": "other"}, False),
        ({}, {}, False),
        ({"start": "base"}, {"start": "base", "fresh": (QUERY,)}, False),
        ({"start": "base"}, {"start": "base", "fresh": ("head.weight",)}, True),
        ({"start": "base"}, {"start": "base", "model__attention__heads": 2}, False),
    ],
)
def test_heads_of_two_trainings_correspond_only_where_both_began_with_the_same(first, second, heads):
    found = counterparts(of("a", "vanilla", **first), of("b", "vanilla", **second))
    assert found.layers and found.heads is heads
    assert any("head" in line for line in found.said) is not heads


@pytest.mark.parametrize(
    ("first", "second", "components", "said"),
    [
        ("ndt-01-n2", "ndt-pos-n2", {0, 1}, ""),
        ("ndt-01-n3", "ndt-pos-n3", {0}, "only A₀ is compared"),
        ("ndt-01-n3", "ndt-01-n2", {0}, "only A₀ is compared"),
        ("ndt-01-n2", "differential", {0}, "added in one and taken away in the other"),
        ("vanilla", "ndt-01-n2", set(), ""),
    ],
)
def test_a_component_is_compared_where_its_place_in_the_sum_tells_it_apart(first, second, components, said):
    found = counterparts(of("a", first, start="base"), of("b", second, start="base"))
    assert found.components == components
    assert said in " ".join(found.said) and bool(found.said) is bool(said)


def test_what_only_one_of_them_has_is_named():
    gated, lexical, plain = of("g", "sentiformer"), of("l", "lexical-last"), of("p", "vanilla")
    assert "Only g has gates." in counterparts(gated, plain).said
    assert "Only l reads a lexicon." in counterparts(plain, lexical).said and not counterparts(plain, lexical).lexicon
    other = counterparts(lexical, of("h", "lexical-hadamard"))
    assert "The lexicon is used in different ways, so its terms are not compared." in other.said
