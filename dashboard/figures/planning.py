"""A training run that has been chosen but not begun: its settings, its time, its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from core.config import RunConfig, to_dict
from core.runs.budget import Estimate
from dashboard.figures.numbers import count, duration

NOT_LISTED = ("data.name",)
"""Settings that have a field of their own on top."""


def time_text(found: Estimate | None, config: RunConfig) -> str:
    """How long it will take and what that rests on, in one line."""
    if not config.model.by_steps:
        return "Solved in one go, without steps: seconds for short texts, minutes for long ones."
    if found is None:
        return "How long it takes is known after its first steps: nobody has counted these texts yet."
    basis = {0: "a guess: nothing similar has been trained on this machine yet", 1: "measured on an earlier run here"}
    about = basis.get(found.runs, f"measured on {found.runs} earlier runs here")
    steps = f"{count(found.steps)} steps in {config.training.epochs} epochs"
    return f"About {duration(_rounded(found.seconds))} at most · {steps} · {about}"


def _rounded(seconds: float) -> float:
    """No more digits than an estimate has."""
    unit = 5 if seconds < 120 else 60 if seconds < 3600 else 600
    return max(unit, unit * round(seconds / unit))


def command_line(data: str, model: str, settings: Mapping[str, Any], name: str) -> str:
    """The same training as a person types it."""
    pairs = [f"--set={key}={value}" for key, value in settings.items() if key not in NOT_LISTED]
    named = [f"--name={name}"] if name else []
    return shlex.join(["sentiscope", "train", f"--data={data}", f"--model={model}", *pairs, *named])


def leaf(config: RunConfig, name: str) -> str:
    """The value of a dotted setting as a person types it."""
    node: Any = to_dict(config)
    for part in name.split("."):
        node = node[part]
    return str(node).lower() if isinstance(node, bool) else str(node)
