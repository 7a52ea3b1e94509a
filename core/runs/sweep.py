"""A sweep of training runs: one recorded plan (models × data × settings × seeds × folds) and its runs.

`<runs>/.sweeps/NAME.json` is the plan, readable by a person. The same plan always gives the same members, so that the
driver of a sweep only has to start those that are not done. Imports nothing heavy.
"""

import dataclasses
import datetime
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from core import json_store
from core.atomic import make_folder, write_text
from core.config import RunConfig, compose
from core.data.sources import suggest_settings
from core.exceptions import ConfigError, DataError, InputError, NotAvailable, RunDamaged
from core.formatting import count
from core.models.presets import find_paper
from core.recipes import AppliedRecipe, apply_recipe
from core.runs.backbones import add_backbone_sizes
from core.runs.configuration import find_teacher
from core.runs.record import RunRecord
from core.runs.store import RunStore, is_alive, make_slug, refuse_reserved, to_absolute

FOLDER = ".sweeps"
SCHEMA = 1
TOGETHER = "seeds together"
MOST_MEMBERS = 2000
OWN = ("data.name", "data.folds", "data.fold", "training.seed")  # settings with a field of the plan
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

State = Literal["waiting", "queued", "running", "done", "failed", "cancelled"]
"""waiting: not started; the others as in the run's record, where damaged counts as failed."""
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep: which runs to train. Setting values are texts, as typed after the option `--set`."""

    name: str
    models: tuple[str, ...] = ("ndt-01-n3",)
    data: tuple[str, ...] = ("built-in",)
    grid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    folds: int = 0  # folds of a cross-validation, each the test split once; 0: none
    recipe: str = ""
    created: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            use = "use letters, digits, dot, dash and underscore, at most 60"
            raise InputError(f"{self.name!r} is not a name for a sweep: {use}")
        for what, values in {"models": self.models, "data": self.data, "seeds": self.seeds, **self.grid}.items():
            if not values:
                raise InputError(f"{what}: nothing to try; give at least one value")
            if len(set(values)) < len(values):
                raise InputError(f"{what}: a value is given twice: {', '.join(map(str, values))}")
        if self.folds < 0 or self.folds == 1:
            raise ConfigError(f"folds={self.folds}: 2 or more, or 0 for none")
        for name in [*self.grid, *self.settings]:
            if name in OWN:
                raise ConfigError(f"{name}: a sweep has its own options for data, seeds and folds")
        if both := sorted(set(self.grid) & set(self.settings)):
            raise ConfigError(f"{both[0]}: either in the grid or fixed, not both")
        runs = self.cells * len(self.seeds) * max(1, self.folds)
        if runs > MOST_MEMBERS:
            raise InputError(f"{count(runs)} runs are more than a sweep may have ({count(MOST_MEMBERS)})")

    @property
    def cells(self) -> int:
        """Return the number of combinations of model, data and grid values in a sweep."""
        return math.prod(map(len, (self.models, self.data, *self.grid.values())))


@dataclass(frozen=True)
class Cell:
    """One combination of model, data and grid values of a sweep; its runs differ only in seed and fold."""

    model: str
    data: str
    grid: Mapping[str, str]
    label: str


@dataclass(frozen=True)
class Member:
    """One planned run of a sweep, with its name, seed, fold and settings."""

    run: str
    cell: Cell
    seed: int
    fold: int  # counted from 0; -1 without cross-validation
    config: RunConfig
    recipe: AppliedRecipe


def list_cells(plan: Plan) -> tuple[Cell, ...]:
    """Return all combinations of model, data and grid values of a sweep, data set by data set."""
    found = []
    files, settings = _shorten_names(plan.data, "/"), _shorten_names(tuple(plan.grid), ".")
    for data, model, *values in itertools.product(plan.data, plan.models, *plan.grid.values()):
        grid = dict(zip(plan.grid, values, strict=True))
        parts = [model] if len(plan.models) > 1 or not grid else []
        parts += [files[data]] if len(plan.data) > 1 else []
        label = ", ".join([*parts, *(f"{settings[name]}={value}" for name, value in grid.items())])
        found.append(Cell(model, data, grid, label))
    return tuple(found)


def _shorten_names(names: Sequence[str], mark: str) -> dict[str, str]:
    """Shorten each name to the part after the last `mark`; change no name if two short names would be the same."""
    last = {name: name.rpartition(mark)[2] for name in names}
    return last if len(set(last.values())) == len(names) else {name: name for name in names}


def list_members(plan: Plan) -> tuple[Member, ...]:
    """Return a sweep's runs: all cells with the first seed and fold, then the next; ConfigError names a bad cell."""
    folds = range(plan.folds) if plan.folds else (-1,)
    every = [(cell, _get_settings(plan, cell)) for cell in list_cells(plan)]
    found = []
    for number, (seed, fold, (cell, given)) in enumerate(itertools.product(plan.seeds, folds, every), start=1):
        part = f"-f{fold}" if fold >= 0 else ""
        run = make_slug(f"{plan.name}-{number:04d}-s{seed}{part}-{cell.model}")
        cut = {"data.folds": plan.folds, "data.fold": fold} if fold >= 0 else {}
        settings = {**given, "data.name": cell.data, "training.seed": seed, **cut}
        found.append(Member(run, cell, seed, fold, *_build_config(plan, cell, settings)))
    return tuple(found)


def _get_settings(plan: Plan, cell: Cell) -> dict[str, Any]:
    """Return the settings of one combination of a sweep, with the sizes of its pretrained encoder, if any."""
    given = {**plan.settings, **cell.grid}
    try:
        return add_backbone_sizes(cell.model, given, plan.recipe)
    except ConfigError as error:
        if not plan.created:
            raise ConfigError(f"{cell.label}: {error}") from error
    except (DataError, NotAvailable):
        if not plan.created:
            raise
    return given


def _build_config(plan: Plan, cell: Cell, settings: Mapping[str, Any]) -> tuple[RunConfig, AppliedRecipe]:
    try:
        fits = suggest_settings(cell.data, find_paper(cell.model))
        found = apply_recipe(plan.recipe, cell.model, settings, fits)
        return compose(cell.model, found.settings, fits), found
    except ConfigError as error:
        raise ConfigError(f"{cell.label}: {error}") from error


def get_folder(store: RunStore) -> Path:
    """Return the folder that holds the plans of sweeps in a folder of runs."""
    return store.folder / FOLDER


def get_path(store: RunStore, name: str, suffix: str = "json") -> Path:
    """Return the path of a file of a sweep; InputError: the name is not valid."""
    if not _NAME.fullmatch(name):
        raise InputError(f"no sweep {name!r} in {get_folder(store)}; `sentiscope sweeps list` shows all")
    return get_folder(store) / f"{name}.{suffix}"


def save(store: RunStore, plan: Plan) -> Plan:
    """Store the plan of a sweep, or return the equal plan that is stored; InputError: the plans or their runs clash."""
    plan = dataclasses.replace(plan, data=tuple(to_absolute(name) for name in plan.data))
    if is_planned(store, plan.name):
        known = read(store, plan.name)
        if known != plan:
            names = (each.name for each in dataclasses.fields(Plan) if each.compare)
            differ = ", ".join(name for name in names if getattr(known, name) != getattr(plan, name))
            raise InputError(
                f"sweep '{plan.name}' has another plan ({differ}); choose another name, or give the name alone to "
                f"resume it: `sentiscope sweep {plan.name}`"
            )
        return known
    for member in list_members(plan):
        refuse_reserved(member.run)
        find_teacher(member.config, store)
        if (store.folder / member.run).exists() and store.read(member.run).parent != plan.name:
            raise InputError(f"there is a run '{member.run}' that is not of this sweep; choose another name")
    plan = dataclasses.replace(plan, created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    make_folder(get_folder(store))
    tree = {"schema": SCHEMA, **dataclasses.asdict(plan)}
    write_text(get_path(store, plan.name), json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
    return plan


def is_planned(store: RunStore, name: str) -> bool:
    """Return whether a plan of a sweep with this name is stored."""
    return get_path(store, name).is_file()


def read(store: RunStore, name: str) -> Plan:
    """Read the stored plan of a sweep; InputError: there is none of this name, RunDamaged: it is unreadable."""
    file = get_path(store, name)
    if not file.is_file():
        raise InputError(f"no sweep '{name}' in {get_folder(store)}; `sentiscope sweeps list` shows all")
    tree = json_store.strip_schema(json_store.read_tree(file), SCHEMA, file=file)
    if missing := [each.name for each in dataclasses.fields(Plan) if each.name not in ("name", "recipe", *tree)]:
        raise RunDamaged(f"{file}: cannot be read: the field {missing[0]} is missing")
    try:
        return json_store.check_value({**tree, "name": name}, Plan, file=file)
    except InputError as error:
        raise RunDamaged(f"{file}: cannot be read: {error}") from error


def list_names(store: RunStore) -> list[str]:
    """List the names of all stored sweeps, newest first."""
    if not get_folder(store).is_dir():
        return []
    files = [file for file in get_folder(store).glob("*.json") if _NAME.fullmatch(file.stem)]
    return [file.stem for file in sorted(files, key=lambda file: (file.stat().st_mtime, file.stem), reverse=True)]


def remove(store: RunStore, name: str) -> int:
    """Delete a sweep with all its runs, and count them; InputError: no such sweep, or one is being trained."""
    found = read_records(store, list_members(read(store, name)))
    if any(get_state(record) in ("queued", "running") for record in found):
        raise InputError(f"sweep '{name}' is being trained; cancel it first: `sentiscope sweeps cancel {name}`")
    begun = [record.run for record in found if record is not None]
    for run in begun:
        store.remove(run)
    for suffix in ("json", "log", "lock", "cancel"):
        get_path(store, name, suffix).unlink(missing_ok=True)
    return len(begun)


def read_records(
    store: RunStore, runs: Sequence[Member], known: Mapping[str, RunRecord] | None = None
) -> list[RunRecord | None]:
    """Return the record of each run of a sweep, None if not begun; records in `known` are not read again."""
    return [(known or {}).get(member.run) or _read_record(store, member.run) for member in runs]


def _read_record(store: RunStore, run: str) -> RunRecord | None:
    if not (store.folder / run).is_dir():
        return None
    try:
        return store.read(run)
    except RunDamaged as error:
        return RunRecord(run, "", "damaged", RunConfig(), "", reason=str(error))


def get_state(record: RunRecord | None) -> State:
    """Return the state of a sweep's run from its record: waiting if it has not started."""
    if record is None or (record.status == "queued" and not is_alive(record.process)):
        return "waiting"
    return "failed" if record.status == "damaged" else record.status


def split_values(text: str) -> tuple[str, ...]:
    """Split a text like `a,b` into grid values to try; a value with a comma needs quotes: `"2,3","5"`."""
    import csv

    (values,) = csv.reader([text], skipinitialspace=True)
    return tuple(value.strip() for value in values if value.strip())


def parse_grid(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parse grid options like `["training.lr=1e-4,5e-4"]` to name → values; ConfigError: malformed or repeated."""
    grid: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, equals, values = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError(f"--grid {pair!r}: write name=value,value, e.g. training.lr=1e-4,5e-4")
        if name in grid:
            raise ConfigError(f"--grid {name}: is given twice")
        grid[name] = split_values(values)
    return grid


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse the option for seeds: `3` means the seeds 0, 1, 2, and `4,7` the seeds 4 and 7; ConfigError: not valid."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise ConfigError(f"--seeds {text!r}: a number of seeds such as 3, or the seeds themselves such as 0,1,2")
    seeds = tuple(int(part) for part in parts)
    if "," in text:
        return seeds
    if not 1 <= seeds[0] <= MOST_MEMBERS:
        raise ConfigError(f"--seeds {text}: 1 to {count(MOST_MEMBERS)} seeds")
    return tuple(range(seeds[0]))
