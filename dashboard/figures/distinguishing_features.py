"""Words, own columns and tags that a selection has more often than the other sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.failures.marking import YES, marking
from core.failures.phrases import LEAST_Z, Overused
from core.failures.report import made_by
from core.failures.rules import WORD, Clause
from core.failures.tags import CONSEQUENCES, called
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.error_rates import words_of
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Axis, Cell, Column, Mark, Marks, Row, Words, axis
from dashboard.figures.numbers import count, number
from dashboard.figures.selecting import SELECT, analysis
from dashboard.figures.theme import Look

WORDS_SHOWN = 12
"""Phrases of the table; its CSV has all that are listed."""


@dataclass(frozen=True, eq=False)
class Overrepresented:
    """What a selection says more often."""

    analysis: Analysis
    found: Sequence[Overused]
    picked: str = ""
    """The rule of the one that the sentences are to have; empty: none."""


def overused(of: Analysis) -> Overrepresented:
    """Of the selected rows against all others."""
    rules = {str(clause) for clause in of.clauses}
    found = of.known.phrases.overused(of.rows)
    return Overrepresented(of, found, next((rule for each in found if (rule := rule_of(each)) in rules), ""))


def rule_of(each: Overused) -> str:
    """That selects the sentences with a phrase."""
    return str(Clause(WORD, "=", each.words))


def words_marks(shown: Overrepresented) -> Marks:
    """A row for each phrase."""
    rows, marks = [], []
    for each in shown.found[:WORDS_SHOWN]:
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


def words_table(shown: Overrepresented) -> pd.DataFrame:
    """All that are listed."""
    return pd.DataFrame(shown.found, columns=Overused._fields)


def _draw_words(shown: Overrepresented, look: Look) -> Component:
    return component(words_marks(shown), look, picked=shown.picked, picks=True)


OVERUSED: Figure[Overrepresented] = Figure(
    "error-words",
    "errors",
    "What they say more often",
    lambda source: overused(analysis(source)),
    _draw_words,
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


def _others(shown: Overrepresented) -> int:
    return len(shown.analysis.table) - len(shown.analysis.places)


COLUMNS_SHOWN = 10
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
    for row in shown.found[:COLUMNS_SHOWN]:
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
    return pd.DataFrame(list(shown.found))


def _draw_columns(shown: Marked, look: Look) -> Component:
    return component(marked_marks(shown), look, picks=True)


MARKED: Figure[Marked] = Figure(
    "error-columns",
    "errors",
    "What marks them",
    lambda source: marked(analysis(source)),
    _draw_columns,
    note=lambda shown: (
        f"{min(COLUMNS_SHOWN, len(shown.found))} of {len(shown.found)} columns and tags" if shown.found else ""
    ),
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
