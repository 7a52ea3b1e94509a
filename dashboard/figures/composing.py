"""The orthogonal parts of a model as the builder offers them, and what is said of a model that is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import SETTINGS, RunConfig, idle
from core.models.config import ModelConfig
from core.models.describe import marks
from core.runs.budget import Size
from core.settings import GROUPS
from dashboard.figures.numbers import count

OFFERED = frozenset(name for name, setting in SETTINGS.items() if setting.group)
"""Every setting of the model, and those of other rooms that a part reads or that act on one."""


def _members(group: str) -> list[str]:
    """The settings of a group, those of the model first."""
    names = [name for name, setting in SETTINGS.items() if setting.group == group]
    return sorted(names, key=lambda name: not name.startswith("model."))


def shown(own: Mapping[str, str], model: ModelConfig | None) -> dict[str, list[str]]:
    """The settings that the builder shows, by group: what has an effect and what a person has set.

    Args:
        own: settings that a person has set.
        model: as they make it; None where they contradict each other: then everything is shown, to mend it.
    """
    wanted = {
        title: [name for name in _members(title) if model is None or name in own or not idle(name, model)]
        for title in GROUPS
    }
    return {title: names for title, names in wanted.items() if names}


def size_phrase(size: Size | None) -> str:
    """How large it will be and what that rests on, in one phrase."""
    if size is None:
        return "Its size is known when its n-grams are counted"
    rest = {"run": ", as an earlier run counted", "data": ", counted in these texts", "bound": " at most"}[size.counted]
    return f"{millions(size.parameters)} parameters at {count(size.vocabulary)} tokens{rest}"


def millions(parameters: int) -> str:
    """`0.41 M`; below ten thousand the number itself."""
    return f"{parameters / 1e6:.2f} M" if parameters >= 10_000 else count(parameters)


def summary(config: RunConfig, own: Mapping[str, str], along: Mapping[str, Any]) -> str:
    """What a person's choices make of the preset: its parts, the changes, what came along."""
    parts = f"It has {', '.join(marks(config.model)) or 'nothing besides a plain encoder'}."
    changed = [name for name in own if name in OFFERED]
    said = f"{len(changed)} {'change' if len(changed) == 1 else 'changes'} to the preset." if changed else ""
    brought = " and ".join(f"{name}={value}" for name, value in along.items())
    return " ".join(filter(None, (parts, said, f"With it: {brought}, which a part reads." if brought else "")))
