"""Plan of a training run: its settings by part, its size, its time, its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from core.config import SETTINGS, RunConfig, explain_idle, to_dict
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.formatting import count, format_duration
from core.models.config import ModelConfig
from core.models.model_description import list_features
from core.recipes import RECIPES, AppliedRecipe
from core.runs.cost_estimate import Estimate, Size
from core.settings import GROUPS

OFFERED = frozenset(name for name, setting in SETTINGS.items() if setting.group)
"""All model settings, and settings of other packages that concern model parts."""


def list_shown_settings(own: Mapping[str, str], model: ModelConfig | None) -> dict[str, list[str]]:
    """Return the settings shown when building a model, by group: those that have an effect or that the user has set."""
    offered = [name for name in SETTINGS if name in OFFERED]
    wanted = [name for name in offered if model is None or name in own or not explain_idle(name, model)]
    wanted.sort(key=lambda name: not name.startswith("model."))
    groups = {title: [name for name in wanted if SETTINGS[name].group == title] for title in GROUPS}
    return {title: names for title, names in groups.items() if names}


def describe_size(size: Size | None) -> str:
    """Describe the size of a planned model, and how it was counted."""
    if size is None:
        return "Its size is known when its n-grams are counted"
    rest = {"run": ", as an earlier run counted", "data": ", counted in these texts", "bound": " at most"}[size.counted]
    return f"{format_millions(size.parameters)} parameters at {count(size.vocabulary)} tokens{rest}"


def format_millions(parameters: int) -> str:
    """Format a number in millions, such as `0.41 M`; below ten thousand the number itself."""
    return f"{parameters / 1e6:.2f} M" if parameters >= 10_000 else count(parameters)


def summarize_changes(config: RunConfig, own: Mapping[str, str], along: Mapping[str, Any]) -> str:
    """Describe a changed preset: its parts, the number of changes, and further settings that the changes require."""
    parts = f"It has {', '.join(list_features(config.model)) or 'nothing besides a plain encoder'}."
    changed = [name for name in own if name in OFFERED]
    said = f"{len(changed)} {'change' if len(changed) == 1 else 'changes'} to the preset." if changed else ""
    brought = " and ".join(f"{name}={value}" for name, value in along.items())
    return " ".join(filter(None, (parts, said, f"Also set, because a part needs it: {brought}." if brought else "")))


NOT_LISTED = ("data.name",)
EXAMPLES = "data.examples"


def describe_cost(model: str, size: Size | None, found: Estimate | None, config: RunConfig) -> str:
    """Describe a planned run in a sentence: the size of the model, and the time of its training."""
    most = "at most " * (size is not None and size.counted == "bound")
    parts = [f"has {most}{format_millions(size.parameters)} parameters"] if size else []
    if not config.model.by_steps:
        parts.append("is fitted in one go")
    elif found is not None:
        parts.append(f"trains in at most about {_round_time(found)}")
    return f"{model} {' and '.join(parts) or 'can be trained'}."


def _round_time(found: Estimate) -> str:
    unit = 5 if found.seconds < 120 else 60 if found.seconds < 3600 else 600  # an estimate has few exact digits
    return format_duration(max(unit, unit * round(found.seconds / unit)))


def describe_time(found: Estimate | None, config: RunConfig) -> str:
    """Describe the expected training time of a planned run, and how it was estimated."""
    if not config.model.by_steps:
        return "Solved in one go, without steps: seconds for short texts, minutes for long ones."
    if found is None:
        return "The time is known after the first steps: these texts are not counted yet."
    basis = {0: "a guess: nothing similar has been trained on this machine yet", 1: "measured on an earlier run here"}
    about = basis.get(found.runs, f"measured on {found.runs} earlier runs here")
    steps = f"{'' if found.counted else 'up to '}{count(found.steps)} steps in {config.training.epochs} epochs"
    return f"About {_round_time(found)} at most · {steps} · {about}"


def describe_recipe(found: AppliedRecipe, given: Mapping[str, Any]) -> str:
    """Describe the settings that a recipe changes, those that the user has set instead, and those without effect."""
    changes = ", ".join(f"{key} = {value}" for key, value in found.settings.items() if key not in given)
    parts = [f"The recipe sets {changes}." if changes else "The recipe sets nothing here."]
    if own := [key for key in RECIPES[found.name].settings if key in given]:
        parts.append(f"Your own value is kept: {', '.join(own)}.")
    parts += [f"Without {key}: {why}." for key, why in found.left_out.items()]
    return " ".join(parts)


def write_command(data: str, model: str, settings: Mapping[str, Any], name: str, recipe: str = "") -> str:
    """Return the command line that starts the planned training run."""
    listed = {key: value for key, value in settings.items() if key not in (*NOT_LISTED, EXAMPLES)}
    pairs = [f"--set={key}={value}" for key, value in listed.items()]
    along = [f"--add={NAME}"] if settings.get(EXAMPLES) else []
    named = [f"--name={name}"] if name else []
    by = [f"--recipe={recipe}"] if recipe else []
    return shlex.join(["sentiscope", "train", f"--data={data}", f"--model={model}", *by, *along, *pairs, *named])


def format_setting(config: RunConfig, name: str) -> str:
    """Format the value of a setting (with a dotted name such as `model.layers`) as typed on the command line."""
    node: Any = to_dict(config)
    for part in name.split("."):
        node = node[part]
    return str(node).lower() if isinstance(node, bool) else str(node)
