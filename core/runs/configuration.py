"""The settings of a run, from data set, preset, recipe and user choices, and the command that reproduces the run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from core.config import RunConfig, compose, flatten_config, parse_settings
from core.data.config import DataConfig
from core.data.sources import is_registered, suggest_settings
from core.exceptions import SentiscopeError
from core.models.presets import find_paper
from core.recipes import RECIPES, AppliedRecipe, apply_recipe
from core.runs.backbones import add_backbone_sizes
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.runs.warm_start import add_start_settings


def configure(
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    recipe: str = "",
    *,
    store: RunStore | None = None,
) -> RunConfig:
    """Return the complete settings of a run: defaults for the data set, then the preset, a recipe, and `settings`.

    With `training.start`, tokenizer and encoder are those of that run in `store`, unless set.
    """
    return configure_with_recipe(data, model, settings, recipe, store=store)[0]


def configure_with_recipe(
    data: str, model: str, settings: Mapping[str, Any] | None, recipe: str, *, store: RunStore | None = None
) -> tuple[RunConfig, AppliedRecipe]:
    """Return the complete settings of a run, and which settings of the recipe were applied."""
    # os.path returns False where Path raises an error for a name that is too long.
    if not is_registered(data) and not os.path.exists(os.path.expanduser(data)):
        from core.data.load import load_dataset

        load_dataset(DataConfig(name=data))  # raises with the nearest name
    given, fits = add_start_settings(settings or {}, store or RunStore()), suggest_settings(data, find_paper(model))
    given = add_backbone_sizes(model, given, recipe)
    found = apply_recipe(recipe, model, {"data.name": data, **given}, fits)
    if recipe:
        ours = [name for name in RECIPES[recipe].settings if name in given and name not in (settings or {})]
        found.left_out.update(dict.fromkeys(ours, "the run that this training starts from has its own"))
    return compose(model, found.settings, fits), found


def write_train_command(record: RunRecord, store: RunStore | None = None) -> tuple[str, str]:
    """Return the command that trains a run again, and a note on what would differ or is missing, if anything.

    The command contains every setting that does not follow from preset, data and recipe.
    """
    store, note = store or RunStore(), ""
    recipe = record.recipe
    try:
        settings = _find_lacking(record, recipe, store)
    except SentiscopeError:  # its start run, data or recipe is missing: every setting is written
        recipe = ""
        settings = _find_differences(record.config, compose(record.preset))
    words = ["sentiscope", "train", f"--data={record.config.data.name}", f"--model={record.preset}"]
    words += [f"--recipe={recipe}"] if recipe else []
    words += [f"--set={name}={_format_value(value)}" for name, value in settings.items() if name != "data.name"]
    command = shlex.join(words)
    try:
        lost = _find_differences(record.config, read_command(command, store))
        note = f"It cannot say {', '.join(lost)}." if lost else ""
    except SentiscopeError as error:
        note = f"It cannot be run here: {error}."
    return command, record.foreign_reason or note


def read_command(command: str, store: RunStore) -> RunConfig:
    """Return the run settings that a `sentiscope train` command line leads to."""
    given, settings = dict[str, str](), list[str]()
    for word in shlex.split(command)[2:]:
        name, _, value = word.removeprefix("--").partition("=")
        if name == "set":
            settings.append(value)
        else:
            given[name] = value
    recipe = given.get("recipe", "")
    return configure_with_recipe(given["data"], given["model"], parse_settings(settings), recipe, store=store)[0]


def _find_lacking(record: RunRecord, recipe: str, store: RunStore) -> dict[str, Any]:
    """Return the settings that the command must name explicitly to train a recorded run again."""
    wanted, settings = record.config, dict[str, Any]()
    for _ in range(3):  # a setting can change others, such as `training.start`
        made, _ = configure_with_recipe(wanted.data.name, record.preset, settings, recipe, store=store)
        lacking = _find_differences(wanted, made)
        if not lacking:
            break
        settings |= lacking
    return settings


_GIVEN = ("data.name", "data.lineage")


def _find_differences(wanted: RunConfig, made: RunConfig) -> dict[str, Any]:
    found, asked = flatten_config(made), flatten_config(wanted)
    return {name: value for name, value in asked.items() if found[name] != value and name not in _GIVEN}


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
