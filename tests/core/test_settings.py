import dataclasses
import math
import random

import pytest
from refused import check_raises
from structures import STRUCTURES

from core.config import SETTINGS, compose, explain_idle, flatten_config
from core.exceptions import ConfigError
from core.models.dropout import Dropout
from core.models.presets import PRESETS
from core.settings import GROUPS, Need, Range, check_needs, check_ranges, collect_settings, setting
from core.training.config import TrainingConfig
from core.training.device import choose_device


def test_settings_have_choices_complete_sentences_and_dotted_names_in_groups():
    assert SETTINGS["training.schedule"].choices == ("cosine", "linear", "constant")
    assert SETTINGS["model.attention.row_norm"].choices == ("true", "false") and SETTINGS["training.lr"].choices == ()
    for name, declaration in SETTINGS.items():
        assert declaration.help == " ".join(declaration.help.split()), name
        assert not declaration.help or declaration.help.endswith("."), name
        assert declaration.group in ("", *GROUPS), name
        assert declaration.within is None or declaration.default in declaration.within, name
    found = {each.name: each for each in collect_settings(Kitchen)}
    assert list(found) == ["oven.heat", "oven.fan", "oven.speed", "oven.light", "chairs"]
    assert (found["oven.speed"].label, found["chairs"].label) == ("speed of the fan", "chairs")
    assert (found["oven.fan"].choices, found["oven.fan"].help) == (("true", "false"), "Blows.")
    assert found["chairs"].default == 4


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


@pytest.mark.parametrize("heat", [49, 301, math.nan])
def test_numbers_outside_their_range_are_refused_with_the_range(heat):
    check_raises(ConfigError, rf"kitchen\.oven\.heat={heat}: 50 to 300", Oven, heat=heat)


def test_settings_without_effect_are_refused_with_reasons_in_complete_sentences():
    check_raises(ConfigError, r"kitchen\.oven\.speed=2: off at 200; choose fan=on", Oven, heat=200, speed=2)
    assert Oven(light="cold").light == "cold" and Oven(fan=True, speed=2, light="cold").speed == 2
    for preset in STRUCTURES:
        model = compose(preset).model
        for name in SETTINGS:
            assert "{" not in explain_idle(name, model), (preset, name)
        assert bool(explain_idle("training.lambda_lr", model)) != model.has_lambda, preset


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
    assert all(value in within for value in inside) and not any(value in within for value in outside)
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


HUGE = 10**400
NUMBERS = [0, -1, 1, 3, 2**31, 2**63, 2**64, HUGE, -HUGE]
NUMBERS += [0.999999, -0.0, 5e-324, 1e15, 1e308, -1e308, float("nan"), float("inf")]
TEXTS = ["", " ", "0", "-1", "0.999999", "1e308", "1e400", "nan", "inf", "-inf", "1_0", "²", "٣", "0x10", "true"]
TEXTS += ["1" + "0" * 400, "9" * 5000, "x" * 100_000, "a\0b", "\ud800", "😀", "\n=1", "a,b,c", "../..", "/dev/zero"]
OTHERS = [None, True, [], {}, b"x", [1], {"a": 1}]
SOME = ("ndt-01-n3", "inceptive-64", "bilstm", "tfidf-logreg")
LONGEST_SENTENCE = 500


@pytest.mark.slow
def test_odd_values_are_accepted_or_refused_with_a_sentence():
    for name in SETTINGS:
        draw = random.Random(name)
        drawn = [draw.choice("0123456789.eE+-_ \0x") * draw.randint(1, 9) for _ in range(4)]
        for value in (*draw.sample(NUMBERS, 8), *draw.sample(TEXTS, 9), *draw.sample(OTHERS, 4), *drawn):
            try:
                taken = flatten_config(compose(draw.choice(SOME), {name: value}))[name]
            except ConfigError as error:
                assert f"{name.split('.')[0]}." in str(error), name
                assert len(str(error)) < LONGEST_SENTENCE, name
            else:
                assert not isinstance(taken, (int, float)) or abs(taken) < 2**63, name
                assert not isinstance(taken, str) or ("\0" not in taken and len(taken) <= 4096), name


@pytest.mark.parametrize("seed", range(5))
def test_many_odd_values_together_are_accepted_or_refused(seed):
    draw = random.Random(seed)
    names, presets = list(SETTINGS), sorted(PRESETS)
    for _ in range(50):
        chosen = {name: draw.choice([*NUMBERS, *TEXTS]) for name in draw.sample(names, 3)}
        try:
            compose(draw.choice(presets), chosen)
        except ConfigError as error:
            assert len(str(error)) < LONGEST_SENTENCE


def test_dropout_just_below_one_gives_finite_values():
    import torch

    assert torch.isfinite(Dropout(0.999999)(torch.ones(1000))).all()


@pytest.mark.parametrize("device", ["cuda:128", "cuda:256", "cuda:999"])
def test_missing_devices_are_named_as_typed(device):
    """In torch, which keeps eight bits of the number, cuda:999 is cuda:-25 and cuda:256 is cuda:0."""
    compose("vanilla", {"training.device": device})
    check_raises(ConfigError, f"training.device={device}: this machine has", choose_device, device)


@pytest.mark.parametrize("name", ["weight_decay", "clip", "diversity"])
def test_nan_is_not_accepted_as_a_nonnegative_number(name):
    check_raises(ConfigError, f"{name}=nan: 0 to", TrainingConfig, **{name: math.nan})
