"""Groups of sentences that are close in embedding space, with their words, sizes and errors, as a table of marks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.evaluation.intervals import wilson
from core.exceptions import NotAvailable
from core.failures.found_groups import NONE, FoundGroups, rows_table
from core.failures.table import Table
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Cell, Column, Mark, Marks, Row, Words, axis
from dashboard.figures.numbers import count, number
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


@dataclass(frozen=True, eq=False)
class Groups:
    """Those of a split."""

    table: Table
    found: FoundGroups
    picked: str = ""
    """The name of the one that is selected; empty: none is."""

    def places(self, name: str) -> np.ndarray:
        """(k,) rows of the group of a name; empty where there is none."""
        every = {each.name: each.places for each in self.found.groups} | {NONE: self.found.none}
        return every.get(name, np.empty(0, np.int64))

    def about(self, name: str) -> str:
        """What a group is, for the bar of the selection."""
        return f"of no group in {self._space}" if name == NONE else f"the group “{name}” in {self._space}"

    @property
    def _space(self) -> str:
        return "embedding space"


def groups(source: Source) -> Groups:
    """The groups of a source.

    Raises:
        NotAvailable: there is no space, or too few sentences.
    """
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    found = Groups(*source.reader.found_groups(source.record, source.split))
    if found.found.reason:
        raise NotAvailable(found.found.reason)
    return found


def groups_marks(shown: Groups) -> Marks:
    """A row for each group, the largest first, and one for what belongs to none."""
    wrong, rows, marks = shown.table.wrong, list[Row](), list[Mark]()
    overall = float(wrong[shown.found.rows].mean())
    every = [(each.name, each.places) for each in shown.found.groups]
    for name, places in [*every, (NONE, shown.found.none)]:
        if not len(places):
            continue
        errors = int(wrong[places].sum())
        rate, (low, high) = errors / len(places), wilson(errors, len(places))
        said = f"{number(100 * rate, 1)} % wrong ({number(100 * low, 1)} to {number(100 * high, 1)} %)"
        marks.append(Mark(100 * rate, 100 * low, 100 * high, tie=low <= overall <= high, said=said))
        share = f"{100 * len(places) / len(shown.found.rows):.0f} %"
        cells: dict[str, Cell] = {"name": Words(name), "n": count(len(places)), "share": share}
        cells |= {"rate": marks[-1], "wrong": number(100 * rate, 1)}
        rows.append(Row(name, cells, apart=name == NONE))
    columns = (
        Column("name", "Words that mark it", "17rem"),
        Column("n", "sentences", "5.4rem", number=True),
        Column("share", "of all", "4rem", number=True, soft=True, opt=True),
        Column("rate", "wrong", axis=axis(marks, zero=0.0, ends=(0.0, 100.0))),
        Column("wrong", "% wrong", "5.4rem", number=True),
    )
    return Marks("Groups of sentences in embedding space", columns, tuple(rows), height=1.8)


def groups_table(shown: Groups) -> pd.DataFrame:
    """Every group with all numbers."""
    wrong, rows = shown.table.wrong, []
    words = {each.name: ", ".join(word.words for word in each.words) for each in shown.found.groups}
    for name in (*words, NONE):
        places = shown.places(name)
        errors = int(wrong[places].sum())
        low, high = wilson(errors, len(places))
        rate = errors / len(places) if len(places) else None
        numbers = {"n": len(places), "wrong": errors, "rate": rate, "low": low, "high": high}
        rows.append({"group": name, "words": words.get(name, ""), **numbers})
    return pd.DataFrame(rows)


def _note(shown: Groups) -> str:
    found = shown.found
    return f"n = {count(len(found.rows))}, {count(len(found.none))} of them in no group"


def _reading(shown: Groups) -> str:
    if not shown.found.groups:
        return f"No group: nowhere {count(shown.found.least)} sentences lie close together, apart from the others."
    return (
        "Bar: 95 % interval of the share that is wrong; a ring: it holds the share of all, so the group is not told "
        "apart from them. Pick a group to select its sentences."
    )


def _draw(shown: Groups, look: Look) -> Component:
    return component(groups_marks(shown), look, picked=shown.picked, picks=True)


MAP_GROUPS: Figure[Groups] = Figure(
    "map-groups",
    "embeddings",
    "Groups in embedding space",
    groups,
    _draw,
    note=_note,
    reading=_reading,
    how="HDBSCAN (Campello, Moulavi and Sander 2013) on the vectors that the model's head reads, not on a map: a group "
    "has ten sentences or one of a hundred, whichever is more, and half of all at most; what is nowhere dense enough "
    "belongs to none. Its name is the words and phrases that it has most more often than all others, by log-odds with "
    "a prior of all sentences (Monroe, Colaresi and Quinn 2008): they rank, they do not test. The same vectors give "
    "the same groups.",
    needs="pooled",
    tables=lambda shown: {"Groups": groups_table(shown), "Grouped": rows_table(shown.table, shown.found)},
)
