"""Leaderboards by data set: models from best to worst, averaged over seeds, with a sentence on their order."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.data.config import DataConfig
from core.data.dataset import TEST, Task
from core.formatting import NARROW, format_duration, format_plus_minus, number, shorten_text, signed
from core.metrics import METRICS, TUNED, USUAL, format_title, get_metric, list_metrics
from core.models.model_description import describe_addition
from core.runs.efficiency import Efficiency
from core.runs.record import LINEAGE, SHOWN, RunRecord
from core.runs.run_names import Model, RunName, get_seed_fold, group_runs
from core.runs.store import STARTER
from dashboard.figures.interval_table import Axis, Cell, IntervalColumn, IntervalRow, Mark, Marks, TextCell, make_axis
from dashboard.figures.results import CORPUS, get_data_name, get_nested

YARDSTICK = "tfidf-logreg"
EMPTY: Mapping[str, RunName] = {}
SHORTENED = 3  # rows of the built-in corpus if there is also an own data set
STATUS = {"done": "not tested"}  # shown if there is no score; else the status itself
ROW_HEIGHT = 2.1
LOPSIDED = " to "  # between the ends of an asymmetric interval


@dataclass(frozen=True)
class BoardEntry:
    """Model on a leaderboard, with its scores over seeds and folds."""

    model: Model
    values: tuple[float, ...] = ()  # score of each finished and measured run, by seed and fold
    low: float | None = None
    high: float | None = None
    """The 95 % interval of their mean, over resampled test texts and, if there are several, over seeds."""
    yardstick: float | None = None

    @property
    def record(self) -> RunRecord:
        """Return the first run of a leaderboard model."""
        return self.model.records[0]

    def compute_mean(self, metric: str) -> float | None:
        """Return the mean of a recorded metric over the runs of a leaderboard model; None if a run lacks it."""
        found = [read_metric(record, metric) for record in self.model.records if record.status == "done"]
        known = [each for each in found if each is not None]
        return statistics.fmean(known) if known and len(known) == len(found) else None

    @property
    def id(self) -> str:
        """Return the id of a leaderboard row: the run's name, or for several runs an id that is never a run's name."""
        return self.record.run if len(self.model.runs) == 1 else f"model {self.record.run}"

    @property
    def value(self) -> float | None:
        """Return the mean score of a leaderboard model over its runs; None if none was measured."""
        return statistics.fmean(self.values) if self.values else None


@dataclass(frozen=True)
class Board:
    """Leaderboard of models that were tested on the same texts."""

    name: str
    task: Task
    metric: str
    entries: tuple[BoardEntry, ...]  # measured models, best first; then the others, newest first
    whole: bool = True  # whether it has all models of its data set (`shorten_board`)

    @property
    def measured(self) -> tuple[BoardEntry, ...]:
        """Return the leaderboard models that have a score."""
        return tuple(entry for entry in self.entries if entry.value is not None)

    @property
    def built_in(self) -> bool:
        """Tell whether a leaderboard is of the built-in corpus."""
        return self.entries[0].record.config.data.name == CORPUS

    @property
    def title(self) -> str:
        """Return the title of the leaderboard's metric for display."""
        return format_title(self.metric)

    @property
    def beside(self) -> dict[str, str]:
        """Return metric → title of the scores shown beside the leaderboard's own metric."""
        macro = {"accuracy": "Accuracy", "f1_macro": "F1", "recall_macro": "Recall"}  # means over the classes
        return {name: title for name, title in macro.items() if self.task == "single" and name != self.metric}

    @property
    def best_high(self) -> bool:
        """Tell whether higher values of the leaderboard's metric are better."""
        return get_metric(self.metric).better == "higher"

    @property
    def yardstick(self) -> float | None:
        """Return the TF-IDF baseline's score if it is the same for all models of a leaderboard; else None."""
        known = self.measured if self.whole else ()
        found = {round(entry.yardstick, 9) for entry in known if entry.yardstick is not None}
        return found.pop() if len(found) == 1 else None


def list_boards(records: Iterable[RunRecord], metric: str = "") -> list[Board]:
    """Build a leaderboard for each data set: own data first, then the one with most models."""
    groups: dict[DataConfig, list[RunRecord]] = {}
    for record in records:
        if record.status != "damaged":
            groups.setdefault(_get_test_settings(record), []).append(record)
    names = _name_boards([*groups])
    found = [_build_board(name, metric, group) for name, group in zip(names, groups.values(), strict=True)]
    return sorted(found, key=lambda board: (board.built_in, -len(board.measured)))


def shorten_board(board: Board) -> Board:
    """Return a leaderboard with its best starter models and all own runs."""
    own = {entry.id for entry in board.entries if not entry.record.run.startswith(STARTER)}
    best = {entry.id for entry in board.measured[:SHORTENED]}
    return replace(board, entries=tuple(each for each in board.entries if each.id in own | best), whole=False)


def _get_test_settings(record: RunRecord) -> DataConfig:
    """Return the data settings that determine the test split; runs with equal settings share a leaderboard."""
    data = record.config.data
    # The setting has paths; what matters is whether rows were left out that a start or teacher had learned.
    lineage = "learned rows left out" if any(each.startswith(f"{LINEAGE}: ") for each in record.data_notes) else ""
    known = replace(data, limit=0, fold=0, apart="", add="", add_limit=0, examples="", texts=True, lineage=lineage)
    if data.name != CORPUS:
        return known
    # The corpus has its own splits: the split rule matters only with `split` or `folds`.
    rule, renamed = data.split_rule if data.split or data.folds else 1, ""
    if data.rename:  # may concern only added data sets
        from core.data.sources.builtin.corpus_files import get_class_names

        own = get_class_names(data.classes)
        renamed = ",".join(f"{old}={new}" for old, new in data.parse_renames().items() if old in own)
    return replace(known, rename=renamed, split_rule=rule)


def _name_boards(several: Sequence[DataConfig]) -> list[str]:
    """Return a name for each leaderboard; if two have the same data set, the names include the settings that differ."""
    told, names = [], [get_data_name(data.name) for data in several]
    for name, data in zip(names, several, strict=True):
        others = [vars(other) for other, each in zip(several, names, strict=True) if each == name and other != data]
        known = {key: value for key, value in vars(data).items() if key != "name" and value != ""}
        apart = (f"{key}={value}" for key, value in known.items() if any(each[key] != value for each in others))
        told.append(", ".join([name, *apart]))
    return told


def _build_board(name: str, metric: str, records: Sequence[RunRecord]) -> Board:
    # a waiting run does not know its task yet
    task: Task = next((record.task for record in records if record.classes), "single")
    if metric and task not in get_metric(metric).tasks:
        metric = METRICS[metric.removeprefix(TUNED)].nearest
    if metric not in list_metrics() or task not in get_metric(metric).tasks:
        metric = USUAL[task][0]
    entries = [_build_entry(model, metric) for model in group_runs(records)]
    sign = -1 if get_metric(metric).better == "higher" else 1
    entries.sort(key=lambda entry: (entry.value is None, sign * (entry.value or 0.0)))
    return Board(name, task, metric, tuple(entries))


def _build_entry(model: Model, metric: str) -> BoardEntry:
    # unfinished runs have no comparable scores
    known = {run: read_metric(record, metric) for run, record in model.runs.items() if record.status == "done"}
    found = {run: value for run, value in known.items() if value is not None}
    every = {run: _find_metric(model.runs[run].results, metric, "intervals") for run in found}
    ranges = {run: tuple(ends) for run, ends in every.items() if ends}
    yardstick = _as_number(_find_metric(get_nested(model.records[0].results, "yardstick"), metric, "splits"))
    if not found or len(ranges) < len(found):
        return BoardEntry(model, tuple(found.values()), yardstick=yardstick)
    from core.evaluation.intervals import pool_intervals  # loads NumPy; the page shows its heading before that

    return BoardEntry(model, tuple(found.values()), *pool_intervals(found, ranges, get_metric(metric).range), yardstick)


def read_metric(record: RunRecord, metric: str, split: str = TEST) -> float | None:
    """Return a run's recorded metric on a split; None if it has not been measured."""
    return _as_number(_find_metric(record.results, metric, "metrics", split))


def _find_metric(results: Any, metric: str, kind: str, split: str = TEST) -> Any:
    """Return a run's recorded metric on a split by name; the prefix `tuned.` asks for the score at tuned thresholds."""
    name = metric.removeprefix(TUNED)
    return get_nested(get_nested(results, "tuned") if name != metric else results, kind, split, name)


def _as_number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) else None


def list_board_metrics(records: Iterable[RunRecord]) -> dict[str, str]:
    """Return the metrics that can sort a leaderboard, as title → name; first the default, whose name is empty."""
    tasks: set[Task] = {record.task for record in records if record.status == "done"} or {"single"}
    first = " or ".join(format_title(USUAL[task][0]) for task in USUAL if task in tasks)
    found = {name for record in records for name in get_nested(record.results, "metrics", TEST) or {}}
    tuned = {f"{TUNED}{name}" for each in records for name in get_nested(each.results, "tuned", "metrics", TEST) or {}}
    titles = {format_title(name): name for name in list_metrics() if name in found | tuned}
    return {first: ""} | {each: name for each, name in titles.items() if each != first}


def describe_order(
    board: Board, groups: Sequence[Sequence[str]] | None, names: Mapping[str, RunName] = EMPTY, kind: str = "models"
) -> str:
    """Return a sentence on a leaderboard's order; `groups`: models without a clear difference (None: not tested)."""
    measured = board.measured
    if not measured:
        return ""

    def label_entry(entry: BoardEntry) -> str:
        known = names.get(entry.model.name)
        return entry.model.name if known is None else known.text

    best, first, limit = label_entry(measured[0]), measured[0].value, board.yardstick
    above = first is None or limit is None or (first > limit if board.best_high else first < limit)
    below = "" if above or measured[0].record.preset == YARDSTICK else ", but does not beat TF-IDF"
    if len(measured) == 1:
        return f"{best} is the only tested model{below}."
    if groups is None:
        return f"{best} ranks first of {len(measured)} {kind}."
    group = next((group for group in groups if measured[0].id in group), (measured[0].id,))
    if any(each.record.preset == YARDSTICK and each.id in group for each in measured):
        return "No model is clearly better than TF-IDF."
    if len(group) == len(measured) == 2:
        return f"{best} and {label_entry(measured[1])} show no clear difference."
    if len(group) == len(measured):
        return f"No two of the {len(group)} {kind} show a clear difference."
    rest = f", but the first {len(group)} show no clear difference" if len(group) > 1 else below
    return f"{best} is the best of {len(measured)} {kind}{rest}."


def compare_baseline(board: Board) -> str:
    """Describe in a sentence how many leaderboard models beat TF-IDF, and by how much; empty if this is unknown."""
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
    some = f"{better} of {len(values)} models {'is' if better == 1 else 'are'}"
    return f"{'Every model is' if better == len(values) else some} {side}; the best by {best}."


def build_models_table(board: Board, groups: Sequence[Sequence[str]], names: Mapping[str, RunName] = EMPTY) -> Marks:
    """Build a leaderboard's table with intervals: best model first, models without a result last.

    TF-IDF has the rank that it would have as a model; if its score differs between models, each row has a ring.
    `names`: how each run is called where people read it, by its id.
    """
    yardstick = None if any(entry.record.preset == YARDSTICK for entry in board.measured) else board.yardstick
    marks, rings = {}, board.whole and board.yardstick is None
    for entry in board.measured:
        dots, ring = entry.values if len(entry.values) > 1 else (), entry.yardstick if rings else None
        marks[entry.id] = Mark(entry.value, entry.low, entry.high, dots=dots, reference=ring)
    shared = make_axis([*marks.values(), Mark(yardstick)], leaves_out="low" if board.best_high else "high")
    rows = [_build_row(board, entry, marks.get(entry.id), names) for entry in board.entries]
    if yardstick is not None:
        ahead = [entry for entry in board.measured if (entry.value > yardstick) == board.best_high]  # type: ignore[operator]
        told = number(yardstick)
        cells: dict[str, Cell] = {"model": TextCell("TF-IDF", small="baseline"), "value": told}
        cells |= {"95 % interval": Mark(yardstick, tie=True, said=f"TF-IDF {told}")}
        rows.insert(len(ahead), IntervalRow("yardstick", cells, picks=False, ticks=False))
    columns = _list_columns(board, shared, ties=bool(groups))
    return Marks(f"Models on {board.name}, best first", columns, tuple(rows), tuple(map(tuple, groups)), ROW_HEIGHT)


def _list_columns(board: Board, shared: Axis, *, ties: bool) -> tuple[IntervalColumn, ...]:
    both_ends = any(LOPSIDED in str(_format_value(entry)) for entry in board.measured)
    wanted = (
        IntervalColumn("model", "Model"),
        IntervalColumn("no clear difference", "", ties=True) if ties else None,
        IntervalColumn("value", board.title, "12rem" if both_ends else "8.4rem", number=True),
        IntervalColumn("95 % interval", "", "25%", axis=shared) if board.measured else None,
        *(
            IntervalColumn(name, title, "4.2rem", number=True, soft=True, opt=True)
            for name, title in board.beside.items()
        ),
        IntervalColumn("parameters", "Parameters", "5.6rem", number=True, soft=True, opt=True),
        IntervalColumn("training", "Training", "6.2rem", number=True, soft=True, opt=True),
    )
    return tuple(column for column in wanted if column is not None)


def _build_row(board: Board, entry: BoardEntry, mark: Mark | None, names: Mapping[str, RunName]) -> IntervalRow:
    record, runs = entry.record, list(entry.model.runs.values())
    name, note = (known.name, known.note) if (known := names.get(entry.model.name)) else (entry.model.name, "")
    several = f"{len(runs)} {'folds' if entry.model.folds else 'seeds'}" if len(runs) > 1 else ""
    kind = "TF-IDF baseline" if record.preset == YARDSTICK else describe_addition(record.config.model)
    small = " · ".join(filter(None, (several, note, entry.model.mixture, kind)))
    cells: dict[str, Cell] = {"model": TextCell(name, small=small, strong=entry is board.entries[0])}
    means = {name: entry.compute_mean(name) for name in board.beside}
    cells |= {name: number(mean) for name, mean in means.items() if mean is not None}
    cells |= {"value": _format_value(entry), **_format_costs(record)} | ({"95 % interval": mark} if mark else {})
    children = tuple(_build_child(board, run) for run in runs) if len(runs) > 1 else ()
    without = next((each for each in board.entries if each.value is None), None)
    apart = entry is without and entry is not board.entries[0]
    return IntervalRow(entry.id, cells, children, apart=apart, ticks=mark is not None)


def _build_child(board: Board, record: RunRecord) -> IntervalRow:
    value = read_metric(record, board.metric)
    seed, fold = get_seed_fold(record)
    name = f"seed {seed}" + (f", fold {fold}" if fold >= 0 else "")
    cells: dict[str, Cell] = {"model": TextCell(name), **_format_costs(record)}
    if value is not None:
        cells |= {"value": number(value), "95 % interval": Mark(dots=(value,), said=number(value))}
    return IntervalRow(record.run, cells)


def _format_costs(record: RunRecord) -> dict[str, Cell]:
    if record.status != "done":
        return {}
    training = "" if record.from_outside else format_duration(record.seconds)
    return {"parameters": format_size(record.parameters), "training": training}


def describe_cost(found: Efficiency) -> str:
    """Describe the measured time and memory of a model's prediction; empty if not measured on this machine."""
    if found.one is None or found.batch is None or found.memory is None:
        return ""
    each = f"{format_ms(found.one)} for one text, {format_ms(found.batch)} per text in a batch of 64"
    return f"{each}, {format_mb(found.memory)} of memory, {format_mb(found.disk)} on disk ({found.where})"


def _format_value(entry: BoardEntry) -> Cell:
    if entry.value is None:
        status = entry.record.status
        return TextCell(STATUS.get(status, status), title=shorten_text(entry.record.reason, SHOWN))
    return format_plus_minus(entry.value, entry.low, entry.high)


def format_size(parameters: int) -> str:
    """Format a number of parameters for a narrow column: `154 k`, `6`, `2.1 M`."""
    if parameters >= 10**6:
        return f"{parameters / 10**6:.1f}{NARROW}M"
    return f"{round(parameters / 1000)}{NARROW}k" if parameters >= 1000 else str(parameters)


def format_ms(time: float) -> str:
    """Format a time in milliseconds, such as `0.84 ms`."""
    return f"{time:.{0 if time >= 100 else 1 if time >= 10 else 2}f}{NARROW}ms"


def format_mb(size: int) -> str:
    """Format a number of bytes in megabytes, such as `5.2 MB`."""
    return f"{size / 10**6:.{0 if size >= 10**8 else 1}f}{NARROW}MB"
