"""Slices that somebody saved: how often a run is wrong in each, as a table of marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.evaluation.intervals import wilson
from core.exceptions import NotAvailable
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.marks import Cell, Column, Mark, Marks, Row, Words, axis
from dashboard.figures.marks_drawing import component
from dashboard.figures.numbers import count, number
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Saved:
    """The slices of a split."""

    slices: Sequence[Mapping[str, Any]]
    """As `core.failures.slices_report.slice_report` gives them, by name."""
    n: int
    """Sentences of the split,"""
    wrong: int
    """and how many of them are wrong."""


def saved(source: Source) -> Saved:
    """Of the split that is shown.

    Raises:
        NotAvailable: none was saved.
    """
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    found = [each for each in source.reader.slices(source.record, source.split) if each["split"] == source.split]
    if not found:
        raise NotAvailable("no slice of these data was saved")
    examples = source.reader.analysis(source.record, source.split, "all")
    return Saved(found, len(examples.table), int(examples.table.wrong.sum()))


def saved_marks(shown: Saved) -> Marks:
    """A row for each, all sentences first."""
    everything = Mark(shown.wrong / shown.n if shown.n else None, *wilson(shown.wrong, shown.n), tie=True)
    marks = [Mark(each["rate"], *(each["interval"] or (None, None))) if each["n"] else Mark() for each in shown.slices]
    cells: dict[str, Cell] = {"name": Words("all sentences"), "rate": everything, "n": count(shown.n)}
    rows = [Row("", {**cells, "wrong": number(everything.value or 0.0)}, picks=False)]
    for each, mark in zip(shown.slices, marks, strict=True):
        said = each["problem"] or each["said"]
        cells = {"name": Words(each["name"], small=said, title=f"{each['name']}: {said}"), "rate": mark}
        if each["n"] is not None:
            cells["n"] = count(each["n"])
        if each["n"]:
            cells["wrong"] = number(each["rate"])
        rows.append(Row(each["name"], cells, picks=bool(each["n"])))
    columns = (
        Column("name", "Slice", "22rem"),
        Column("n", "n", "4rem", number=True),
        Column("rate", "share that is wrong", axis=axis([everything, *marks], ends=(0.0, 1.0))),
        Column("wrong", "wrong", "4.5rem", number=True),
    )
    return Marks("Saved slices and how often the run is wrong in each", columns, tuple(rows))


def saved_table(shown: Saved) -> pd.DataFrame:
    """All numbers."""
    import pandas as pd

    names = ("name", "select", "n", "wrong", "rate")
    return pd.DataFrame([{name: each[name] for name in names} for each in shown.slices])


def _draw(shown: Saved, look: Look) -> Component:
    return component(saved_marks(shown), look, picks=True)


SAVED: Figure[Saved] = Figure(
    "slices",
    "performance",
    "Slices",
    saved,
    _draw,
    note=lambda shown: f"{len(shown.slices)} saved, n = {count(shown.n)}",
    reading="Bars: 95 % interval (Wilson). A slice is a selection with a name, of every run on the same data.",
    how="What the run says as it was evaluated, whatever the threshold above. A slice by rules is asked of each run "
    "anew; one of sentences that were chosen one by one has the same sentences everywhere.",
    tables=lambda shown: {"Slices": saved_table(shown)},
)
