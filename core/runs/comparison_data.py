"""Predictions of the models to compare, on shared rows; runs that differ only in seed and fold are one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from core.data.dataset import TEST
from core.evaluation.significance import Run
from core.exceptions import InputError
from core.runs.evaluation_data import DataRequest
from core.runs.labeled_predictions import Answers, align_answers, compute_answers, read_answers
from core.runs.predictions import list_evaluated_splits
from core.runs.record import RunRecord, refuse_tagged
from core.runs.seed_groups import WHOLE, Model, group_runs
from core.runs.store import RunStore

MOST_VALUES = 50
"""Values of a column to compare by: with more, each has few rows and nothing is significant after Holm."""
SLICE = "slice"  # stands for the saved slices in place of a column


@dataclass(frozen=True, eq=False)
class ModelPredictions:
    """A model with the predictions of each of its runs, on the rows that all compared models share."""

    model: Model
    answers: Mapping[Run, Answers]

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return self.model.name

    @property
    def steady(self) -> bool:
        """Return whether training has no randomness, so that the one run is paired with every seed of another model."""
        return len(self.answers) == 1 and not self.model.records[0].config.model.by_steps


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """The models of a comparison with their predictions, the data set, the split and notes."""

    sides: tuple[ModelPredictions, ...]
    data: str
    split: str
    notes: tuple[str, ...] = ()
    slices: Mapping[str, Mapping[int, np.ndarray]] = field(default_factory=dict)
    """Name of a saved slice → fold → its rows, for a comparison by slice (`core.error_analysis.slices`)."""

    @property
    def rows(self) -> int:
        """Return the number of compared rows, summed over folds."""
        folds = {fold: len(answers) for (_, fold), answers in self.sides[0].answers.items()}
        return sum(folds.values())

    @cached_property
    def columns(self) -> list[str]:
        """Return names of columns that can group rows: those with few distinct values, and `label` if single-label."""
        first = next(iter(self.sides[0].answers.values()))
        few = [str(name) for name, column in first.columns.items() if 2 <= column.nunique() <= MOST_VALUES]
        return few + ["label"] * (first.labels.ndim == 1)


def read_comparison_data(
    store: RunStore, runs: Sequence[str], *, split: str = "", wanted: DataRequest | None = None
) -> ComparisonData:
    """Return the predictions of runs on the same rows, read from disk, or computed now on the `wanted` data.

    Runs that differ only in seed and fold are one model, unless there is no other model: then each run is one. Without
    `split`, test or the last split that all were evaluated on is used. Raises InputError for fewer than two runs, an
    unfinished run, or runs without common rows.
    """
    names = list(dict.fromkeys(runs))
    records = [store.read(name) for name in names]
    if len(records) < 2:
        twice = f"'{names[0]}' cannot be compared with itself; " if len(runs) > 1 else ""
        raise InputError(f"{twice}a comparison needs two runs or more: `sentiscope compare A B`")
    if unfinished := [record for record in records if record.status != "done"]:
        raise InputError(f"run '{unfinished[0].run}' is {unfinished[0].status}: only finished runs are compared")
    for record in records:
        refuse_tagged(record)
    models, notes = group_runs(records), tuple[str, ...]()
    if len(models) == 1:
        models = [Model(record.run, (record,)) for record in records]
    if wanted is not None:
        own = (each for model in models for each in model.runs.values())
        asked = {each.run: compute_answers(store, each, wanted) for each in own}
        answers, split = {run: found for run, (found, _) in asked.items()}, next(iter(asked.values()))[1].split
        notes = tuple(dict.fromkeys(note for _, given in asked.values() for note in given.notes))
        data = wanted.data or records[0].config.data.name
    else:
        split = _find_common_split(store, records, split)
        data = records[0].config.data.name
        answers = {each.run: read_answers(store, each, split) for model in models for each in model.runs.values()}
    whole = wanted is not None  # on other data, all folds have the same rows
    return ComparisonData(tuple(_align_models(models, answers, whole)), data, split, notes)


def _find_common_split(store: RunStore, records: Sequence[RunRecord], split: str) -> str:
    found = [list_evaluated_splits(store.get_path(record.run)) for record in records]
    common = [each for each in found[0] if all(each in other for other in found)]
    if split and split not in common:
        lacking = next(record.run for record, each in zip(records, found, strict=True) if split not in each)
        own = ", ".join(found[[record.run for record in records].index(lacking)]) or "none"
        raise InputError(f"run '{lacking}' has no predictions of a split '{split}'; it has {own}")
    if not common:
        has = "; ".join(f"'{one.run}': {', '.join(each) or 'none'}" for one, each in zip(records, found, strict=True))
        raise InputError(f"no split was evaluated by all of these runs ({has}). Compare them with --data FILE")
    return split or (TEST if TEST in common else common[-1])


def _align_models(models: Sequence[Model], answers: Mapping[str, Answers], whole: bool) -> Iterator[ModelPredictions]:
    runs = {
        model.name: {(seed, WHOLE if whole else fold): record for (seed, fold), record in model.runs.items()}
        for model in models
    }
    folds = {name: {fold for _, fold in found} for name, found in runs.items()}
    first, *others = models
    for other in others:
        if folds[other.name] != folds[first.name]:
            raise InputError(
                f"'{first.name}' and '{other.name}' do not have the same folds "
                f"({_format_folds(folds[first.name])} and {_format_folds(folds[other.name])}), and so not the same rows"
            )
    fitted: dict[str, Answers] = {}
    for fold in folds[first.name]:
        names = [record.run for found in runs.values() for run, record in found.items() if run[1] == fold]
        fitted |= dict(zip(names, align_answers([answers[name] for name in names]), strict=True))
    for model in models:
        yield ModelPredictions(model, {run: fitted[record.run] for run, record in runs[model.name].items()})


def _format_folds(folds: set[int]) -> str:
    return "none" if folds == {WHOLE} else ", ".join(map(str, sorted(folds)))


def match_runs(first: ModelPredictions, second: ModelPredictions) -> Iterator[tuple[Run, Run, Run]]:
    """Yield the pairs of runs by which two models are compared, as a key for the pair and both runs' (seed, fold).

    Equal seeds are paired; a model trained without randomness is paired with every seed of the other. Without a common
    seed, runs are paired in order, as a seed has no meaning across architectures.
    """
    ours, theirs = sorted(first.answers), sorted(second.answers)
    common = [run for run in ours if run in second.answers]
    if first.steady or second.steady:
        for run in theirs if first.steady else ours:
            yield run, ours[0] if first.steady else run, theirs[0] if second.steady else run
    elif common:
        yield from ((run, run, run) for run in common)
    else:
        for fold in sorted({fold for _, fold in ours}):
            sides = ([run for run in side if run[1] == fold] for side in (ours, theirs))
            yield from (((number, fold), *pair) for number, pair in enumerate(zip(*sides, strict=False)))
