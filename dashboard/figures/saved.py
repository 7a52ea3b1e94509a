"""Saved slices: the metrics of a run in each, as a table of marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.evaluation.intervals import METHOD
from core.exceptions import NotAvailable
from core.failures.slices import FEW
from core.metrics import title
from core.numbers import count, number, signed
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Cell, Column, Mark, Marks, Row, Words, axis
from dashboard.figures.source import Source

CLASS = "\x1f"
MOST = 100
TOLD = 2
PARTS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Saved:
    """The slices of a split and all its sentences, as `core.failures.slices.slice_report` gives them."""

    slices: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any]

    @property
    def first(self) -> str:
        """Return the name of the share of sentences that are right."""
        return next(iter(self.whole["metrics"]))

    @property
    def second(self) -> str:
        """Return the name of the macro F1."""
        return next(name for name in self.whole["metrics"] if name.endswith("f1_macro"))


def saved(source: Source) -> Saved:
    """Read the slices of the split that is shown; NotAvailable: none was saved."""
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    every = source.reader.slices(source.record, source.split, source.author)
    found = [each for each in every if each["split"] == source.split]
    if not found:
        raise NotAvailable("no slice of these data was saved")
    return Saved(found, source.reader.whole(source.record, source.split))


def saved_marks(shown: Saved) -> Marks:
    """Return a row for each slice, all sentences first; each unfolds to its classes."""
    every = [shown.whole, *shown.slices]
    unfolds = len(every) * (1 + len(shown.whole["per_class"])) <= MOST
    rows = [_row(shown, each, unfolds=unfolds) for each in every]
    drawn = [each.cells for row in rows for each in (row, *row.children)]
    marks = {key: [mark for cells in drawn if isinstance(mark := cells.get(key), Mark)] for key in ("right", "f1")}
    of_class = "; of a class its recall" if unfolds else ""
    columns = (
        Column("name", "Slice", "17rem"),
        Column("n", "n", "3.6rem", number=True),
        Column("right", f"{title(shown.first)}{of_class}", axis=axis(marks["right"], ends=(0.0, 1.0))),
        Column("rate", "", "3.4rem", number=True),
        Column("others", "− others", "5rem", number=True),
        Column(
            "f1",
            f"{title(shown.second)}{'; of a class its own' if unfolds else ''}",
            axis=axis(marks["f1"], ends=(0.0, 1.0)),
        ),
        Column("value", "", "3.4rem", number=True),
    )
    return Marks("Saved slices and how good the run is in each", columns, tuple(rows))


def _row(shown: Saved, each: Mapping[str, Any], *, unfolds: bool) -> Row:
    name, whole = each["name"], each is shown.whole
    small = "" if whole else each["problem"] or (each["said"] if each["n"] else each["lacks"])
    about = f"{name}: {each['said']}. {each['lacks']}"
    cells: dict[str, Cell] = {"name": Words("all sentences") if whole else Words(name, small=small, title=about)}
    if each["n"] is not None:
        cells["n"] = count(each["n"])
        for metric, mark, text in ((shown.first, "right", "rate"), (shown.second, "f1", "value")):
            cells |= _measure(mark, text, each["metrics"][metric], each["intervals"][metric], tie=whole)
        if each["difference"] is not None:
            low, high = (signed(-end, 2) for end in reversed(each["difference_interval"]))
            few = f" Fewer than {FEW} sentences say little." if each["n"] < FEW else ""
            told = f"Of the other sentences {number(1 - each['others'], 2)} are right; 95 %: {low} to {high}.{few}"
            cells["others"] = Words(signed(-each["difference"], 2), "few" if few else "", title=told)
    children = _classes(each) if unfolds and each["n"] else ()
    return Row(name, cells, children=children, picks=bool(each["n"]) and not whole)


def _classes(each: Mapping[str, Any]) -> tuple[Row, ...]:
    rows = []
    for label, found in each["per_class"].items():
        ends = each["per_class_intervals"][label]
        precise = "never said"
        if found["precision"] is not None:
            low, high = (number(end, 2) for end in ends["precision"])
            precise = f"precision {number(found['precision'], 2)} ({low} to {high})"
        cells: dict[str, Cell] = {"name": Words(label, small=precise), "n": count(found["support"])}
        cells |= _measure("right", "rate", found["recall"], ends["recall"], tie=True)
        cells |= _measure("f1", "value", found["f1"], ends["f1"], tie=True)
        rows.append(Row(f"{each['name']}{CLASS}{label}", cells, picks=found["support"] > 0))
    return tuple(rows)


def _measure(mark: str, text: str, value: float | None, ends: Sequence[float] | None, *, tie: bool) -> dict[str, Cell]:
    """Return a number and its mark; nothing where it is not defined."""
    if value is None:
        return {}
    low, high = ends or (None, None)
    return {mark: Mark(value, low, high, tie=tie), text: number(value)}


def saved_table(shown: Saved) -> pd.DataFrame:
    """Return all numbers of the slices, a row for each."""
    rows = []
    for each in shown.slices:
        row = {name: each[name] for name in ("name", "select", "n", "wrong", "rate", "others", "difference")}
        row["difference_low"], row["difference_high"] = each["difference_interval"] or (None, None)
        for metric, value in each["metrics"].items():
            row |= _ends(metric, value, each["intervals"][metric])
        rows.append(row)
    return pd.DataFrame(rows)


def classes_table(shown: Saved) -> pd.DataFrame:
    """Return a row for each class of each slice."""
    rows = []
    for each in shown.slices:
        for label, found in each["per_class"].items():
            row = {"name": each["name"], "class": label, "support": found["support"]}
            for part in PARTS:
                row |= _ends(part, found[part], each["per_class_intervals"][label][part])
            rows.append(row)
    return pd.DataFrame(rows)


def _ends(name: str, value: float | None, ends: Sequence[float] | None) -> dict[str, float | None]:
    low, high = ends or (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _reading(shown: Saved) -> str:
    lacking = [f"“{each['name']}”: {each['lacks']}" for each in shown.slices if each["n"] and each["lacks"]]
    more = [f"{len(lacking) - TOLD} more lack a class."] if len(lacking) > TOLD else []
    read = "A row unfolds to its classes. Bars: 95 % intervals. "
    read += "− others: how much more of it is right than of all other sentences."
    return " ".join([read, *lacking[:TOLD], *more])


SAVED: Figure[Saved] = Figure(
    "slices",
    "performance",
    "Slices",
    saved,
    lambda shown, look: component(saved_marks(shown), look, picks=True),
    note=lambda shown: f"{len(shown.slices)} saved, n = {count(shown.whole['n'])}",
    reading=_reading,
    how="What the run says as it was evaluated, whatever the threshold above. A slice by rules is asked of each run "
    "anew; one of sentences that were chosen one by one has the same sentences everywhere. "
    f"Intervals: {METHOD}. Empty is what is not defined on these: the recall of a class that none of them has, the "
    "precision of one that is never said.",
    tables=lambda shown: {"Slices": saved_table(shown), "Slices by class": classes_table(shown)},
)
