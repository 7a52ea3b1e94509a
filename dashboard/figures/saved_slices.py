"""Saved slices (named selections of rows) of a split: a run's metrics on each, as a table with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.error_analysis.slices import FEW
from core.evaluation.intervals import METHOD
from core.exceptions import NotAvailable
from core.formatting import count, number, signed
from core.metrics import format_title
from dashboard.figures.figure import Figure, Source
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import Cell, IntervalColumn, IntervalRow, Mark, Marks, TextCell, make_axis

CLASS = "\x1f"
MOST = 100
TOLD = 2
PARTS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class SavedSlices:
    """Saved slices (named selections of rows) of a split, and the whole split, each with a run's metrics."""

    slices: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any]

    @property
    def first(self) -> str:
        """Return the name of the slice reports' first metric, the share of correctly predicted sentences."""
        return next(iter(self.whole["metrics"]))

    @property
    def second(self) -> str:
        """Return the name of the slice reports' macro F1 metric (it depends on the task)."""
        return next(name for name in self.whole["metrics"] if name.endswith("f1_macro"))


def read_slices(source: Source) -> SavedSlices:
    """Read the saved slices of the shown split with their metrics; NotAvailable: none was saved."""
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    every = source.reader.measure_slices(source.record, source.split, source.author)
    if not (found := [each for each in every if each["split"] == source.split]):
        raise NotAvailable("no slice of these data was saved")
    return SavedSlices(found, source.reader.measure_split(source.record, source.split))


def draw_slice_table(shown: SavedSlices) -> Marks:
    """Build the table of saved slices with intervals: all sentences first; each row unfolds to its classes."""
    every = [shown.whole, *shown.slices]
    unfolds = len(every) * (1 + len(shown.whole["per_class"])) <= MOST
    rows = [_build_row(shown, each, unfolds=unfolds) for each in every]
    drawn = [each.cells for row in rows for each in (row, *row.children)]
    marks = {key: [mark for cells in drawn if isinstance(mark := cells.get(key), Mark)] for key in ("right", "f1")}
    right, f1 = (make_axis(marks[key], ends=(0.0, 1.0)) for key in ("right", "f1"))
    of_class = "; class: recall" if unfolds else ""
    columns = (
        IntervalColumn("name", "Slice", "17rem"),
        IntervalColumn("n", "n", "3.6rem", number=True),
        IntervalColumn("right", f"{format_title(shown.first)}{of_class}", axis=right),
        IntervalColumn("rate", "", "3.4rem", number=True),
        IntervalColumn("others", "vs. others", "5rem", number=True),
        IntervalColumn("f1", f"{format_title(shown.second)}{'; class: F1' if unfolds else ''}", axis=f1),
        IntervalColumn("value", "", "3.4rem", number=True),
    )
    return Marks("Saved slices with the metrics of the run", columns, tuple(rows))


def _build_row(shown: SavedSlices, each: Mapping[str, Any], *, unfolds: bool) -> IntervalRow:
    name, whole = each["name"], each is shown.whole
    small = "" if whole else each["problem"] or (each["said"] if each["n"] else each["lacks"])
    about = f"{name}: {each['said']}. {each['lacks']}"
    cells: dict[str, Cell] = {"name": TextCell("all sentences") if whole else TextCell(name, small=small, title=about)}
    if each["n"] is not None:
        cells["n"] = count(each["n"])
        for metric, mark, text in ((shown.first, "right", "rate"), (shown.second, "f1", "value")):
            cells |= _mark_value(mark, text, each["metrics"][metric], each["intervals"][metric], tie=whole)
        if each["difference"] is not None:
            low, high = (signed(-end, 2) for end in reversed(each["difference_interval"]))
            few = f" Fewer than {FEW} sentences are unreliable." if each["n"] < FEW else ""
            told = f"Other sentences: {number(1 - each['others'], 2)} correct. Difference, 95 %: {low} to {high}.{few}"
            cells["others"] = TextCell(signed(-each["difference"], 2), "few" if few else "", title=told)
    children = _build_class_rows(each) if unfolds and each["n"] else ()
    return IntervalRow(name, cells, children=children, picks=bool(each["n"]) and not whole)


def _build_class_rows(each: Mapping[str, Any]) -> tuple[IntervalRow, ...]:
    rows = []
    for label, found in each["per_class"].items():
        ends = each["per_class_intervals"][label]
        precise = "never predicted"
        if (precision := found["precision"]) is not None:
            precise = "precision {} ({} to {})".format(*(number(each, 2) for each in (precision, *ends["precision"])))
        cells: dict[str, Cell] = {"name": TextCell(label, small=precise), "n": count(found["support"])}
        cells |= _mark_value("right", "rate", found["recall"], ends["recall"], tie=True)
        cells |= _mark_value("f1", "value", found["f1"], ends["f1"], tie=True)
        rows.append(IntervalRow(f"{each['name']}{CLASS}{label}", cells, picks=found["support"] > 0))
    return tuple(rows)


def _mark_value(
    mark: str, text: str, value: float | None, ends: Sequence[float] | None, *, tie: bool
) -> dict[str, Cell]:
    """Return the table cells of a metric: its value as text, and its mark on an axis; empty if undefined."""
    low, high = ends or (None, None)
    return {} if value is None else {mark: Mark(value, low, high, tie=tie), text: number(value)}


def build_slice_table(shown: SavedSlices) -> pd.DataFrame:
    """Return a table with a row for each saved slice: its size, error rate, metrics and interval bounds."""
    rows = []
    for each in shown.slices:
        row = {name: each[name] for name in ("name", "select", "n", "wrong", "rate", "others", "difference")}
        row["difference_low"], row["difference_high"] = each["difference_interval"] or (None, None)
        for metric, value in each["metrics"].items():
            row |= _name_bounds(metric, value, each["intervals"][metric])
        rows.append(row)
    return pd.DataFrame(rows)


def build_class_table(shown: SavedSlices) -> pd.DataFrame:
    """Return the metrics of each class in each saved slice, one row for each class and slice."""
    rows = []
    for each, label, found in ((one, *of) for one in shown.slices for of in one["per_class"].items()):
        row = {"name": each["name"], "class": label, "support": found["support"]}
        for part in PARTS:
            row |= _name_bounds(part, found[part], each["per_class_intervals"][label][part])
        rows.append(row)
    return pd.DataFrame(rows)


def _name_bounds(name: str, value: float | None, ends: Sequence[float] | None) -> dict[str, float | None]:
    low, high = ends or (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _explain_slices(shown: SavedSlices) -> str:
    lacking = [f"“{each['name']}”: {each['lacks']}" for each in shown.slices if each["n"] and each["lacks"]]
    more = [f"{len(lacking) - TOLD} more slices lack a class."] if len(lacking) > TOLD else []
    return " ".join(["Open a row to see its classes. Bars: 95 % intervals.", *lacking[:TOLD], *more])


SAVED: Figure[SavedSlices] = Figure(
    "slices",
    "performance",
    "Slices",
    read_slices,
    lambda shown, look: build_component(draw_slice_table(shown), look, picks=True),
    note=lambda shown: f"{len(shown.slices)} saved, n = {count(shown.whole['n'])}",
    reading=_explain_slices,
    how="Predictions as evaluated; the threshold above has no effect. vs. others: share of correct sentences, minus "
    "that of all other sentences. Rules select the sentences of a slice again for each run; single chosen sentences "
    f"stay the same. Intervals: {METHOD}. Empty: not defined, such as the recall of a class without sentences, or the "
    "precision of a class that is never predicted.",
    tables=lambda shown: {"Slices": build_slice_table(shown), "Slices by class": build_class_table(shown)},
)
