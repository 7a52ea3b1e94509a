"""Settings as they are typed, linked or stored: odd values of one or a few, on any preset."""

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.config import SETTINGS, compose, flatten_config, from_dict, parse_settings, to_dict
from core.models.presets import PRESETS
from core.runs.configuration import configure

VALUES: tuple[Any, ...] = (
    *("", " ", "0", "-1", "1", "2", "0.999999", "1e-300", "1e999", "nan", "inf", "-inf", "9" * 400, "²", "٣"),
    *("1_000", "0x10", "true", "no", "None", "null", "[]", "{}", "../..", "~nosuch/x", "/dev/zero", "a\0b"),
    *("cuda:999", "cpu", "auto", "\ud800", "x" * 10_000, "0.7/0.2/0.1", "1/0/0", "nan/nan/nan", "1e999/0/0", "yes"),
    *("tab", None, True, False, 0, -1, 3, 10**6, 10**400, -(10**400), 0.5, float("nan"), float("inf"), [], {}, [1]),
    *({"a": 1}, (1, 2)),
)
NAMES = [
    *SETTINGS,
    *("model", "model.attention", "training.", ".", "", "model.attention.nothing", "training.lr.x", "²"),
]


def make(random: random.Random, folder: Path) -> Callable[[], object]:
    """A preset with odd settings on top, by one of the ways in which settings come."""
    preset = random.choice([*PRESETS, "nothing", ""])
    some = {random.choice(NAMES): random.choice(VALUES) for _ in range(random.choice((1, 1, 1, 2, 4)))}
    (folder / "case.txt").write_text(f"{preset}\n{some!r}", encoding="utf-8", errors="backslashreplace")
    return functools.partial(random.choice((_composed, _typed, _stored)), preset, some)


def _composed(preset: str, some: dict[str, Any]) -> None:
    _same_again(compose(preset, some))


def _typed(preset: str, some: dict[str, Any]) -> None:
    typed = parse_settings(f"{name}={value}" for name, value in some.items())
    _same_again(configure(typed.pop("data.name", "built-in"), preset, typed))


def _stored(preset: str, some: dict[str, Any]) -> None:
    """As JSON holds them: a level may be of another kind altogether."""
    tree = to_dict(compose("ndt-01-n3"))
    for name, value in some.items():
        *levels, last = name.split(".")
        place: Any = tree
        for level in levels:
            place = place.setdefault(level, {}) if isinstance(place, dict) else {}
        if isinstance(place, dict):
            place[last] = value
    _same_again(from_dict(tree))


def _same_again(config: Any) -> None:
    """What was accepted can be shown, stored and read back."""
    assert len(flatten_config(config)) == len(SETTINGS)
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
