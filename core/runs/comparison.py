"""Any runs on the same rows, tested pair by pair and value by value of a column, as plain data."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from core.evaluation.comparison import Tested, holm, judge, one_right
from core.evaluation.groups import FEWEST
from core.evaluation.intervals import LEVEL, share_interval
from core.evaluation.metrics import defined, left_out
from core.evaluation.scores import Scores
from core.evaluation.significance import Both, Draws, Run
from core.exceptions import InputError
from core.metrics import USUAL, named, refuse_unknown
from core.numbers import count
from core.runs.answers import Answers, both, taken
from core.runs.sides import MOST_VALUES, SLICE, Side, Sides, paired


def compare(sides: Sides, *, metrics: Sequence[str] = (), by: Sequence[str] = ()) -> dict[str, Any]:
    """Every pair, and every value of each column, with tests that allow for how many they are.

    Args:
        sides: what is compared.
        metrics: names as in records, `tuned.` before those at the run's own thresholds; empty: the usual first one.
        by: columns of the data, or `label`, or `slice` where the sides have some.

    Returns:
        `runs` (`name`, `model`, `mixture` in words, `runs`, `seeds`, `folds`, `metrics`: by name `mean`, `deviation`
        over seeds and `interval`), `data`, `split`, `n`; `pairs`, a family of tests, and `by`, another. Of a pair
        `first`, `second`, `metric`, `difference` (first less second), `interval` (at the level of its Holm step; null
        where folds are too few for it), `test`, `p`, `p_holm`, `effect` (see `core.evaluation.comparison.Tested`),
        `only_first_right`, `only_second_right` (rows, summed over pairs of runs), `rows_needed` (for 80 % power; null
        where none would do); of a row of `by` also `column`, `value`, `n`, and the metric of each (`first_value`,
        `second_value`); `notes` on other data, such as labels that were left out.

    Raises:
        InputError: no such metric or column, or the metric is not defined here.
    """
    task = sides.sides[0].model.records[0].task
    names = list(dict.fromkeys(metrics)) or [USUAL[task][0]]
    refuse_unknown(names)
    measured = [_Measured(sides, name) for name in names]
    return {
        "runs": [_shown(side, measured) for side in sides.sides],
        "data": sides.data,
        "split": sides.split,
        "n": sides.rows,
        "pairs": family([found for each in measured for found in each.pairs()]),
        "by": family([found for column in by for each in measured for found in each.by(column)]),
        "notes": list(sides.notes),
    }


def by_column(sides: Sides, first: Side, second: Side, metric: str, column: str) -> list[dict[str, Any]]:
    """One pair on the rows of each value of a column, a family of tests; rows as in `by` of `compare`.

    With `first_value` and `second_value`, the metric of each.
    """
    return family(list(_Measured(sides, metric).by(column, [(first, second)])))


Found = tuple[dict[str, Any], Tested]
"""What a test is of, and the test."""


def family(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Tests that are looked at together, as plain data."""
    steps = holm([test.p for _, test in found])
    rows = []
    for (about, test), step in zip(found, steps, strict=True):
        interval = test.interval(step.alpha)
        rows.append(
            {
                **about,
                "difference": test.difference,
                "interval": None if interval is None else list(interval),
                "test": test.test,
                "p": test.p,
                "p_holm": step.p,
                "effect": test.effect,
                "rows_needed": test.rows_needed(step.alpha),
            }
        )
    return rows


class _Measured:
    """One metric of all sides; what is drawn of a run serves all of its pairs."""

    def __init__(self, sides: Sides, name: str) -> None:
        self.sides, self.name, self.metric = sides, name, named(name)
        self.draws = Draws(self.metric)
        self.scores: dict[str, dict[Run, Scores]] = {
            side.name: {run: answers.scores(name) for run, answers in side.answers.items()} for side in sides.sides
        }
        self._refuse_undefined()

    def _refuse_undefined(self) -> None:
        first, record = self.sides.sides[0], self.sides.sides[0].model.records[0]
        if record.task not in self.metric.tasks:
            raise InputError(f"--metric {self.name}: not defined for these runs; the nearest is {self.metric.nearest}")
        for run, scores in self.scores[first.name].items():
            if not self._defined(scores):
                given = first.answers[run]
                why = left_out(given.labels, given.probabilities, record.classes, record.task, ordered=record.ordered)
                reason = why.get(self.metric.name, "only of classes in an order")
                raise InputError(f"--metric {self.name}: not defined on these rows: {reason}")

    def _defined(self, scores: Scores) -> bool:
        return self.metric.name in defined(scores, self.sides.sides[0].model.records[0].task)

    def pairs(self) -> Iterator[Found]:
        """Every two models."""
        self._draw()
        for first, second in itertools.combinations(self.sides.sides, 2):
            pairs = {
                run: both(self.scores[first.name][one], self.scores[second.name][other], self.name)
                for run, one, other in paired(first, second)
            }
            yield self._judged(first, second, pairs, {})

    def by(self, column: str, pairs: Sequence[tuple[Side, Side]] = ()) -> Iterator[Found]:
        """Every two models on the rows of each value of a column; values on which the metric is undefined left out."""
        for first, second in pairs or itertools.combinations(self.sides.sides, 2):
            runs = list(paired(first, second))
            places = _fold_rare({one: self._places(first, one, column) for _, one, _ in runs}, column)
            for value in sorted({value for found in places.values() for value in found}):
                parts = {
                    run: both(
                        taken(first.answers[one], places[one][value]).scores(self.name),
                        taken(second.answers[other], places[one][value]).scores(self.name),
                        self.name,
                    )
                    for run, one, other in runs
                    if value in places[one]
                }
                if not all(self._defined(each.first) and self._defined(each.second) for each in parts.values()):
                    continue
                rows = {run[1]: each.rows for run, each in parts.items()}
                about = {"column": column, "value": value, "n": sum(rows.values())}
                about |= {"first_value": self._mean(parts, "first"), "second_value": self._mean(parts, "second")}
                yield self._judged(first, second, parts, about)

    def _places(self, side: Side, run: Run, column: str) -> dict[str, np.ndarray]:
        """The rows of each value of a column, or of each slice; a row may be in several of these."""
        if column != SLICE or not self.sides.slices:
            return _values(side.answers[run], column)
        found = {name: folds[run[1]] for name, folds in self.sides.slices.items()}
        return {name: rows for name, rows in found.items() if len(rows)}

    def _mean(self, pairs: Mapping[Run, Both], side: str) -> float:
        """The metric of one of the two, over its runs."""
        found = [getattr(each, side) for each in pairs.values()]
        return statistics.fmean(float(self.metric.measure(each, np.ones((1, len(each))))[0]) for each in found)

    def _judged(self, first: Side, second: Side, pairs: Mapping[Run, Both], about: dict[str, Any]) -> Found:
        right = [one_right(each) for each in pairs.values()]
        counts = {"only_first_right": sum(one for one, _ in right), "only_second_right": sum(two for _, two in right)}
        known = {"first": first.name, "second": second.name, "metric": self.name, **about, **counts}
        return known, judge(pairs, self.metric, self.draws)

    def _draw(self) -> None:
        """Of each fold all runs at once, where anything but counts is needed."""
        if self.metric.whole_rows and all(len(side.answers) == 1 for side in self.sides.sides):
            return
        for fold in {fold for _, fold in self.sides.sides[0].answers}:
            self.draws.together(
                [each for found in self.scores.values() for run, each in found.items() if run[1] == fold]
            )

    def summary(self, side: Side) -> dict[str, Any]:
        """The mean over runs, its deviation over seeds, and the interval of the mean over draws of the rows."""
        scores = list(self.scores[side.name].values())
        if self.metric.whole_rows and len(scores) == 1:
            hits = float(scores[0].correct.sum())
            interval = list(share_interval(hits, len(scores[0])))
            return {"mean": hits / len(scores[0]), "deviation": None, "interval": interval}
        found = [self.draws.of(each) for each in scores]
        values = [value for value, _ in found]
        drawn = np.mean([draws for _, draws in found], axis=0)
        ends = np.nanpercentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
        return {
            "mean": statistics.fmean(values),
            "deviation": statistics.stdev(values) if len(values) > 1 else None,
            "interval": [float(end) for end in ends],
        }


def _fold_rare(places: dict[Run, dict[str, np.ndarray]], column: str) -> dict[Run, dict[str, np.ndarray]]:
    """Join the values of a data column that have fewer than `FEWEST` rows; labels and slices stay as they are."""
    if column in ("label", SLICE):
        return places
    folds = {fold: found for (_, fold), found in places.items()}
    rows = Counter[str]()
    for found in folds.values():
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


def _values(answers: Answers, column: str) -> dict[str, np.ndarray]:
    """Value of a column, in words → the places of its rows."""
    if column == "label" and answers.labels.ndim == 1:
        found = np.array(answers.record.classes, object)[answers.labels]
    elif column in answers.columns:
        found = answers.columns[column].astype(str).to_numpy(object)
    else:
        there = ", ".join([*map(str, answers.columns), *["label"] * (answers.labels.ndim == 1)]) or "none"
        raise InputError(f"--by {column}: these rows have no such column; they have {there}")
    values = sorted(set(found))
    if len(values) > MOST_VALUES:
        raise InputError(f"--by {column}: {count(len(values))} values; name a column with at most {MOST_VALUES}")
    return {value: np.flatnonzero(found == value) for value in values}


def _shown(side: Side, measured: Sequence[_Measured]) -> dict[str, Any]:
    record = side.model.records[0]
    return {
        "name": side.name,
        "model": record.preset,
        "mixture": side.model.mixture,
        "runs": [record.run for record in side.model.runs.values()],
        "seeds": side.model.seeds,
        "folds": side.model.folds,
        "metrics": {each.name: each.summary(side) for each in measured},
    }
