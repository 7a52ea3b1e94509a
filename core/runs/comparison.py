"""Significance tests of each pair of models on the same rows, or on the rows with each value of a column."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from core.data.dataset import TEST
from core.evaluation.comparison import Tested, apply_holm, count_discordant, pick_better, run_test
from core.evaluation.group_metrics import FEWEST
from core.evaluation.intervals import compute_closed_form, compute_percentiles, pool_intervals
from core.evaluation.metrics import Scores, explain_left_out, list_defined
from core.evaluation.significance import Draws, Run, ScorePair
from core.exceptions import InputError, SentiscopeError
from core.formatting import count, join_names
from core.metrics import USUAL, format_title, get_metric, refuse_unknown
from core.runs.evaluation_data import DataRequest
from core.runs.lineage import load_trained_data
from core.runs.predictions import (
    Answers,
    align_answers,
    combine_scores,
    compute_answers,
    list_evaluated_splits,
    read_answers,
    select_rows,
)
from core.runs.record import RunRecord, refuse_tagged
from core.runs.run_names import WHOLE, Model, group_runs
from core.runs.store import RunStore


def compare_models(sides: ComparisonData, *, metrics: Sequence[str] = (), by: Sequence[str] = ()) -> dict[str, Any]:
    """Test every pair of models, also per value of the columns `by`, with Holm's correction; return plain data.

    `runs` (`name`, `model`, `mixture` in words, `runs`, `seeds`, `folds`, `metrics`: name → `mean`, `deviation` over
    seeds and `interval`, or null), `data`, `split`, `n`, `pairs` and `by` (two families of tests) and `notes`. For each
    pair: `first`, `second`, `metric`, `difference` (first minus second), `interval` (at the level of its Holm step;
    null for too few differing rows or folds), `test`, `p`, `p_holm`, `effect` (`core.evaluation.comparison.Tested`),
    `only_first_right`, `only_second_right` (rows, summed over pairs of runs), `rows_needed` (for 80 % power; null if no
    number is enough). In `by` also `column`, `value`, `n`, `first_value`, `second_value` and `baseline_value` (TF-IDF
    fitted on the first run's training data, or null).

    InputError: unknown metric or column, or the metric is undefined for these runs.
    """
    names = list(dict.fromkeys(metrics)) or [USUAL[sides.sides[0].model.records[0].task][0]]
    refuse_unknown(names)
    measured = [_MetricComparison(sides, name) for name in names]
    baseline, notes = _predict_baseline(sides.sides[0]) if by else ({}, ())
    tests = describe_family(
        [found for column in by for each in measured for found in each.compare_values(column, baseline=baseline)]
    )
    return {
        "runs": [_describe_model(side, measured) for side in sides.sides],
        "data": sides.data,
        "split": sides.split,
        "n": sides.rows,
        "pairs": describe_family([found for each in measured for found in each.compare_pairs()]),
        "by": tests,
        "notes": [*sides.notes, *notes, *(note for each in measured for note in each.describe_left_out())],
    }


def compare_by_column(
    sides: ComparisonData, first: ModelPredictions, second: ModelPredictions, metric: str, column: str
) -> list[dict[str, Any]]:
    """Compare two models separately for each value of a data column, with Holm's correction; one entry per value."""
    return describe_family(list(_MetricComparison(sides, metric).compare_values(column, [(first, second)])))


Found = tuple[dict[str, Any], Tested]


def describe_family(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Return significance tests that are corrected together (Holm), with corrected p-values, as plain data."""
    rows = []
    for (about, test), step in zip(found, apply_holm([test.p for _, test in found]), strict=True):
        interval, needed = test.compute_interval(step.alpha), test.count_rows_needed(step.alpha)
        told = {"difference": test.difference, "interval": interval and list(interval), "test": test.test}
        rows.append({**about, **told, "p": test.p, "p_holm": step.p, "effect": test.effect, "rows_needed": needed})
    return rows


class _MetricComparison:
    """One metric computed for all compared models, with each run's bootstrap resamples reused in all comparisons."""

    def __init__(self, sides: ComparisonData, name: str) -> None:
        self.sides, self.name, self.metric = sides, name, get_metric(name)
        self.draws = Draws(self.metric)
        self.unmeasurable: dict[str, dict[str, None]] = {}  # column → values without the metric
        self.values: dict[str, set[str]] = {}
        self.scores: dict[str, dict[Run, Scores]] = {
            side.name: {run: answers.to_scores(name) for run, answers in side.answers.items()} for side in sides.sides
        }
        self._refuse_undefined()

    def _refuse_undefined(self) -> None:
        first, record = self.sides.sides[0], self.sides.sides[0].model.records[0]
        if record.task not in self.metric.tasks:
            raise InputError(f"--metric {self.name}: not defined for these runs; the nearest is {self.metric.nearest}")
        for run, scores in self.scores[first.name].items():
            if self._is_defined(scores) and not self._is_measurable(scores):
                raise InputError(f"--metric {self.name}: all rows have one label, where it says nothing; use accuracy")
            if not self._is_measurable(scores):
                given = first.answers[run].labels, first.answers[run].probabilities
                why = explain_left_out(*given, record.classes, record.task, ordered=record.ordered)
                reason = why.get(self.metric.name, "only of classes in an order")
                raise InputError(f"--metric {self.name}: not defined on these rows: {reason}")

    def _is_defined(self, scores: Scores) -> bool:
        return self.metric.name in list_defined(scores, self.sides.sides[0].model.records[0].task)

    def _is_measurable(self, scores: Scores) -> bool:
        """Return whether a metric is defined on a run's rows; False for class averages if all rows have one label."""
        alone = scores.labels.ndim == 1 and len(np.unique(scores.labels)) < 2
        return self._is_defined(scores) and not (alone and self.metric.across_classes)

    def describe_left_out(self) -> Iterator[str]:
        """Yield a note for each column on some of whose values the metric is undefined; InputError: on all values."""
        for column, values in self.unmeasurable.items():
            about = "on rows of one label, or without a row of some class, it says nothing"
            if set(values) == self.values[column]:
                raise InputError(f"--metric {self.name} --by {column}: {about}, and all values are such; use accuracy")
            yield f"{format_title(self.name)} by {column} is left out for {join_names(list(values))}: {about}."

    def compare_pairs(self) -> Iterator[Found]:
        """Test every pair of models on all of their rows, and yield the results."""
        if not (self.metric.whole_rows and all(len(side.answers) == 1 for side in self.sides.sides)):
            for fold in {fold for _, fold in self.sides.sides[0].answers}:
                self.draws.resample_scores(
                    [each for found in self.scores.values() for run, each in found.items() if run[1] == fold]
                )
        for first, second in itertools.combinations(self.sides.sides, 2):
            pairs = {
                run: combine_scores(self.scores[first.name][one], self.scores[second.name][other], self.name)
                for run, one, other in match_runs(first, second)
            }
            yield self._judge_pairs(first, second, pairs, {})

    def compare_values(
        self,
        column: str,
        pairs: Sequence[tuple[ModelPredictions, ModelPredictions]] = (),
        baseline: Mapping[int, Answers] | None = None,
    ) -> Iterator[Found]:
        """Test every pair of models for each value of a column; values where the metric is undefined are left out."""
        for first, second in pairs or itertools.combinations(self.sides.sides, 2):
            runs = list(match_runs(first, second))
            places = _fold_rare({one: self._group_rows(first, one, column) for _, one, _ in runs}, column)
            self.values[column] = {value for found in places.values() for value in found}
            for value in sorted(self.values[column]):
                parts = {
                    run: combine_scores(
                        select_rows(first.answers[one], places[one][value]).to_scores(self.name),
                        select_rows(second.answers[other], places[one][value]).to_scores(self.name),
                        self.name,
                    )
                    for run, one, other in runs
                    if value in places[one]
                }
                if not all(
                    self._is_measurable(each.first) and self._is_measurable(each.second) for each in parts.values()
                ):
                    self.unmeasurable.setdefault(column, {})[value] = None
                    continue
                rows = {run[1]: each.rows for run, each in parts.items()}
                about = {"column": column, "value": value, "n": sum(rows.values())}
                for side in ("first", "second"):
                    told = [self._measure(getattr(each, side)) for each in parts.values()]
                    about[f"{side}_value"] = statistics.fmean(told)
                if baseline is not None:
                    rows_of = {run[1]: found[value] for run, found in places.items() if value in found}
                    known = {
                        fold: select_rows(baseline[fold], found) for fold, found in rows_of.items() if fold in baseline
                    }
                    told = [self._measure(each.to_scores(self.name)) for each in known.values()]
                    about["baseline_value"] = statistics.fmean(told) if told else None
                yield self._judge_pairs(first, second, parts, about)

    def _group_rows(self, side: ModelPredictions, run: Run, column: str) -> dict[str, np.ndarray]:
        """Return row positions for each value of a column, or for each saved slice (subset of rows, may overlap)."""
        if column == SLICE and self.sides.slices:
            found = {name: folds[run[1]] for name, folds in self.sides.slices.items()}
            return {name: rows for name, rows in found.items() if len(rows)}
        answers = side.answers[run]
        if column == "label" and answers.labels.ndim == 1:
            values = np.array(answers.record.classes, object)[answers.labels]
        elif column in answers.columns:
            values = answers.columns[column].astype(str).to_numpy(object)
        else:
            there = ", ".join([*map(str, answers.columns), *["label"] * (answers.labels.ndim == 1)]) or "none"
            raise InputError(f"--by {column}: these rows have no such column; they have {there}")
        if (number := len(set(values))) > MOST_VALUES:
            raise InputError(f"--by {column}: {count(number)} values; name a column with at most {MOST_VALUES}")
        return {value: np.flatnonzero(values == value) for value in sorted(set(values))}

    def _judge_pairs(
        self, first: ModelPredictions, second: ModelPredictions, pairs: Mapping[Run, ScorePair], about: dict[str, Any]
    ) -> Found:
        right = [count_discordant(each) for each in pairs.values()]
        counts = {"only_first_right": sum(one for one, _ in right), "only_second_right": sum(two for _, two in right)}
        known = {"first": first.name, "second": second.name, "metric": self.name, **about, **counts}
        return known, run_test(pairs, self.metric, self.draws)

    def summarize_model(self, side: ModelPredictions) -> dict[str, Any]:
        """Return a model's metric: mean over runs, standard deviation over seeds, and interval; None if undefined."""
        scores = self.scores[side.name]
        values = {run: self._measure(each) for run, each in scores.items()}
        ranges: dict[Run, list[float]] = {}
        for run, each in scores.items():
            closed = compute_closed_form(self.metric, each)
            ends = compute_percentiles(self.draws.measure_draws(each)[1]) if closed is None else closed
            ranges |= {} if ends is None else {run: ends}
        return {
            "mean": statistics.fmean(values.values()),
            "deviation": statistics.stdev(values.values()) if len(values) > 1 else None,
            "interval": list(pool_intervals(values, ranges, self.metric.range)) if len(ranges) == len(values) else None,
        }

    def _measure(self, scores: Scores) -> float:
        return float(self.metric.measure(scores, np.ones((1, len(scores))))[0])


def _predict_baseline(side: ModelPredictions) -> tuple[dict[int, Answers], tuple[str, ...]]:
    """Return TF-IDF predictions by fold, fitted on a model's training data, or a note why there are none."""
    from core.evaluation.baseline import BETTER, load_baseline  # imports torch, which figures do without

    found: dict[int, Answers] = {}
    for (_, fold), own in side.answers.items():
        if fold not in found:
            record = own.record
            given = record.data_fingerprint, record.classes, functools.partial(load_trained_data, record)
            known = record.results.get("yardstick", {})
            try:
                chances = load_baseline(*given, known.get("model", BETTER)).predict(own.texts).astype(np.float64)
            except SentiscopeError as error:
                return {}, (f"TF-IDF is left out: {error}.",)
            limits = known.get("tuned", {}).get("thresholds")
            found[fold] = dataclasses.replace(own, probabilities=chances, thresholds=limits)
    return found, ()


def _fold_rare(places: dict[Run, dict[str, np.ndarray]], column: str) -> dict[Run, dict[str, np.ndarray]]:
    """Merge all rare values of a data column (in too few rows) into one group; labels and slices are not merged."""
    if column in ("label", SLICE):
        return places
    rows = Counter[str]()
    for found in {fold: found for (_, fold), found in places.items()}.values():
        rows.update({value: len(each) for value, each in found.items()})
    rare = {value for value, n in rows.items() if n < FEWEST}
    if len(rare) < 2:
        return places
    name = f"{count(len(rare))} others"
    return {
        run: {value: each for value, each in found.items() if value not in rare}
        | {name: np.sort(np.concatenate([each for value, each in found.items() if value in rare]))}
        for run, found in places.items()
        if found
    }


def _describe_model(side: ModelPredictions, measured: Sequence[_MetricComparison]) -> dict[str, Any]:
    record = side.model.records[0]
    return {
        "name": side.name,
        "model": record.preset,
        "mixture": side.model.mixture,
        "runs": [record.run for record in side.model.runs.values()],
        "seeds": side.model.seeds,
        "folds": side.model.folds,
        "metrics": {each.name: each.summarize_model(side) for each in measured},
    }


def find_ties(store: RunStore, models: Sequence[Sequence[str]], metric: str) -> list[list[int]]:
    """Find the longest ranges of models (`models`: runs by model, best first) without a significant difference."""
    place = {run: number for number, runs in enumerate(models) for run in runs}
    sides = read_comparison_data(store, [*place], split=TEST)
    names = {side.name: place[side.model.records[0].run] for side in sides.sides}
    found = compare_models(sides, metrics=[metric])["pairs"]
    apart = {frozenset((names[pair["first"]], names[pair["second"]])) for pair in found if pick_better(pair)}
    return find_tied_ranges(len(models), apart)


def find_tied_ranges(count: int, apart: Iterable[frozenset[int]]) -> list[list[int]]:
    """Return the longest ranges of ranks (0 for the best) in which no pair of models differs significantly."""
    known, groups, done = set(apart), list[list[int]](), 0
    for first in range(count):
        end = first + 1
        while end < count and not any(frozenset((member, end)) in known for member in range(first, end)):
            end += 1
        if end > max(done, first + 1):
            groups.append([*range(first, end)])
            done = end
    return groups


MOST_VALUES = 50  # values of a column to compare by: with more, each has few rows and nothing is significant after Holm
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
        return sum({fold: len(answers) for (_, fold), answers in self.sides[0].answers.items()}.values())

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
