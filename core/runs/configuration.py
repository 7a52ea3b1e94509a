"""The settings of a run, from data set, preset, recipe and user choices, and the command that reproduces the run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.config import RunConfig, compose, flatten_config, parse_settings
from core.data.config import DataConfig
from core.data.dataset import Task
from core.data.sources import is_registered, suggest_settings
from core.exceptions import ConfigError, InputError, SentiscopeError
from core.models.presets import find_paper
from core.recipes import RECIPES, AppliedRecipe, apply_recipe
from core.runs.backbones import add_backbone_sizes
from core.runs.record import RunRecord, WarmStart
from core.runs.store import RunStore
from core.text.config import READING, TextConfig
from core.training.config import TFIDF

if TYPE_CHECKING:
    from core.models.builder import Model
    from core.runs.load import LoadedRun
    from core.text.tokenizer import GrownTokenizer, Tokenizer


def configure(
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    recipe: str = "",
    *,
    store: RunStore | None = None,
) -> RunConfig:
    """Return a run's settings: data set, preset, recipe, `settings`; some are those of the run that it starts from."""
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
    """Return the command that trains a run again, with every setting that it needs, and a note on what is missing."""
    store, note, recipe = store or RunStore(), "", record.recipe
    if record.from_outside:
        return "", record.foreign_reason
    try:
        settings = _find_lacking(record, recipe, store)
    except SentiscopeError:  # its start run, data or recipe is missing: every setting is written
        recipe = ""
        settings = _find_differences(record.config, compose(record.preset))
    words = ["sentiscope", "train", f"--data={record.config.data.name}", f"--model={record.preset}"]
    words += [f"--recipe={recipe}"] if recipe else []
    told = {name: str(value).lower() if isinstance(value, bool) else value for name, value in settings.items()}
    words += [f"--set={name}={value}" for name, value in told.items() if name != "data.name"]
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


START = "training.start"
BODY = (
    *("width", "ngram_buckets", "layers", "ff_width", "feedforward", "norm", "norm_place", "initial"),
    *("attention.heads", "attention.qk_width", "attention.rotary", "attention.qk_norm"),
)
"""Model settings that must be equal for the weights to fit; those that define a preset are not among them."""


def add_start_settings(settings: Mapping[str, Any], store: RunStore) -> dict[str, Any]:
    """Add to the settings the text and model settings of the run that a training starts from, if any.

    Text settings and encoder sizes are taken from that run, so that its weights fit; settings that define the preset
    (components, terms, positions, pooling, head) are not. Raises InputError if no training can start from the run.
    """
    start = settings.get(START)
    if not start:
        return dict(settings)
    known = flatten_config(_read_start_run(store, str(start)).config)
    names = [*(f"text.{name}" for name in READING), *(f"model.{name}" for name in BODY)]
    return {**{name: known[name] for name in names}, **settings}


@dataclass(frozen=True)
class Start:
    """A finished run that a training starts from, with its tokenizer extended for the new texts."""

    source: LoadedRun
    grown: GrownTokenizer

    @classmethod
    def from_run(cls, store: RunStore, run: str, texts: Sequence[str], config: TextConfig) -> Start:
        """Load the run to start from, with new words; InputError: no such start, ConfigError: other text settings."""
        from core.runs.load import load_run
        from core.text.tokenizer_factory import extend_tokenizer

        _read_start_run(store, run)
        source = load_run(store, run)
        return cls(source, extend_tokenizer(source.tokenizer, texts, config))

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the extended tokenizer of a training that starts from another run."""
        return self.grown.tokenizer

    def copy_into(self, model: Model, classes: Sequence[str]) -> WarmStart:
        """Copy the weights of the start run that fit into a new model; return a summary for the run record."""
        from core.models.builder import copy_weights
        from core.models.encoder import EncoderClassifier

        known, record = self.source.model, self.source.record
        assert isinstance(model, EncoderClassifier)  # settings allow no other model
        assert isinstance(known, EncoderClassifier)
        same = tuple(classes) == tuple(record.classes)
        copied = copy_weights(model, known, origins=self.grown.origins, same_classes=same)
        found: WarmStart = {"run": record.run, "numbers": copied.numbers, "of": copied.of}
        return {**found, "fresh": [*copied.fresh], "partly": [*copied.partly], "words": len(self.grown.origins)}


def _read_start_run(store: RunStore, run: str) -> RunRecord:
    record = store.read(run)
    if record.config.model.family != "encoder":
        raise InputError(f"{START}={run}: a {record.preset} has no layers to start from; choose a run of an encoder")
    if record.status != "done":
        raise InputError(f"{START}={run}: this run is {record.status}; choose a finished one")
    return record


def find_teacher(config: RunConfig, store: RunStore) -> RunRecord | None:
    """Return the teacher run of a training, or None if it has no teacher run; ConfigError: no such finished run."""
    name = config.training.teacher
    if name in ("", TFIDF):
        return None
    try:
        record = store.read(name)
    except SentiscopeError as error:
        raise ConfigError(f"training.teacher={name}: tfidf, or the name of a finished run; {error}") from error
    if record.status != "done":
        raise ConfigError(f"training.teacher={name}: this run is {record.status}; a teacher has finished its training")
    return record


def check_classes(run: RunRecord, classes: Sequence[str], task: Task) -> None:
    """Raise ConfigError if a teacher run has another task or other classes; the order of classes does not matter."""
    if run.task != task:
        kinds = {"single": "one label per text", "multi": "several labels per text"}
        raise ConfigError(f"training.teacher={run.run}: knows {kinds[run.task]}, and these data have {kinds[task]}")
    if set(run.classes) != set(classes):
        theirs, ours = ", ".join(run.classes), ", ".join(classes)
        raise ConfigError(
            f"training.teacher={run.run}: its classes are {theirs:.200}, those of these data {ours:.200}; "
            "give them the same names with data.rename, or choose training.teacher=tfidf"
        )
