"""Names of runs for people: the model, and where two would be equal also seed, day or data set."""

import dataclasses
import datetime
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.config import flatten_config
from core.data.config import DataConfig
from core.fingerprint import to_canonical_json
from core.paths import ELSEWHERE
from core.runs.record import RunRecord, describe_mixture
from core.runs.store import STARTER, make_slug
from core.training.config import TrainingConfig

WEEK = 7  # days in which a weekday says which day it was


@dataclass(frozen=True)
class RunName:
    """The name of a run for people; the id of the run stays in links, files and commands."""

    name: str  # the name that a person gave it, else its model
    note: str = ""  # what tells it from runs of the same name and data; empty where there are none
    data: str = ""  # its data set, if the runs here are of several

    @property
    def text(self) -> str:
        """Return the name with its note: no other run on the same data has the same."""
        return ", ".join(filter(None, (self.name, self.note)))

    @property
    def full(self) -> str:
        """Return the name with its note and data set: no other run has the same."""
        return " · ".join(filter(None, (self.text, self.data)))


def name_runs(records: Iterable[RunRecord], now: datetime.datetime | None = None) -> dict[str, RunName]:
    """Return the name of each run for people, by its id; `now` decides which days have the name of a weekday."""
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        data = "" if record.status == "damaged" else Path(record.config.data.name).name
        data = data.removeprefix(ELSEWHERE) if record.from_outside else data
        groups.setdefault((_get_own_name(record), data), []).append(record)
    several = len({data for _, data in groups if data}) > 1
    named = {}
    for (name, data), group in groups.items():
        for record, note in zip(group, _tell_apart(group, now or datetime.datetime.now()), strict=True):
            named[record.run] = RunName(name, note, data if several else "")
    return named


def _get_own_name(record: RunRecord) -> str:
    """Return a run's name as a person gave it; for an id that was made (`RunStore.create`) the model."""
    if record.run.startswith(STARTER):
        return record.run.removeprefix(STARTER)
    made = rf"(.+-)?{re.escape(make_slug(record.preset))}-s\d+-\d{{8}}-\d{{6}}(-\d+)?"
    return record.preset if record.preset and re.fullmatch(made, record.run) else record.run


def _tell_apart(group: Sequence[RunRecord], now: datetime.datetime) -> list[str]:
    """Return the shortest note that distinguishes each run from others of the same name."""
    own = [record for record in group if not record.run.startswith(STARTER)]
    notes = {record.run: "starter" for record in group if record not in own and len(group) > 1}
    notes |= {record.run: "" for record in group if record.run not in notes}
    tellers: tuple[Callable[[RunRecord], str], ...] = (
        lambda record: f"seed {get_seed_fold(record)[0]}",
        lambda record: "" if get_seed_fold(record)[1] == WHOLE else f"fold {get_seed_fold(record)[1]}",
        lambda record: _write_day(record, now),
        lambda record: "" if (made := _read_time(record)) is None else f"{made:%H:%M}",
        lambda record: record.run,
    )
    for tell in tellers:
        told = {record.run: tell(record) for record in own}
        if len(set(told.values())) > 1 and max(Counter(notes[record.run] for record in own).values()) > 1:
            notes |= {run: ", ".join(filter(None, (notes[run], word))) for run, word in told.items()}
    return [notes[record.run] for record in group]


def _read_time(record: RunRecord) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(record.created).astimezone().replace(tzinfo=None)
    except ValueError:
        return None  # a damaged run


def _write_day(record: RunRecord, now: datetime.datetime) -> str:
    if (made := _read_time(record)) is None:
        return ""
    days = (now.date() - made.date()).days
    return f"{made:%A}" if 0 <= days < WEEK else f"{made.day} {made:%B}{'' if made.year == now.year else f' {made:%Y}'}"


WHOLE = -1  # fold of a run without cross-validation
_SHARED = ("fold", "split_rule", "lineage")
_DATA = tuple(each.name for each in dataclasses.fields(DataConfig) if each.name not in _SHARED)
"""Data settings in which models differ; whether two split rules give the same rows follows from the fingerprint."""
_TRAINING = tuple(each.name for each in dataclasses.fields(TrainingConfig) if each.name != "seed")


@dataclass(frozen=True)
class Model:
    """A model that was trained once, or several times with other seeds or on other folds."""

    name: str
    """The name of a single run; for several runs their preset, with the settings that differ from other models."""
    records: tuple[RunRecord, ...]  # sorted by seed and fold, then newest first

    @property
    def runs(self) -> dict[tuple[int, int], RunRecord]:
        """Return the runs of a model by (seed, fold); of repeated runs only the newest."""
        found: dict[tuple[int, int], RunRecord] = {}
        for record in self.records:
            found.setdefault(get_seed_fold(record), record)
        return found

    @property
    def mixture(self) -> str:
        """Describe how the predictions of a model's runs are mixed with TF-IDF."""
        return describe_mixture(self.runs.values())

    @property
    def seeds(self) -> list[int]:
        """Return the seeds of a model's runs, sorted."""
        return sorted({seed for seed, _ in self.runs})

    @property
    def folds(self) -> list[int]:
        """Return the cross-validation folds of a model's runs, sorted; empty without cross-validation."""
        return sorted({fold for _, fold in self.runs} - {WHOLE})


def get_seed_fold(record: RunRecord) -> tuple[int, int]:
    """Return the seed and the fold of a run; without cross-validation the fold is the constant `WHOLE`."""
    config = record.config
    return config.training.seed, config.data.fold if config.data.folds else WHOLE


def group_runs(records: Iterable[RunRecord]) -> list[Model]:
    """Group runs that differ only in seed and fold into models; an unfinished run or one from outside is a model."""
    groups: dict[Hashable, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_get_group_key(record), []).append(record)
    ordered = [
        sorted(sorted(group, key=lambda one: (one.created, one.run), reverse=True), key=get_seed_fold)
        for group in groups.values()
    ]
    return [Model(name, tuple(group)) for name, group in zip(_name_groups(ordered), ordered, strict=True)]


def _get_group_key(record: RunRecord) -> Hashable:
    if record.status != "done" or record.from_outside:
        return record.run
    data, training = record.config.data, record.config.training
    return (
        record.config.text,
        record.config.model,
        tuple(getattr(data, name) for name in _DATA),
        tuple(getattr(training, name) for name in _TRAINING),
        # The rows of two folds always differ: runs of one sweep are assumed to split the same rows.
        record.parent if data.folds else record.data_fingerprint,
        to_canonical_json(record.newer.get("config", {})) if record.newer else "",
    )


def _name_groups(groups: Sequence[Sequence[RunRecord]]) -> list[str]:
    names = [group[0].run if len(group) == 1 else group[0].preset for group in groups]
    twice = _find_duplicates(names)
    names = [
        _name_with_settings(group, groups) if name in twice and len(group) > 1 else name
        for name, group in zip(names, groups, strict=True)
    ]
    twice = _find_duplicates(names)
    return [group[0].run if name in twice else name for name, group in zip(names, groups, strict=True)]


def _find_duplicates(names: Iterable[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def _name_with_settings(group: Sequence[RunRecord], groups: Sequence[Sequence[RunRecord]]) -> str:
    """Name a group of runs by its preset, and by settings that distinguish it from other groups of the preset."""
    own, preset = flatten_config(group[0].config), group[0].preset
    others = [flatten_config(each[0].config) for each in groups if each is not group and each[0].preset == preset]
    apart = [
        f"{name.rpartition('.')[2]}={value}"
        for name, value in own.items()
        if name not in ("training.seed", "data.fold") and any(each[name] != value for each in others)
    ]
    return ", ".join([group[0].preset, *apart])
