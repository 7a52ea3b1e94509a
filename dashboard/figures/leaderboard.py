"""Leaderboards by data set: models from best to worst, averaged over seeds, with a sentence on their order."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.data.config import DataConfig
from core.data.dataset import TEST, Task
from core.formatting import NARROW, format_duration, format_plus_minus, number, shorten_text, signed
from core.metrics import METRICS, TUNED, USUAL, format_title, get_metric, list_metrics
from core.runs.efficiency import Efficiency
from core.runs.record import SHOWN, RunRecord
from core.runs.seed_groups import Model, get_seed_fold, group_runs
from dashboard.figures.display_names import get_data_name
from dashboard.figures.drawing import Node
from dashboard.figures.interval_table import (
    Axis,
    Cell,
    IntervalColumn,
    IntervalRow,
    Mark,
    Marks,
    Picture,
    TextCell,
    make_axis,
)
from dashboard.figures.results import CORPUS, get_nested
from dashboard.figures.theme import Tokens, color_layer
from dashboard.figures.training_log import Curves

YARDSTICK = "tfidf-logreg"


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

    @property
    def measured(self) -> tuple[BoardEntry, ...]:
        """Return the leaderboard models that have a score."""
        return tuple(entry for entry in self.entries if entry.value is not None)

    @property
    def title(self) -> str:
        """Return the title of the leaderboard's metric for display."""
        return format_title(self.metric)

    @property
    def best_high(self) -> bool:
        """Tell whether higher values of the leaderboard's metric are better."""
        return get_metric(self.metric).better == "higher"

    @property
    def yardstick(self) -> float | None:
        """Return the TF-IDF baseline's score if it is the same for all models of a leaderboard; else None."""
        found = {round(entry.yardstick, 9) for entry in self.measured if entry.yardstick is not None}
        return found.pop() if len(found) == 1 else None


def list_boards(records: Iterable[RunRecord], metric: str = "") -> list[Board]:
    """Build a leaderboard for each data set, the one with most models first."""
    groups: dict[DataConfig, list[RunRecord]] = {}
    for record in records:
        if record.status != "damaged":
            groups.setdefault(_get_test_settings(record.config.data), []).append(record)
    names = _name_boards([*groups])
    found = [_build_board(name, metric, group) for name, group in zip(names, groups.values(), strict=True)]
    return sorted(found, key=lambda board: -len(board.measured))


def _get_test_settings(data: DataConfig) -> DataConfig:
    """Return the data settings that determine the test split; runs with equal settings share a leaderboard."""
    known = dataclasses.replace(data, limit=0, fold=0, apart="", add="", add_limit=0, examples="", texts=True)
    if data.name != CORPUS:
        return known
    # The corpus has its own splits: the split rule matters only with `split` or `folds`.
    rule, renamed = data.split_rule if data.split or data.folds else 1, ""
    if data.rename:  # may concern only added data sets
        from core.data.sources.builtin import get_class_names

        own = get_class_names(data.classes)
        renamed = ",".join(f"{old}={new}" for old, new in data.parse_renames().items() if old in own)
    return dataclasses.replace(known, rename=renamed, split_rule=rule)


def _name_boards(several: Sequence[DataConfig]) -> list[str]:
    """Return a name for each leaderboard; if two have the same data set, the names include the settings that differ."""
    names = [get_data_name(data.name) for data in several]
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


def _build_board(name: str, metric: str, records: Sequence[RunRecord]) -> Board:
    task: Task = next(
        (record.task for record in records if record.classes), "single"
    )  # a waiting run does not know its task yet
    chosen = _choose_metric(metric, task)
    entries = [_build_entry(model, chosen) for model in group_runs(records)]
    sign = -1 if get_metric(chosen).better == "higher" else 1
    entries.sort(key=lambda entry: (entry.value is None, sign * (entry.value or 0.0)))
    return Board(name, task, chosen, tuple(entries))


def _choose_metric(metric: str, task: Task) -> str:
    """Return the given metric if it suits a task, else the most similar metric that does."""
    if metric and task not in get_metric(metric).tasks:
        metric = METRICS[metric.removeprefix(TUNED)].nearest
    return metric if metric in list_metrics() and task in get_metric(metric).tasks else USUAL[task][0]


def _build_entry(model: Model, metric: str) -> BoardEntry:
    done = {
        run: record for run, record in model.runs.items() if record.status == "done"
    }  # others have no comparable scores
    known = {run: read_metric(record, metric) for run, record in done.items()}
    found = {run: value for run, value in known.items() if value is not None}
    ranges = {run: tuple(ends) for run in found if (ends := _find_metric(done[run].results, metric, "intervals"))}
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


def describe_order(board: Board, groups: Sequence[Sequence[str]] | None) -> str:
    """Return a sentence on a leaderboard's order; `groups`: models without a clear difference (None: not tested)."""
    measured = board.measured
    if not measured:
        return ""
    best = measured[0].model.name
    if len(measured) == 1:
        return f"{best} is the only tested model."
    if groups is None:
        return f"{best} ranks first of {len(measured)} models."
    tied = next((len(group) for group in groups if measured[0].id in group), 1)
    if tied == len(measured) == 2:
        return f"{best} and {measured[1].model.name} show no clear difference."
    if tied == len(measured):
        return f"No two of the {tied} models show a clear difference."
    rest = f", but the first {tied} show no clear difference" if tied > 1 else ""
    return f"{best} is best of {len(measured)} models{rest}."


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
    how_many = f"{better} of {len(values)} models {'is' if better == 1 else 'are'}"
    how_many = "Every model is" if better == len(values) else how_many
    return f"{how_many} {side}; the best by {best}."


WIDTH, SPARK, PAD = 68, 28, 4


def find_largest_change(series: Sequence[Sequence[float]]) -> float:
    """Return the largest distance of any curve from its first value; 0 if all curves are constant."""
    return max((abs(value - line[0]) for line in series for value in line), default=0.0)


def draw_sparkline(series: Sequence[Sequence[float]], layers: Sequence[int], tokens: Tokens, top: float) -> Node | None:
    """Draw a small chart of λ curves as an SVG node, each relative to its first value; None if all are constant."""
    if not find_largest_change(series):
        return None
    count = max(layers) + 1
    rest = {"x": str(PAD), "y": "13.5", "width": str(WIDTH - 2 * PAD), "height": "1", "fill": tokens.grid}
    parts: list[Node] = [["rect", rest]]
    for line, layer in zip(series, layers, strict=True):
        step = (WIDTH - 2 * PAD) / max(len(line) - 1, 1)
        points = " ".join(
            f"{PAD + i * step:.1f},{SPARK / 2 - 11 * (value - line[0]) / top:.1f}" for i, value in enumerate(line)
        )
        color = color_layer(tokens, layer, count)
        parts.append(["polyline", {"points": points, "fill": "none", "stroke": color, "stroke-width": "2.2"}])
    return ["svg", {"viewBox": f"0 0 {WIDTH} {SPARK}", "aria-hidden": "true", "class": "spark"}, *parts]


STATUS = {"done": "not tested"}  # shown if there is no score; else the status itself
ROW_HEIGHT = 2.1
LOPSIDED = " to "  # between the ends of an asymmetric interval


def build_models_table(
    board: Board, curves: Mapping[str, Curves], groups: Sequence[Sequence[str]], tokens: Tokens
) -> Marks:
    """Build a leaderboard's table with intervals: best model first, models without a result last.

    TF-IDF has the rank that it would have as a model; if its score differs between models, each row has a ring.
    """
    yardstick = None if any(entry.record.preset == YARDSTICK for entry in board.measured) else board.yardstick
    marks = {}
    for entry in board.measured:
        dots = entry.values if len(entry.values) > 1 else ()
        ring = entry.yardstick if board.yardstick is None else None
        marks[entry.id] = Mark(entry.value, entry.low, entry.high, dots=dots, reference=ring)
    spans = [*marks.values(), Mark(yardstick)]
    shared = make_axis(spans, leaves_out="low" if board.best_high else "high")
    lambdas = {entry.id: curves[entry.record.run].lambdas for entry in board.entries if entry.record.run in curves}
    top = max((find_largest_change([*each.values()]) for each in lambdas.values()), default=0.0)
    about = f"change of each λ since the start, by layer and component; full height {number(top, 3)}"
    lines = {
        id: draw_sparkline([*each.values()], [layer for layer, _ in each], tokens, top) for id, each in lambdas.items()
    }
    courses = {id: Picture(line, about) for id, line in lines.items() if line is not None}
    rows = [_build_row(board, entry, marks.get(entry.id), courses.get(entry.id)) for entry in board.entries]
    if yardstick is not None:
        ahead = [entry for entry in board.measured if (entry.value > yardstick) == board.best_high]  # type: ignore[operator]
        told, name = number(yardstick), TextCell("TF-IDF", small="baseline")
        drawn = Mark(yardstick, tie=True, said=f"TF-IDF {told}")
        cells: dict[str, Cell] = {"model": name, "value": told, "mark": drawn}
        rows.insert(len(ahead), IntervalRow("yardstick", cells, picks=False, ticks=False))
    columns = _list_columns(board, shared, ties=bool(groups), courses=bool(courses))
    return Marks(f"Models on {board.name}, best first", columns, tuple(rows), tuple(map(tuple, groups)), ROW_HEIGHT)


def _list_columns(board: Board, shared: Axis, *, ties: bool, courses: bool) -> tuple[IntervalColumn, ...]:
    several = any(len(entry.values) > 1 for entry in board.measured)
    interval = f"95 % interval{', dots: runs' if several else ''}"
    both_ends = any(LOPSIDED in str(_format_value(entry)) for entry in board.measured)
    wanted = (
        IntervalColumn("model", "Model", "13.5rem" if board.measured else ""),
        IntervalColumn("no clear difference", "", ties=True) if ties else None,
        IntervalColumn("value", f"{board.title}, test", "12rem" if both_ends else "8.4rem", number=True),
        IntervalColumn("mark", interval, axis=shared) if board.measured else None,
        IntervalColumn("course", "λ", "4.8rem", opt=True) if courses else None,
        IntervalColumn("seeds", "Seeds", "3.6rem", number=True) if several else None,
        IntervalColumn("parameters", "Parameters", "5.6rem", number=True, soft=True, opt=True),
        IntervalColumn("training", "Training", "6.2rem", number=True, soft=True, opt=True),
    )
    return tuple(column for column in wanted if column is not None)


def _build_row(board: Board, entry: BoardEntry, mark: Mark | None, course: Picture | None) -> IntervalRow:
    record, runs = entry.record, list(entry.model.runs.values())
    preset = "" if record.preset in entry.model.name else record.preset
    small = ", ".join(filter(None, (entry.model.mixture, preset)))  # a narrow column may cut the end
    small = "baseline" if record.preset == YARDSTICK else small
    best = mark is not None and entry is board.entries[0]
    name = TextCell(entry.model.name, small=small, strong=best)
    cells: dict[str, Cell] = {"model": name, "value": _format_value(entry), **_format_costs(record)}
    if mark is not None:
        cells |= {"mark": mark, "seeds": str(len(entry.values))}
    if course is not None:
        cells["course"] = course
    children = tuple(_build_child(board, run) for run in runs) if len(runs) > 1 else ()
    without = next((each for each in board.entries if each.value is None), None)
    apart = entry is without and entry is not board.entries[0]
    return IntervalRow(entry.id, cells, children, apart=apart, ticks=mark is not None)


def _build_child(board: Board, record: RunRecord) -> IntervalRow:
    value = read_metric(record, board.metric)
    seed, fold = get_seed_fold(record)
    name = f"seed {seed}" + (f", fold {fold}" if fold >= 0 else "")
    cells: dict[str, Cell] = {"model": TextCell(name, small=record.run), **_format_costs(record)}
    if value is not None:
        cells |= {"value": number(value), "mark": Mark(dots=(value,), said=number(value))}
    return IntervalRow(record.run, cells)


def _format_costs(record: RunRecord) -> dict[str, Cell]:
    if record.status != "done":
        return {}
    return {"parameters": format_size(record.parameters), "training": format_duration(record.seconds)}


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
