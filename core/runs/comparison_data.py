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
"""Of a column to compare by: beyond, each would rest on few rows and Holm would find nothing."""
SLICE = "slice"
"""What stands for the saved slices where a column is named."""


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
    """Name of a saved slice → fold → its rows, where they are to be compared by (`core.error_analysis.slices`)."""

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

    Runs that differ in nothing but seed and fold are one model; unless there is no other: then each stands for itself.
    The `split` of their own data is test, or the last that all were evaluated on, unless given. Raises InputError for
    fewer than two runs, one that is not finished, or runs without common rows.
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
        asked = {
            record.run: compute_answers(store, record, wanted) for model in models for record in model.runs.values()
        }
        answers, split = {run: found for run, (found, _) in asked.items()}, next(iter(asked.values()))[1].split
        notes = tuple(dict.fromkeys(note for _, given in asked.values() for note in given.notes))
        data = wanted.data or records[0].config.data.name
    else:
        split = _find_common_split(store, records, split)
        data = records[0].config.data.name
        answers = {each.run: read_answers(store, each, split) for model in models for each in model.runs.values()}
    whole = wanted is not None  # then folds share their rows
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

    The same seed with the same; what is trained without chance with every seed of the other; and where no seed is
    common, in order: a seed means nothing but itself to another architecture.
    """
    ours, theirs = sorted(first.answers), sorted(second.answers)
    if common := [run for run in ours if run in second.answers]:
        steady = first.steady or second.steady
        if not steady:
            return iter([(run, run, run) for run in common])
    if first.steady or second.steady:
        many = theirs if first.steady else ours
        return iter([(run, ours[0] if first.steady else run, theirs[0] if second.steady else run) for run in many])
    folds = sorted({fold for _, fold in ours})
    return iter(
        [
            ((number, fold), one, other)
            for fold in folds
            for number, (one, other) in enumerate(
                zip([run for run in ours if run[1] == fold], [run for run in theirs if run[1] == fold], strict=False)
            )
        ]
    )
