"""What has been trained, by data set: models best first, seeds folded, with what can be said of their order."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.data.config import DataConfig
from core.data.table import TEST, Task
from core.metrics import METRICS, TUNED, USUAL, known_metrics, named, title
from core.runs.record import RunRecord
from core.runs.seeds import Model, folded
from dashboard.figures.naming import data_name
from dashboard.figures.numbers import number, signed
from dashboard.figures.results import CORPUS

YARDSTICK = "tfidf-logreg"
"""The preset that is the yardstick."""


@dataclass(frozen=True)
class Entry:
    """A model of a board."""

    model: Model
    values: tuple[float, ...] = ()
    """Of its finished runs that were measured, by seed and fold."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of their mean: over draws of the test texts, and over seeds where there are several."""
    yardstick: float | None = None

    @property
    def record(self) -> RunRecord:
        """The first of its runs."""
        return self.model.records[0]

    @property
    def id(self) -> str:
        """Of its row: the name of its run; of several a name that no run can have."""
        return self.record.run if len(self.model.runs) == 1 else f"model {self.record.run}"

    @property
    def value(self) -> float | None:
        """The mean over its runs; None where none was measured."""
        return statistics.fmean(self.values) if self.values else None


@dataclass(frozen=True)
class Board:
    """Models that were tested on the same texts."""

    name: str
    task: Task
    metric: str
    """As in records; of several labels perhaps tuned."""
    entries: tuple[Entry, ...]
    """Those that were measured, best first; then the others, newest first."""

    @property
    def measured(self) -> tuple[Entry, ...]:
        """Those with a value."""
        return tuple(entry for entry in self.entries if entry.value is not None)

    @property
    def title(self) -> str:
        """Of the metric."""
        return title(self.metric)

    @property
    def best_high(self) -> bool:
        """Whether more is better."""
        return named(self.metric).better == "higher"

    @property
    def yardstick(self) -> float | None:
        """What TF-IDF reaches where it is the same for all models; they may have been trained on other rows."""
        found = {round(entry.yardstick, 9) for entry in self.measured if entry.yardstick is not None}
        return found.pop() if len(found) == 1 else None


def boards(records: Iterable[RunRecord], metric: str = "") -> list[Board]:
    """Every data set with its models, the one with most models first."""
    groups: dict[DataConfig, list[RunRecord]] = {}
    for record in records:
        if record.status != "damaged":
            groups.setdefault(_tested(record.config.data), []).append(record)
    found = [_board(name, metric, group) for name, group in zip(_names([*groups]), groups.values(), strict=True)]
    return sorted(found, key=lambda board: -len(board.measured))


def _tested(data: DataConfig) -> DataConfig:
    """The settings on which the test split depends; runs of which these are equal share a board."""
    known = dataclasses.replace(data, limit=0, fold=0, apart="", add="", add_limit=0, examples="", texts=True)
    if data.name != CORPUS:
        return known
    # The corpus comes in splits: without `split` or `folds` no rule cuts it.
    rule = data.split_rule if data.split or data.folds else 1
    return dataclasses.replace(known, rename=_own(data) if data.rename else "", split_rule=rule)


def _own(data: DataConfig) -> str:
    """What renames labels of the built-in corpus itself, and not only those of sets that were added to it."""
    from core.data.sources.builtin import class_names

    own = class_names(data.classes)
    return ",".join(f"{old}={new}" for old, new in data.renamed().items() if old in own)


def _names(several: Sequence[DataConfig]) -> list[str]:
    """What each is called; with the settings that tell it apart where two share a name."""
    names = [data_name(data.name) for data in several]
    told = []
    for name, data in zip(names, several, strict=True):
        others = [vars(other) for other, each in zip(several, names, strict=True) if each == name and other != data]
        apart = [
            f"{key}={value}"
            for key, value in vars(data).items()
            if key != "name" and value != "" and any(each[key] != value for each in others)
        ]
        told.append(", ".join([name, *apart]))
    return told


def _board(name: str, metric: str, records: Sequence[RunRecord]) -> Board:
    task: Task = next((record.task for record in records if record.classes), "single")  # who waits does not know yet
    chosen = _metric(metric, task)
    entries = [_entry(model, chosen) for model in folded(records)]
    measured = [(entry.value, entry) for entry in entries if entry.value is not None]
    measured.sort(key=lambda each: each[0], reverse=named(chosen).better == "higher")
    others = [entry for entry in entries if entry.value is None]
    return Board(name, task, chosen, (*(entry for _, entry in measured), *others))


def _metric(metric: str, task: Task) -> str:
    """The metric itself where this task has it, else the nearest that it has."""
    if metric and task not in named(metric).tasks:
        metric = METRICS[metric.removeprefix(TUNED)].nearest
    return metric if metric in known_metrics() and task in named(metric).tasks else USUAL[task][0]


def _entry(model: Model, metric: str) -> Entry:
    done = {run: record for run, record in model.runs.items() if record.status == "done"}  # others cannot be compared
    known = {run: reached(record, metric) for run, record in done.items()}
    found = {run: value for run, value in known.items() if value is not None}
    ranges = {run: ends for run in found if (ends := _range(done[run], metric)) is not None}
    yardstick, values = reached_by_yardstick(model.records[0], metric), tuple(found.values())
    if not values or len(ranges) < len(values):
        return Entry(model, values, yardstick=yardstick)
    from core.evaluation.intervals import over_runs  # NumPy: the page shows its head before that

    return Entry(model, values, *over_runs(found, ranges, named(metric).range), yardstick)


def reached(record: RunRecord, metric: str) -> float | None:
    """A metric of a run on test; None where it has not been measured."""
    tree, name = _tree(record.results, metric)
    value = at(tree, "metrics", TEST, name)
    return value if isinstance(value, (int, float)) else None


def _range(record: RunRecord, metric: str) -> tuple[float, float] | None:
    tree, name = _tree(record.results, metric)
    found = at(tree, "intervals", TEST, name)
    return (found[0], found[1]) if found else None


def reached_by_yardstick(record: RunRecord, metric: str) -> float | None:
    """What TF-IDF reached on the data of a run."""
    tree, name = _tree(at(record.results, "yardstick"), metric)
    value = at(tree, "splits", TEST, name)
    return value if isinstance(value, (int, float)) else None


def _tree(results: Any, metric: str) -> tuple[Any, str]:
    """Where a metric lies: beside the others, or among those at tuned thresholds."""
    name = metric.removeprefix(TUNED)
    return (at(results, "tuned") if name != metric else results), name


def at(tree: Any, *path: str) -> Any:
    """What lies at the end of a path of keys; None where it ends early."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def metric_names(records: Iterable[RunRecord]) -> dict[str, str]:
    """What models can be ordered by, title → name; first the usual of each task, which has an empty name."""
    tasks: set[Task] = {record.task for record in records if record.status == "done"} or {"single"}
    first = " or ".join(title(USUAL[task][0]) for task in USUAL if task in tasks)
    found = {name for record in records for name in at(record.results, "metrics", TEST) or {}}
    tuned = {f"{TUNED}{name}" for record in records for name in at(record.results, "tuned", "metrics", TEST) or {}}
    titles = {title(name): name for name in known_metrics() if name in found | tuned}
    return {first: ""} | {each: name for each, name in titles.items() if each != first}


def finding(board: Board, groups: Sequence[Sequence[str]] | None) -> str:
    """What the order says, in a sentence; `groups` are rows that cannot be told apart, None while that is not known."""
    measured = board.measured
    if not measured:
        return ""
    best = measured[0].model.name
    if len(measured) == 1:
        return f"{best} is the only model that was tested."
    if groups is None:
        return f"{best} comes first of {len(measured)}."
    tied = next((len(group) for group in groups if measured[0].id in group), 1)
    if tied == len(measured) == 2:
        return f"{best} and {measured[1].model.name} cannot be told apart."
    if tied == len(measured):
        return f"No two of the {tied} models can be told apart."
    rest = f", but the first {tied} cannot be told apart" if tied > 1 else ""
    return f"{best} is best of {len(measured)}{rest}."


def against_yardstick(board: Board) -> str:
    """Where the models stand next to TF-IDF, in a sentence; empty where nothing can be said."""
    limit = board.yardstick
    measured = [entry for entry in board.measured if entry.record.preset != YARDSTICK]
    if limit is None or not measured:
        return ""
    values = [entry.value for entry in measured if entry.value is not None]
    better = sum((value > limit) == board.best_high and value != limit for value in values)
    best = signed(values[0] - limit, 3)
    if len(values) == 1:
        return f"TF-IDF reaches {number(limit)}; the difference is {best}."
    side = f"{'above' if board.best_high else 'below'} TF-IDF ({number(limit)})"
    if not better:
        return f"None of the {len(values)} models is {side}."
    how_many = "Every model is" if better == len(values) else f"{better} of {len(values)} models {_are(better)}"
    return f"{how_many} {side}; the best by {best}."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
