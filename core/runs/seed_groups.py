"""Grouping of runs into models: runs that differ only in seed and fold are one model. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from core.config import flatten_config
from core.data.config import DataConfig
from core.fingerprint import to_canonical_json
from core.runs.record import RunRecord, describe_mixture
from core.training.config import TrainingConfig

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
    """Group runs that differ only in seed and fold into models, in the order of each model's first run.

    Only finished runs are grouped; every other run is a model by itself. Runs of different models differ in another
    setting (threads and device included) or in their rows.
    """
    groups: dict[Hashable, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_get_group_key(record), []).append(record)
    ordered = [
        sorted(sorted(group, key=lambda one: (one.created, one.run), reverse=True), key=get_seed_fold)
        for group in groups.values()
    ]
    return [Model(name, tuple(group)) for name, group in zip(_name_groups(ordered), ordered, strict=True)]


def _get_group_key(record: RunRecord) -> Hashable:
    if record.status != "done":
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
