"""Declarations of settings: words, range and conditions."""

import dataclasses
import math

import pytest
from structures import STRUCTURES

from core.config import SETTINGS, compose, explain_idle
from core.exceptions import ConfigError
from core.settings import GROUPS, Need, Range, check_needs, check_ranges, collect_settings, setting


def test_settings_have_choices_of_their_type_and_complete_sentences():
    assert SETTINGS["training.schedule"].choices == ("cosine", "linear", "constant")
    assert SETTINGS["model.attention.row_norm"].choices == ("true", "false")
    assert SETTINGS["training.lr"].choices == ()
    for name, declaration in SETTINGS.items():
        assert declaration.help == " ".join(declaration.help.split()), name
        assert not declaration.help or declaration.help.endswith("."), name
        assert declaration.group in ("", *GROUPS), name
        assert declaration.within is None or declaration.default in declaration.within, name


@dataclasses.dataclass(frozen=True)
class Oven:
    heat: int = setting(180, within=(50, 300))
    fan: bool = setting(False, "fan", help="Blows.")
    speed: int = setting(1, "speed of the fan", needs=(Need(lambda oven: oven.fan, "off at {0.heat}; choose fan=on"),))
    light: str = setting("warm", needs=(Need(lambda oven: oven.fan, "dark without a fan", refused=False),))

    def __post_init__(self) -> None:
        check_ranges(self, "kitchen.oven")
        check_needs(self, "kitchen.oven")


@dataclasses.dataclass(frozen=True)
class Kitchen:
    oven: Oven = dataclasses.field(default_factory=Oven)
    chairs: int = setting(4)


def test_settings_of_nested_groups_have_dotted_names_and_labels():
    found = {each.name: each for each in collect_settings(Kitchen)}
    assert list(found) == ["oven.heat", "oven.fan", "oven.speed", "oven.light", "chairs"]
    assert (found["oven.speed"].label, found["chairs"].label) == ("speed of the fan", "chairs")
    assert (found["oven.fan"].choices, found["oven.fan"].help) == (("true", "false"), "Blows.")
    assert found["chairs"].default == 4


@pytest.mark.parametrize("heat", [49, 301, math.nan])
def test_numbers_outside_their_range_are_refused_with_the_range(heat):
    with pytest.raises(ConfigError, match=rf"kitchen\.oven\.heat={heat}: 50 to 300"):
        Oven(heat=heat)


def test_settings_without_effect_are_refused_with_the_reason():
    with pytest.raises(ConfigError, match=r"kitchen\.oven\.speed=2: off at 200; choose fan=on"):
        Oven(heat=200, speed=2)
    assert Oven(light="cold").light == "cold"
    assert Oven(fan=True, speed=2, light="cold").speed == 2


@pytest.mark.parametrize(
    ("within", "inside", "outside", "said"),
    [
        (Range(0, 1), (0, 0.5, 1), (-0.1, 1.1, math.nan, math.inf), "0 to 1"),
        (Range(0, 1, "low"), (0.5, 1), (0, 1.1, math.nan), "above 0, at most 1"),
        (Range(0, 1, "high"), (0, 0.5), (-0.1, 1, math.nan), "0 to below 1"),
        (Range(0, 1, what="a share"), (0, 1), (2,), "a share, 0 to 1"),
    ],
)
def test_an_open_end_is_outside_its_range(within, inside, outside, said):
    assert all(value in within for value in inside)
    assert not any(value in within for value in outside)
    assert str(within) == said


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["vanilla", "ndt-01-n3", "sentiformer", "lexical-hadamard", "cnn", "lexicon"])
def test_refused_settings_are_those_that_the_page_hides(preset):
    """A setting with an effect is never refused for having none."""
    model = compose(preset).model
    for name, found in SETTINGS.items():
        other = next((choice for choice in found.choices if choice != str(found.default).lower()), "0.5")
        try:
            compose(preset, {name: other, "text.lexicon": "vader", "text.tagger": "auto"})
        except ConfigError as error:
            if "no effect" in str(error) and str(error).startswith(name):
                assert explain_idle(name, model)


def test_reasons_for_settings_without_effect_are_complete_sentences():
    for preset in STRUCTURES:
        model = compose(preset).model
        for name in SETTINGS:
            assert "{" not in explain_idle(name, model), (preset, name)
        assert bool(explain_idle("training.lambda_lr", model)) != model.has_lambda, preset
