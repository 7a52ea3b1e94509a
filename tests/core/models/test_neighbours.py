"""What sets two models apart, in words."""

import pytest

from core.config import compose, flat
from core.models.presets import PRESETS
from core.systems import differences, nearest, words


@pytest.fixture(scope="module")
def settings():
    return {name: flat(compose(name)) for name in PRESETS}


@pytest.mark.slow
def test_every_setting_of_the_model_has_words_of_its_own(settings):
    said = [words(name) for name in settings["vanilla"] if name.startswith("model.")]
    assert len(set(said)) == len(said) and not any("_" in each for each in said)
    assert words("model.attention.lexical") == "sigma of the lexicon"
    assert words("training.batch_size") == "batch size"


def test_a_difference_names_setting_words_and_both_values_those_of_the_model_first(settings):
    (found,) = differences(settings["sentiformer-no-gate"], settings["sentiformer"])
    assert found == ("model.attention.gate", "gate on the keys", "no", "yes")
    (found,) = differences(settings["ndt-01-n2"], settings["ndt-pm1-n2"])
    assert found[1:] == ("range of lambda", "[0,1]", "[−1,1]"), "a range is written as one"
    found = [each.setting for each in differences(settings["vanilla"], settings["inceptive-64"])]
    rooms = [name.startswith("model.") for name in found]
    assert rooms == sorted(rooms, reverse=True) and not all(rooms)


@pytest.mark.slow
def test_no_other_preset_differs_in_fewer_settings_of_the_model_than_the_nearest(settings):
    def changed(name, other):
        found = differences(settings[name], settings[other])
        return sum(each.setting.startswith("model.") for each in found), len(found)

    assert nearest("tweet-v4-p2", settings) == "tweet-v1-p2" and nearest("ndt-01-n3", settings) == "ndt-01-n2"
    for name in PRESETS:
        relative = nearest(name, settings)
        assert relative != name
        assert changed(name, relative) == min(changed(name, other) for other in PRESETS if other != name), name
