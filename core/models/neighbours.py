"""What sets one model apart from another: the settings in which they differ, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.models.config import ModelConfig
from core.models.lambda_range import LAMBDA_RANGES
from core.settings import declared


class Difference(NamedTuple):
    """One setting in which two models differ."""

    setting: str  # Dotted, as in `--set`
    words: str  # What it is
    first: str
    second: str


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the settings (dotted) in which two runs differ, those of the model first, then as they are declared."""
    names = [name for name in first if first[name] != second[name]]
    names.sort(key=lambda name: not name.startswith("model."))  # stable
    return tuple(
        Difference(name, words(name), written(name, first[name]), written(name, second[name])) for name in names
    )


def nearest(name: str, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the preset that differs from `name` in the fewest settings of the model, then of all, then the first."""
    own = settings[name]

    def distance(other: str) -> tuple[int, int]:
        changed = [key for key, value in settings[other].items() if value != own[key]]
        return sum(key.startswith("model.") for key in changed), len(changed)

    return min((other for other in settings if other != name), key=distance)


def words(setting: str) -> str:
    """What a dotted setting is; outside the model its name says it."""
    named = {each.name: each.label for each in declared(ModelConfig, "model.")}
    return named.get(setting) or setting.rpartition(".")[2].replace("_", " ")


def written(setting: str, value: Any) -> str:
    """A value as a person reads it."""
    if setting == "model.attention.constraint":
        return LAMBDA_RANGES[value].words
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "none"
