"""Words, own columns and tags that a selection has more often than the other sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.failures.facets import YES, marking
from core.failures.phrases import LEAST_Z, Overused
from core.failures.report import made_by
from core.failures.rules import WORD, Clause
from core.failures.tags import CONSEQUENCES, called
from core.numbers import signed
from dashboard.figures import interval_table as columns
from dashboard.figures.analysis import Analysis
from dashboard.figures.error_rates import words_of
from dashboard.figures.figure import Figure, interval_figure
from dashboard.figures.interval_table import Axis, IntervalTable, Mark, Words, axis
from dashboard.figures.numbers import count, number
from dashboard.figures.selecting import SELECT, analysis

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


def _mark_odds(each: Overused) -> Mark:
    low, high = each.interval
    said = f"log-odds {signed(each.log_odds)} ({number(low, 2)} to {number(high, 2)}), z {number(each.z, 1)}"
    return Mark(each.log_odds, low, high, said=said)


def words_table(shown: Overrepresented) -> IntervalTable:
    """Declare a row for each phrase."""
    return IntervalTable(
        "Words and phrases that the selection has more often",
        (
            columns.name("words", "Words", "words", "32%", words="words"),
            columns.count("selected", "here", "selected", "3.2rem"),
            columns.count("rest", "elsewhere", "rest", "5rem", soft=True),
            columns.interval("odds", "log-odds", _mark_odds, partial(axis, zero=0.0, signed=True)),
            columns.also(log_odds="log_odds", z="z"),
        ),
        shown.found,
        rule_of,
        shown=shown.found[:WORDS_SHOWN],
    )


OVERUSED: Figure[Overrepresented] = interval_figure(
    "error-words",
    "errors",
    "What they say more often",
    lambda source: overused(analysis(source)),
    words_table,
    "Words",
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
    """As `core.failures.facets.marking` gives it."""

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


def columns_table(shown: Marked) -> IntervalTable:
    """Declare a row for each column and tag."""

    def is_sure(row: Mapping[str, Any]) -> bool:
        return row["p_holm"] is not None and row["p_holm"] < ALPHA

    def call(row: Mapping[str, Any]) -> Words:
        if row["kind"] == "tag":
            return words_of(row["name"], "" if row["value"] == YES else row["value"])
        return Words(row["name"], small=row["value"])

    def mark(row: Mapping[str, Any]) -> Mark:
        share, rest = row["share"], row["rest_share"]
        said = f"{number(share, 2)} of the selection, {number(rest, 2)} of the rest"
        return Mark(share, min(share, rest), max(share, rest), not is_sure(row), reference=rest, said=said)

    return IntervalTable(
        "Columns and tags that mark the selection",
        (
            columns.name("name", "Column or tag", call, "12rem", name="name"),
            columns.also("kind", "v", "p", "p_holm", "value"),
            columns.count("n", "here", "selected", "3.6rem", csv="selected"),
            columns.interval("share", "share", mark, lambda marks: Axis(0.0, 1.0, (0.0, 0.5, 1.0), ("0", "0.5", "1"))),
            columns.text("v", "V", lambda row: Words(number(row["v"], 2), strong=is_sure(row)), "3.4rem"),
            columns.also("share", "rest", "rest_share"),
        ),
        shown.found,
        lambda row: shown.rule(row) or f"{row['kind']} {row['name']}",
        shown=shown.found[:COLUMNS_SHOWN],
        picks=lambda row: bool(shown.rule(row)),
    )


MARKED: Figure[Marked] = interval_figure(
    "error-columns",
    "errors",
    "What marks them",
    lambda source: marked(analysis(source)),
    columns_table,
    "Columns",
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
)
