"""The presets on which properties are tested stand for all presets."""

import pytest
from structures import QUICK, STRUCTURES, same_structure, structure

from core.models.presets import PRESETS


@pytest.mark.slow
def test_every_preset_shares_its_structure_with_one_of_the_list():
    assert [name for name in PRESETS if not same_structure(name)] == []


@pytest.mark.slow
def test_no_structure_is_listed_twice():
    twice = [name for name in STRUCTURES if len(same_structure(name)) > 1]
    assert twice == ["tfidf-logreg", "tfidf-logreg-chars"], "these differ in what they read of a text"
    assert set(QUICK) < set(STRUCTURES)


def test_a_size_is_no_structure_and_a_choice_is():
    assert structure(PRESETS["tweet-v1-p2"].model) == structure(PRESETS["tweet-v8-p2"].model)
    assert structure(PRESETS["sentiformer"].model) != structure(PRESETS["sentiformer-full"].model)
    assert structure(PRESETS["lexical-all"].model) != structure(PRESETS["lexical-last"].model)
