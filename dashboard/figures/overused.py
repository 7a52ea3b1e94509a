"""Words and short phrases that a selection has more often than the other sentences, as a table of marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.failures.phrases import LEAST_Z, Overused
from core.failures.rules import WORD, Clause
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.marks import Cell, Column, Mark, Marks, Row, axis
from dashboard.figures.marks_drawing import component
from dashboard.figures.numbers import count, number
from dashboard.figures.selecting import SELECT, analysis
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 12
"""Phrases of the table; its CSV has all that are listed."""


@dataclass(frozen=True, eq=False)
class Words:
    """What a selection says more often."""

    analysis: Analysis
    found: Sequence[Overused]
    picked: str = ""
    """The rule of the one that the sentences are to have; empty: none."""


def overused(of: Analysis) -> Words:
    """Of the selected rows against all others."""
    rules = {str(clause) for clause in of.clauses}
    found = of.known.phrases.overused(of.rows)
    return Words(of, found, next((rule for each in found if (rule := rule_of(each)) in rules), ""))


def rule_of(each: Overused) -> str:
    """That selects the sentences with a phrase."""
    return str(Clause(WORD, "=", each.words))


def words_marks(shown: Words) -> Marks:
    """A row for each phrase."""
    rows, marks = [], []
    for each in shown.found[:SHOWN]:
        ends = each.interval
        said = f"log-odds {signed(each.log_odds)} ({number(ends[0], 2)} to {number(ends[1], 2)}), z {number(each.z, 1)}"
        marks.append(Mark(each.log_odds, *ends, said=said))
        cells: dict[str, Cell] = {"words": each.words, "selected": count(each.selected), "rest": count(each.rest)}
        rows.append(Row(rule_of(each), cells | {"odds": marks[-1]}))
    columns = (
        Column("words", "Words", "32%"),
        Column("selected", "here", "3.2rem", number=True),
        Column("rest", "elsewhere", "5rem", number=True, soft=True),
        Column("odds", "log-odds", axis=axis(marks, zero=0.0, signed=True)),
    )
    return Marks("Words and phrases that the selection has more often", columns, tuple(rows), height=1.8)


def words_table(shown: Words) -> pd.DataFrame:
    """All that are listed."""
    import pandas as pd

    return pd.DataFrame(shown.found, columns=Overused._fields)


def _draw(shown: Words, look: Look) -> Component:
    return component(words_marks(shown), look, picked=shown.picked, picks=True)


OVERUSED: Figure[Words] = Figure(
    "error-words",
    "errors",
    "What they say more often",
    lambda source: overused(analysis(source)),
    _draw,
    note=lambda shown: f"{count(len(shown.analysis.places))} selected against {count(_others(shown))} others",
    reading=lambda shown: (
        "Bar: 95 % interval of how much likelier the words are here, in log-odds."
        if shown.found
        else f"No word or phrase is clearly more frequent here: none reaches z = {LEAST_Z:g}."
    ),
    how="Log-odds of each word, pair and triple in the selection against all other sentences, with a prior of all "
    f"sentences (Monroe, Colaresi and Quinn 2008); each sentence counts once. Listed from z = {LEAST_Z:g} and three "
    "sentences on, the largest z first: in random selections of 153 of 3 202 sentences, the largest z of all phrases "
    "lies below 3.9 in 95 of 100.",
    options=(SELECT,),
    tables=lambda shown: {"Words": words_table(shown)},
)


def _others(shown: Words) -> int:
    return len(shown.analysis.table) - len(shown.analysis.places)
