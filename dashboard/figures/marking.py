"""Which own columns and tags tell a selection from the other sentences, as a table of marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.failures.marking import YES, marking
from core.failures.report import made_by
from core.failures.tags import CONSEQUENCES, called
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.gathering import words_of
from dashboard.figures.marks import Axis, Cell, Column, Mark, Marks, Row, Words
from dashboard.figures.marks_drawing import component
from dashboard.figures.numbers import count, number
from dashboard.figures.selecting import SELECT, analysis
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Marked:
    """What marks a selection."""

    analysis: Analysis
    found: Sequence[Mapping[str, Any]]
    """As `core.failures.marking.marking` gives it."""

    def rule(self, row: Mapping[str, Any]) -> str:
        """That selects what the selection has more of; empty: no rule can."""
        name, label = ("tag", called(row["name"])) if row["kind"] == "tag" else (row["name"], row["value"])
        options = (option for facet in self.analysis.facets if facet.name == name for option in facet.options)
        return next((str(option.clause) for option in options if option.label == label), "")


def marked(of: Analysis) -> Marked:
    """Of the selected rows against all others.

    Raises:
        NotAvailable: the tags are still being found.
    """
    known = made_by(of.clauses) | CONSEQUENCES
    return Marked(of, marking(of.table, of.tags, of.rows, known, of.known.groups))


def marked_marks(shown: Marked) -> Marks:
    """A row for each column and tag."""
    rows = []
    for row in shown.found[:SHOWN]:
        sure = row["p_holm"] is not None and row["p_holm"] < ALPHA
        shares = f"{number(row['share'], 2)} of the selection, {number(row['rest_share'], 2)} of the rest"
        value = "" if row["kind"] == "tag" and row["value"] == YES else row["value"]
        low, high = sorted((row["share"], row["rest_share"]))
        name = words_of(row["name"], value) if row["kind"] == "tag" else Words(row["name"], small=value)
        cells: dict[str, Cell] = {"name": name, "n": count(row["selected"])}
        cells["share"] = Mark(row["share"], low, high, not sure, reference=row["rest_share"], said=shares)
        cells["v"] = Words(number(row["v"], 2), strong=sure)
        rule = shown.rule(row)
        rows.append(Row(rule or f"{row['kind']} {row['name']}", cells, picks=bool(rule)))
    columns = (
        Column("name", "Column or tag", "12rem"),
        Column("n", "here", "3.6rem", number=True),
        Column("share", "share", axis=Axis(0.0, 1.0, (0.0, 0.5, 1.0), ("0", "0.5", "1"))),
        Column("v", "V", "3.4rem", number=True),
    )
    return Marks("Columns and tags that mark the selection", columns, tuple(rows), height=1.8)


def marked_table(shown: Marked) -> pd.DataFrame:
    """All that are ranked."""
    import pandas as pd

    return pd.DataFrame(list(shown.found))


def _draw(shown: Marked, look: Look) -> Component:
    return component(marked_marks(shown), look, picks=True)


MARKED: Figure[Marked] = Figure(
    "error-columns",
    "errors",
    "What marks them",
    lambda source: marked(analysis(source)),
    _draw,
    note=lambda shown: f"{min(SHOWN, len(shown.found))} of {len(shown.found)} columns and tags" if shown.found else "",
    reading=lambda shown: (
        "From the rest (ring) to the selection (tick): how much more often it has this value; grey: may be chance."
        if shown.found
        else "Nothing, or everything, is selected: there is nothing to compare."
    ),
    how="*V* is Cramér's V of selected or not against the values of the column, with the bias correction of Bergsma "
    "(2013): 0 where it says nothing of the selection, 1 where it says all. p is of the chi-square test after Holm "
    "over all columns and tags; those by which the selection was made are left out.",
    options=(SELECT,),
    tables=lambda shown: {"Columns": marked_table(shown)},
)
