"""On which sentences two models differ: by phenomenon, slice or a column of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.evaluation.comparison import better
from core.exceptions import InputError, NotAvailable
from core.metrics import named, title
from core.runs.comparison import by_column
from core.runs.sides import SLICE
from dashboard.figures.comparing import (
    METRIC,
    PAIR,
    chosen_pair,
    ends_words,
    letter_of,
    p_words,
    tests_frame,
)
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Cell, Column, Mark, Marks, Row, Words, axis
from dashboard.figures.numbers import count, number, signed
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look


def _columns(source: Source) -> list[str]:
    own = source.sides.columns
    return [*own, *([SLICE] if SLICE not in own and source.reader.kept_slices(source.record) else [])]


def _of_slices(source: Source) -> bool:
    return str(source.chosen(BY)) == SLICE and SLICE not in source.sides.columns


def _version(source: Source) -> str:
    """Slices and codes change while nothing of the runs does."""
    return f" {source.reader.slices_version(source.record)} {source.author}" if _of_slices(source) else ""


def can_be_chosen(source: Source) -> bool:
    """Whether there is more than one."""
    return len(_columns(source)) > 1


def _first_column(source: Source) -> str:
    """Return the data column with the fewest values of which each has `ENOUGH` rows; without one the label."""
    names = _columns(source)
    columns = next(iter(source.sides.sides[0].answers.values())).columns
    rows = {str(name): column.astype(str).value_counts() for name, column in columns.items() if str(name) in names}
    sound = [name for name, each in rows.items() if each.min() >= ENOUGH]
    if sound:
        return min(sound, key=lambda name: len(rows[name]))
    return "label" if "label" in names else next(iter(names), "")


ENOUGH = 30
"""Rows of a value that say something of it."""
BY = Option(
    "by", "By", _columns, "A column of the data, the label, or the saved slices", usual=_first_column, version=_version
)


@dataclass(frozen=True, eq=False)
class Where:
    """Two models on the rows of each value of a column."""

    column: str
    metric: str
    letters: tuple[str, str]
    tests: Sequence[Mapping[str, Any]]
    """As `core.runs.comparison.by_column` gives them, the largest difference first."""
    left_out: Sequence[str] = ()
    """Slices that the two cannot be compared by, and why."""


def _read(source: Source) -> Where:
    if not _columns(source):
        raise NotAvailable("these data have no column with a few values, and no saved slices")
    first, second = chosen_pair(source)
    column, metric, sides = str(source.chosen(BY)), str(source.chosen(METRIC)), source.sides
    if _of_slices(source):
        try:
            sides = source.reader.sliced(replace(sides, sides=(first, second), notes=()), source.author)
        except InputError as error:
            raise NotAvailable(str(error).removeprefix("--by slice: ")) from error
    found = by_column(sides, first, second, metric, column)
    if not found:
        raise NotAvailable(f"{title(metric)} is not defined on the sentences of any value of {column}")
    ordered = sorted(found, key=lambda test: -test["difference"])
    letters = letter_of(source, first), letter_of(source, second)
    return Where(column, metric, letters, ordered, sides.notes if _of_slices(source) else ())


def where_table(shape: Where) -> Marks:
    """A row for each value."""
    marks, rows = [], []
    for test in shape.tests:
        low, high = test["interval"] or (None, None)
        winner = better(test)
        ends = ends_words(test["interval"])
        said = f"{test['value']}: {signed(test['difference'], 3)}{ends}, p after Holm {p_words(test['p_holm'])}"
        marks.append(Mark(test["difference"], low, high, tie=not winner, said=said))
        cells: dict[str, Cell] = {
            "value": Words(test["value"], strong=bool(winner)),
            "n": count(test["n"]),
            "first": number(test["first_value"], 2),
            "second": number(test["second_value"], 2),
            "difference": signed(test["difference"]),
            "interval": marks[-1],
        }
        rows.append(Row(test["value"], cells))
    one, other = shape.letters
    left, right = (other, one) if named(shape.metric).better == "higher" else (one, other)
    columns = (
        Column("value", shape.column.capitalize(), "10.5rem"),
        Column("n", "n", "3.6rem", number=True, soft=True),
        Column("first", one, "3.2rem", number=True, soft=True),
        Column("second", other, "3.2rem", number=True, soft=True),
        Column("difference", "", "4rem", number=True),
        Column("interval", f"‹ {left} better · {right} better ›", axis=axis(marks, zero=0.0, signed=True)),
    )
    return Marks(f"Differences by {shape.column}", columns, tuple(rows), height=1.75)


def _draw(shape: Where, look: Look) -> Component:
    return component(where_table(shape), look)


def _reading(shape: Where) -> str:
    sure = sum(bool(better(test)) for test in shape.tests)
    words = f"{shape.letters[0]} and {shape.letters[1]} differ on {sure or 'none'} of {len(shape.tests)} values"
    lacking = "".join(f" {note[:1].upper()}{note[1:]}." for note in shape.left_out)
    return f"{words} after Holm's correction; a ring on grey is a tie.{lacking}"


WHERE = Figure(
    "compare-where",
    "compare",
    "Where they differ",
    _read,
    _draw,
    note=lambda shape: f"{shape.letters[0]} − {shape.letters[1]} by {shape.column}, {title(shape.metric).lower()}",
    reading=_reading,
    how=(
        "The same test as of the pair, on the sentences of each value alone. Holm's correction allows for how many "
        "values there are, and each interval is drawn at the level of its step."
    ),
    options=(METRIC, PAIR, BY),
    tables=lambda shape: {"Where": tests_frame(shape.tests)},
    sizes=lambda shape: {test["value"]: test["n"] for test in shape.tests},
)
