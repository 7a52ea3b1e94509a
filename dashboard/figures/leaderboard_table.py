"""The models of a data set as a table with intervals, and the course of their λ as a line the size of a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.numbers import NARROW, shorten
from core.runs.efficiency import Efficiency
from core.runs.record import SHOWN, RunRecord
from core.runs.seeds import seed_and_fold
from dashboard.figures.curves import Curves
from dashboard.figures.drawing import Node
from dashboard.figures.interval_table import Axis, Cell, Column, Mark, Marks, Picture, Row, Words, axis
from dashboard.figures.leaderboard import YARDSTICK, Board, Entry, reached
from dashboard.figures.numbers import duration, number, plus_minus
from dashboard.figures.theme import Tokens, layer_colour

WIDTH, SPARK, PAD = 68, 28, 4
"""Width, height and inner margin of a line, in pixels."""


def largest_change(series: Sequence[Sequence[float]]) -> float:
    """Return how far a line moves from its start, at most; 0 where none does."""
    return max((abs(value - line[0]) for line in series for value in line), default=0.0)


def sparkline(series: Sequence[Sequence[float]], layers: Sequence[int], tokens: Tokens, top: float) -> Node | None:
    """Draw each line from its own start, or return None where nothing moves."""
    if not largest_change(series):
        return None
    count = max(layers) + 1
    rest = {
        "x": str(PAD),
        "y": "13.5",
        "width": str(WIDTH - 2 * PAD),
        "height": "1",
        "fill": tokens.grid,
    }
    parts: list[Node] = [["rect", rest]]
    for line, layer in zip(series, layers, strict=True):
        step = (WIDTH - 2 * PAD) / max(len(line) - 1, 1)
        points = " ".join(
            f"{PAD + i * step:.1f},{SPARK / 2 - 11 * (value - line[0]) / top:.1f}" for i, value in enumerate(line)
        )
        colour = layer_colour(tokens, layer, count)
        parts.append(["polyline", {"points": points, "fill": "none", "stroke": colour, "stroke-width": "2.2"}])
    return ["svg", {"viewBox": f"0 0 {WIDTH} {SPARK}", "aria-hidden": "true", "class": "spark"}, *parts]


STATUS = {"done": "not on test"}
"""What stands in place of a number; else the status itself."""
HEIGHT = 2.1
"""Of a row, in rem."""
LOPSIDED = " to "
"""Stands between the ends of an interval that is no plus or minus (`dashboard.figures.numbers.plus_minus`)."""


def models_table(board: Board, curves: Mapping[str, Curves], groups: Sequence[Sequence[str]], tokens: Tokens) -> Marks:
    """One row for each model, best first, and those without a result at the end; `curves` by run.

    TF-IDF stands where it would as a model; where it is not the same for all of them, a ring in each row is its own.
    """
    yardstick = None if any(entry.record.preset == YARDSTICK for entry in board.measured) else board.yardstick
    marks = {entry.id: _mark(entry, ring=board.yardstick is None) for entry in board.measured}
    spans = [*marks.values(), Mark(yardstick)]
    shared = axis(spans, leaves_out="low" if board.best_high else "high")
    lambdas = {entry.id: curves[entry.record.run].lambdas for entry in board.entries if entry.record.run in curves}
    top = max((largest_change([*each.values()]) for each in lambdas.values()), default=0.0)
    courses = {entry.id: _draw_lambdas(lambdas.get(entry.id, {}), tokens, top) for entry in board.entries}
    rows = [_row(board, entry, marks.get(entry.id), courses[entry.id]) for entry in board.entries]
    if yardstick is not None:
        ahead = [entry for entry in board.measured if (entry.value > yardstick) == board.best_high]  # type: ignore[operator]
        rows.insert(len(ahead), _tfidf(yardstick))
    columns = _columns(board, shared, ties=bool(groups), courses=any(courses.values()))
    return Marks(f"Models on {board.name}, best first", columns, tuple(rows), tuple(map(tuple, groups)), HEIGHT)


def _columns(board: Board, shared: Axis, *, ties: bool, courses: bool) -> tuple[Column, ...]:
    several = any(len(entry.values) > 1 for entry in board.measured)
    both_ends = any(LOPSIDED in str(_value(entry)) for entry in board.measured)
    wanted = (
        Column("model", "Model", "13.5rem" if board.measured else ""),
        Column("not to be told apart", "", ties=True) if ties else None,
        Column("value", f"{board.title}, test", "12rem" if both_ends else "8.4rem", number=True),
        Column("mark", f"95 % interval{', dots are runs' if several else ''}", axis=shared) if board.measured else None,
        Column("course", "λ", "4.8rem", opt=True) if courses else None,
        Column("seeds", "Seeds", "3.6rem", number=True) if several else None,
        Column("parameters", "Parameters", "5.6rem", number=True, soft=True, opt=True),
        Column("training", "Training", "6.2rem", number=True, soft=True, opt=True),
    )
    return tuple(column for column in wanted if column is not None)


def _row(board: Board, entry: Entry, mark: Mark | None, course: Picture | None) -> Row:
    record, runs = entry.record, list(entry.model.runs.values())
    cells: dict[str, Cell] = {
        "model": Words(entry.model.name, small=_second(entry), strong=mark is not None and entry is board.entries[0]),
        "value": _value(entry),
        **_costs(record),
    }
    if mark is not None:
        cells |= {"mark": mark, "seeds": str(len(entry.values))}
    if course is not None:
        cells["course"] = course
    children = tuple(_child(board, run) for run in runs) if len(runs) > 1 else ()
    without = next((each for each in board.entries if each.value is None), None)
    apart = entry is without and entry is not board.entries[0]
    return Row(entry.id, cells, children, apart=apart, ticks=mark is not None)


def _child(board: Board, record: RunRecord) -> Row:
    """A run of a model of several."""
    value = reached(record, board.metric)
    seed, fold = seed_and_fold(record)
    name = f"seed {seed}" + (f", fold {fold}" if fold >= 0 else "")
    cells: dict[str, Cell] = {"model": Words(name, small=record.run), **_costs(record)}
    if value is not None:
        cells |= {"value": number(value), "mark": Mark(dots=(value,), said=number(value))}
    return Row(record.run, cells)


def _costs(record: RunRecord) -> dict[str, Cell]:
    if record.status != "done":
        return {}
    return {"parameters": size(record.parameters), "training": duration(record.seconds)}


def cost(found: Efficiency) -> str:
    """What a prediction takes, in words; empty before it has been measured here."""
    if found.one is None or found.batch is None or found.memory is None:
        return ""
    each = f"{milliseconds(found.one)} for one text, {milliseconds(found.batch)} each for 64 together"
    return f"{each}, {megabytes(found.memory)} of memory, {megabytes(found.disk)} on disk ({found.where})"


def _tfidf(yardstick: float) -> Row:
    cells: dict[str, Cell] = {
        "model": Words("TF-IDF", small="yardstick"),
        "value": number(yardstick),
        "mark": Mark(yardstick, tie=True, said=f"TF-IDF {number(yardstick)}"),
    }
    return Row("yardstick", cells, picks=False, ticks=False)


def _second(entry: Entry) -> str:
    """What stands behind the name of a model."""
    if entry.record.preset == YARDSTICK:
        return "yardstick"
    preset = "" if entry.record.preset in entry.model.name else entry.record.preset
    return ", ".join(filter(None, (entry.model.mixture, preset)))  # a narrow column may cut the end


def _value(entry: Entry) -> Cell:
    if entry.value is None:
        return Words(STATUS.get(entry.record.status, entry.record.status), title=shorten(entry.record.reason, SHOWN))
    if entry.low is None or entry.high is None:
        return number(entry.value)
    return plus_minus(entry.value, entry.low, entry.high)


def _mark(entry: Entry, ring: bool) -> Mark:
    dots = entry.values if len(entry.values) > 1 else ()
    return Mark(entry.value, entry.low, entry.high, dots=dots, reference=entry.yardstick if ring else None)


def _draw_lambdas(lambdas: Mapping[tuple[int, int], Sequence[float]], tokens: Tokens, top: float) -> Picture | None:
    drawn = sparkline([*lambdas.values()], [layer for layer, _ in lambdas], tokens, top)
    words = f"change of each λ since the start, by layer and component; full height {number(top, 3)}"
    return None if drawn is None else Picture(drawn, words)


def size(parameters: int) -> str:
    """A number of parameters as it stands in a narrow column: `154 k`, `6`, `2.1 M`."""
    if parameters >= 10**6:
        return f"{parameters / 10**6:.1f}{NARROW}M"
    return f"{round(parameters / 1000)}{NARROW}k" if parameters >= 1000 else str(parameters)


def milliseconds(time: float) -> str:
    """`0.84 ms`."""
    return f"{time:.{0 if time >= 100 else 1 if time >= 10 else 2}f}{NARROW}ms"


def megabytes(size: int) -> str:
    """`5.2 MB`."""
    return f"{size / 10**6:.{0 if size >= 10**8 else 1}f}{NARROW}MB"
