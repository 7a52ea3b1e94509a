"""Recipes: named sets of settings that improve small models, for every preset. Imports nothing heavy.

A recipe overrides the defaults for the data and the preset, and is overridden by the user's settings. Settings that a
model does not support are left out and reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.config import compose
from core.exceptions import ConfigError
from core.formatting import suggest_name
from core.models.presets import PAPERS, PRESETS
from core.paper_settings import FINE_TUNINGS, PRESET, FineTuning

BACKBONE = "model.backbone"


@dataclass(frozen=True)
class Recipe:
    """A recipe: a set of settings, with its purpose and the preset that it is for."""

    line: str
    settings: Mapping[str, Any]  # dotted name → value; a setting that needs another one comes after it
    preset: str = ""  # the only preset that it is for; empty: all presets


def _make_fine_tuning(each: FineTuning) -> Recipe:
    settings = {BACKBONE: each.backbone, **{name: taken.value for name, taken in each.settings.items()}}
    return Recipe(f"{each.backbone} as {PAPERS[each.paper]} fine-tunes it ({each.source}).", settings, PRESET)


RECIPES: dict[str, Recipe] = {
    "strong": Recipe(
        "For texts of real people: letters of unknown words are read, words start from the company they keep, and a "
        "TF-IDF model teaches.",
        {
            "text.min_freq": 2,
            "model.ngram_buckets": 20_000,
            "model.dropout": 0.3,
            "training.vectors": "ppmi",
            "training.teacher": "tfidf",
            "training.teacher_weight": 0.6,
            "training.word_dropout": 0.05,
            "training.nonsense": 0.1,
            "training.lr": 1e-3,
            "training.batch_size": 128,
        },
    ),
    "pretrain": Recipe(
        "For an encoder that others start from: every text is made of known pieces, and masked words come before the "
        "labels.",
        {
            "text.normaliser": "tweet",
            "text.tokenizer": "bpe",
            "text.max_vocab": 16_000,
            "text.max_length": 64,
            "training.masked_epochs": 4,
            "training.epochs": 4,
            "training.nonsense": 0.02,
            "training.lr": 1e-3,
            "training.batch_size": 128,
            "training.patience": 0,
        },
    ),
    **{name: _make_fine_tuning(each) for name, each in FINE_TUNINGS.items()},
}
FOR_ALL = tuple(name for name, each in RECIPES.items() if not each.preset)
NAMES = f"{', '.join(FOR_ALL)}; of --model {PRESET} those that `sentiscope backbones list` names"


class AppliedRecipe(NamedTuple):
    """The user's settings combined with a recipe's, and the recipe's settings that the model does not support."""

    name: str  # name of the recipe; empty: none
    settings: dict[str, Any]  # the recipe's settings that the model supports, overridden by the user's settings
    left_out: dict[str, str]  # setting of the recipe → why this model does not support it


NO_RECIPE = AppliedRecipe("", {}, {})


def apply_recipe(
    name: str, preset: str, given: Mapping[str, Any] | None = None, suited: Mapping[str, Any] | None = None
) -> AppliedRecipe:
    """Return a recipe's settings for a preset, overridden by `given`; `suited` as in `compose`; ConfigError: unfit."""
    given = dict(given or {})
    if not name:
        return AppliedRecipe("", given, {})
    wanted = {key: value for key, value in _find_recipe(name, preset).settings.items() if key not in given}
    if not compose(preset, given, suited).model.by_steps:
        return AppliedRecipe(name, given, dict.fromkeys(wanted, "this model is solved in one go, without steps"))
    taken: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for key, value in wanted.items():
        try:
            compose(preset, {**taken, key: value, **given}, suited)
            taken[key] = value
        except ConfigError as error:
            left_out[key] = str(error)
    return AppliedRecipe(name, {**taken, **given}, left_out)


def get_backbone(name: str, preset: str) -> dict[str, str]:
    """Return a recipe's setting of the pretrained encoder, or an empty dictionary; ConfigError: no such recipe."""
    settings = _find_recipe(name, preset).settings if name else {}
    return {BACKBONE: settings[BACKBONE]} if BACKBONE in settings else {}


def _find_recipe(name: str, preset: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(f"unknown recipe '{name}'{suggest_name(name, RECIPES)}; there is {NAMES}")
    found = RECIPES[name]
    if found.preset not in ("", preset) and preset in PRESETS:
        raise ConfigError(f"recipe '{name}' is one of {found.preset}: choose --model {found.preset}")
    return found
