"""Every setting says what it means."""

from __future__ import annotations

from core.config import setting_names
from core.settings import settings

BY_NAME = {setting.name: setting for setting in settings()}


def test_every_setting_is_described_in_order():
    assert list(BY_NAME) == setting_names()


def test_choices_are_those_of_the_type():
    assert BY_NAME["training.schedule"].choices == ("cosine", "linear", "constant")
    assert BY_NAME["model.attention.row_norm"].choices == ("true", "false")
    assert BY_NAME["training.lr"].choices == ()


def test_the_sentence_below_a_setting_is_its_help():
    assert BY_NAME["training.clip"].help == "Largest gradient norm; 0: no clipping."
    assert BY_NAME["data.limit"].help.startswith("Keep this many training rows")
    assert BY_NAME["training.epochs"].help == ""
