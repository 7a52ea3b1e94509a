"""Odd values of settings: each is accepted, or refused with a short sentence."""

import math
import random

import pytest

from core.config import SETTINGS, compose, flatten_config
from core.exceptions import ConfigError
from core.models.dropout import Dropout
from core.models.presets import PRESETS
from core.training.config import TrainingConfig
from core.training.device import choose_device

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

    x = torch.ones(1000)
    assert torch.isfinite(Dropout(0.999999)(x)).all()


@pytest.mark.parametrize("device", ["cuda:128", "cuda:256", "cuda:999"])
def test_missing_devices_are_named_as_typed(device):
    """In torch, which keeps eight bits of the number, cuda:999 is cuda:-25 and cuda:256 is cuda:0."""
    compose("vanilla", {"training.device": device})
    with pytest.raises(ConfigError, match=f"training.device={device}: this machine has"):
        choose_device(device)


@pytest.mark.parametrize("name", ["weight_decay", "clip", "diversity"])
def test_nan_is_not_accepted_as_a_nonnegative_number(name):
    with pytest.raises(ConfigError, match=f"{name}=nan: 0 to"):
        TrainingConfig(**{name: math.nan})
