"""Tables with intervals: a name in each row, its interval on one shared axis, the number, and a verdict in words.

They are plain data, drawn by `interval_drawing`; on a page `assets/marks.js` adds keyboard control and selection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from core.formatting import count as count_words

if TYPE_CHECKING:
    import pandas as pd

TICKS = 5  # approximate number of gridlines of an axis
AIR = 0.04  # share of the axis that is free at each end
Span = tuple[float, float]
Value = str | Callable[[Any], Any]
"""How to read a value from an entry: a function, or a path of keys, indices and attributes such as `interval.0`."""


@dataclass(frozen=True)
class Axis:
    """Axis on which a table column draws the values and intervals of all its rows."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    zero: float | None = None  # the tick that means no difference; its line is darker
    band: tuple[float, float] | None = None  # range of differences too small to matter, shaded

    def to_percent(self, value: float) -> float:
        """Convert a value to its position on an axis in percent; a value beyond the axis is put at its end."""
        return min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low)))


@dataclass(frozen=True)
class Mark:
    """Value with its interval, drawn on the axis of a table column; the value or the interval may be missing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None  # ends of the interval; for a difference at the level of its Holm step, as in the verdict
    tie: bool = False  # no clear difference from the reference: a grey bar with a ring
    color: str = ""
    reference: float | None = None  # value of the baseline, drawn as a ring
    dots: tuple[float, ...] = ()  # values of the single runs
    said: str = ""  # text for screen readers and the tooltip; empty: the value and its interval


@dataclass(frozen=True)
class TextCell:
    """Table cell with a text and optionally a style, a second text or a tooltip."""

    text: str
    small: str = ""
    strong: bool = False
    dot: str = ""  # #RRGGBB of a dot before the text: its colour in other figures
    example: str = ""  # a sentence as an example, in quotes and grey
    title: str = ""  # tooltip; empty: the text itself, which a narrow column may cut


Cell = str | TextCell | Mark


@dataclass(frozen=True)
class IntervalColumn:
    """Column of an interval table: its heading, width and style."""

    key: str
    title: str  # empty: screen readers read `key`
    width: str = ""  # CSS width such as `8rem`; empty: the remaining space
    axis: Axis | None = None
    number: bool = False  # right-aligned
    soft: bool = False  # in muted colour
    opt: bool = False  # hidden on narrow pages
    wrap: bool = False  # a text of several lines
    ties: bool = False
    """Has no cells, but the vertical lines that join rows without a clear difference (`Marks.groups`)."""


@dataclass(frozen=True)
class IntervalRow:
    """Row of an interval table, named by its first column."""

    id: str
    cells: Mapping[str, Cell]  # column key → cell; a missing key is an empty cell
    children: tuple[IntervalRow, ...] = ()
    apart: bool = False  # a line above the row separates it
    picks: bool = True
    ticks: bool = True


@dataclass(frozen=True)
class Marks:
    """Interval table with all its cells, ready to draw; at most about a hundred rows."""

    label: str
    columns: tuple[IntervalColumn, ...]
    rows: tuple[IntervalRow, ...]
    groups: tuple[tuple[str, ...], ...] = ()  # ids of rows without a clear difference; a vertical line joins each group
    height: float = 1.95

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all rows of a table with intervals, including the rows hidden until unfolded."""
        return tuple(each.id for row in self.rows for each in (row, *row.children))


def make_axis(
    marks: Sequence[Mark],
    *,
    zero: float | None = None,
    ends: tuple[float, float] | None = None,
    leaves_out: Literal["", "low", "high"] = "",
    signed: bool = False,
) -> Axis:
    """Compute the range, ticks and labels of the axis on which a table column draws its intervals.

    `zero` must be on the axis, with a darker line; `ends` are the least and largest possible value. On the side that
    `leaves_out` names, less than half of the marks are left out if they lie beyond a gap wider than the range of all
    others: the axis ends before the gap, and their numbers are shown at the edge.
    """
    known = ([mark.value, mark.low, mark.high, *mark.dots] for mark in marks if mark.value is not None)
    ends_of = ([each for each in values if each is not None] for values in known)
    spans = sorted(((min(each), max(each)) for each in ends_of), key=sum)
    low, high = _merge_spans(_drop_outliers(spans, leaves_out)) if spans else (0.0, 1.0)
    if zero is not None:
        low, high = min(low, zero), max(high, zero)
    air = AIR * (high - low) or max(0.01, 0.01 * abs(high))
    low, high = low - air, high + air
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple(round(number * step, 10) for number in range(first, last + 1))
    return Axis(low, high, ticks, tuple(_format_tick(tick, step, signed) for tick in ticks), zero)


def _merge_spans(spans: Sequence[Span]) -> Span:
    return min(low for low, _ in spans), max(high for _, high in spans)


def _drop_outliers(spans: Sequence[Span], leaves_out: str) -> Sequence[Span]:
    """Return the sorted intervals, leaving out a minority that lies far away on one side, if there is one."""
    for lost in range(1, (len(spans) + 1) // 2) if leaves_out else ():
        near, far = (spans[lost:], spans[:lost]) if leaves_out == "low" else (spans[:-lost], spans[-lost:])
        (low, high), (lowest, highest) = _merge_spans(near), _merge_spans(far)
        if max(low - highest, lowest - high) > high - low:
            return near
    return spans


def _format_tick(tick: float, step: float, signed: bool) -> str:
    digits = max(0, *(len(f"{each:.10f}".rstrip("0").partition(".")[2]) for each in (tick, step)))
    plus = "+" if signed and tick > 0 else ""
    return "0" if tick == 0 else plus + f"{tick:.{digits}f}".replace("-", "\u2212")


def _get_value(entry: Any, value: Value) -> Any:
    if callable(value):
        return value(entry)
    for part in value.split("."):
        if entry is None:
            return None
        if isinstance(entry, Mapping):
            entry = entry[part]
        else:
            entry = entry[int(part)] if part.isdigit() else getattr(entry, part)
    return entry


@dataclass(frozen=True)
class ColumnSpec:
    """Declaration of a table column: how it is drawn, and which columns it has in the CSV file."""

    csv: Mapping[str, Value]
    column: IntervalColumn | None = None
    cell: Callable[[Any], Cell] = str
    axis: Callable[[Sequence[Mark]], Axis] | None = None


def name(key: str, title: str, cell: Value, width: str = "", *, wrap: bool = False, **csv: Value) -> ColumnSpec:
    """Define a table column of texts on the left, such as the name of each row."""
    return ColumnSpec(csv, IntervalColumn(key, title, width, wrap=wrap), lambda entry: _get_value(entry, cell))


def text(
    key: str, title: str, cell: Value, width: str, *, soft: bool = False, opt: bool = False, **csv: Value
) -> ColumnSpec:
    """Define a table column of numbers on the right, formatted by the function `cell`."""
    column = IntervalColumn(key, title, width, number=True, soft=soft, opt=opt)
    return ColumnSpec(csv, column, lambda entry: _get_value(entry, cell))


def count(key: str, title: str, value: Value, width: str, *, soft: bool = False, csv: str = "") -> ColumnSpec:
    """Define a table column of counts; `csv` is the name of the column in the CSV file."""
    column = IntervalColumn(key, title, width, number=True, soft=soft)
    return ColumnSpec({csv or key: value}, column, lambda entry: count_words(_get_value(entry, value)))


def interval(
    key: str,
    title: str,
    mark: Callable[[Any], Mark],
    axis: Callable[[Sequence[Mark]], Axis],
    width: str = "",
    **csv: Value,
) -> ColumnSpec:
    """Define a table column of values with intervals, all drawn on one axis."""
    return ColumnSpec(csv, IntervalColumn(key, title, width), mark, axis)


def make_csv_columns(*keys: str, **csv: Value) -> ColumnSpec:
    """Define columns that are written to the CSV file but not drawn; `keys` are columns that keep their names."""
    return ColumnSpec({key: key for key in keys} | csv)


@dataclass(frozen=True)
class IntervalTable:
    """A table of numbers with confidence intervals; one list of columns defines both the drawing and the CSV file."""

    label: str
    columns: Sequence[ColumnSpec]  # columns in the order of the drawing and the CSV
    rows: Sequence[Any]
    id: Value
    shown: Sequence[Any] | None = None
    apart: Callable[[Any], bool] = lambda entry: False
    picks: Callable[[Any], bool] = lambda entry: True
    height: float = 1.8

    @property
    def marks(self) -> Marks:
        """Return a table with intervals as the drawing code needs it: all cells written and all axes computed."""
        entries, columns = self.rows if self.shown is None else self.shown, []
        drawn = [(each, each.column) for each in self.columns if each.column]
        cells = {column.key: list(map(each.cell, entries)) for each, column in drawn}
        for each, column in drawn:
            marks = [cell for cell in cells[column.key] if isinstance(cell, Mark)]
            columns.append(replace(column, axis=each.axis(marks)) if each.axis else column)
        first = next((place for place, entry in enumerate(entries) if self.apart(entry)), -1)
        rows = []
        for at, entry in enumerate(entries):
            own = {key: column[at] for key, column in cells.items() if column[at] not in ("", Mark())}
            rows.append(IntervalRow(_get_value(entry, self.id), own, apart=at == first, picks=self.picks(entry)))
        return Marks(self.label, tuple(columns), tuple(rows), height=self.height)

    @property
    def frame(self) -> pd.DataFrame:
        """Return all rows of a table with intervals as a data frame of numbers, as written to the CSV file."""
        import pandas as pd  # the first page shows its heading before pandas is loaded

        csv = {name: value for each in self.columns for name, value in each.csv.items()}
        rows = [{name: _get_value(entry, value) for name, value in csv.items()} for entry in self.rows]
        return pd.DataFrame(rows, columns=[*csv])
