"""A training run that has been chosen but not begun: its settings, its time, its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from core.config import RunConfig, to_dict
from core.data.kept_examples import NAME
from core.recipes import RECIPES, Applied
from core.runs.budget import Estimate
from dashboard.figures.numbers import count, duration

NOT_LISTED = ("data.name",)
"""Settings that have a field of their own on top."""
EXAMPLES = "data.examples"
"""Names a copy that lies on this machine; a command says that the list as it is joins."""


def time_text(found: Estimate | None, config: RunConfig) -> str:
    """How long it will take and what that rests on, in one line."""
    if not config.model.by_steps:
        return "Solved in one go, without steps: seconds for short texts, minutes for long ones."
    if found is None:
        return "How long it takes is known after its first steps: nobody has counted these texts yet."
    basis = {0: "a guess: nothing similar has been trained on this machine yet", 1: "measured on an earlier run here"}
    about = basis.get(found.runs, f"measured on {found.runs} earlier runs here")
    steps = f"{'' if found.counted else 'up to '}{count(found.steps)} steps in {config.training.epochs} epochs"
    return f"About {duration(_rounded(found.seconds))} at most · {steps} · {about}"


def _rounded(seconds: float) -> float:
    """No more digits than an estimate has."""
    unit = 5 if seconds < 120 else 60 if seconds < 3600 else 600
    return max(unit, unit * round(seconds / unit))


def recipe_text(found: Applied, given: Mapping[str, Any]) -> str:
    """What a recipe sets, what a person's own settings keep from it, and what the model does not take."""
    changes = ", ".join(f"{key} = {value}" for key, value in found.settings.items() if key not in given)
    parts = [f"The recipe sets {changes}." if changes else "The recipe sets nothing here."]
    if own := [key for key in RECIPES[found.name].settings if key in given]:
        parts.append(f"Your own value stands: {', '.join(own)}.")
    parts += [f"Without {key}: {why}." for key, why in found.left_out.items()]
    return " ".join(parts)


def command_line(data: str, model: str, settings: Mapping[str, Any], name: str, recipe: str = "") -> str:
    """The same training as a person types it."""
    listed = {key: value for key, value in settings.items() if key not in (*NOT_LISTED, EXAMPLES)}
    pairs = [f"--set={key}={value}" for key, value in listed.items()]
    along = [f"--add={NAME}"] if settings.get(EXAMPLES) else []
    named = [f"--name={name}"] if name else []
    by = [f"--recipe={recipe}"] if recipe else []
    return shlex.join(["sentiscope", "train", f"--data={data}", f"--model={model}", *by, *along, *pairs, *named])


def leaf(config: RunConfig, name: str) -> str:
    """The value of a dotted setting as a person types it."""
    node: Any = to_dict(config)
    for part in name.split("."):
        node = node[part]
    return str(node).lower() if isinstance(node, bool) else str(node)
