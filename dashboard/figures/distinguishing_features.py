"""Words, columns and tags that are more frequent in a selection, and word clouds of each outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from core.failures.facets import YES, marking
from core.failures.phrases import LEAST_Z, Overused
from core.failures.report import made_by
from core.failures.rules import WORD, Clause
from core.failures.tags import CONSEQUENCES, called
from core.numbers import count, number, signed
from dashboard.figures import interval_table as columns
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.error_rates import words_of
from dashboard.figures.figure import Figure, interval_figure
from dashboard.figures.filtering import SELECT, analysis
from dashboard.figures.interval_table import Axis, IntervalTable, Mark, Words, axis
from dashboard.figures.source import Option
from dashboard.figures.theme import Look
from dashboard.figures.words import positive

WORDS_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Overrepresented:
    """The words that a selection has more often."""

    analysis: Analysis
    found: Sequence[Overused]
    picked: str = ""


def overused(of: Analysis) -> Overrepresented:
    """Compare the words of the selected rows with all others."""
    rules = {str(clause) for clause in of.clauses}
    found = of.table.phrases.overused(of.rows)
    return Overrepresented(of, found, next((rule for each in found if (rule := rule_of(each)) in rules), ""))


def rule_of(each: Overused) -> str:
    """Return the rule that selects the sentences with a phrase."""
    return str(Clause(WORD, "=", each.words))


def _mark_odds(each: Overused) -> Mark:
    low, high = each.interval
    said = f"log-odds {signed(each.log_odds)} ({number(low, 2)} to {number(high, 2)}), z {number(each.z, 1)}"
    return Mark(each.log_odds, low, high, said=said)


def words_table(shown: Overrepresented) -> IntervalTable:
    """Build a table with a row for each phrase."""
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
    note=lambda shown: (
        f"{count(len(shown.analysis.places))} selected against "
        f"{count(len(shown.analysis.table) - len(shown.analysis.places))} others"
    ),
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


COLUMNS_SHOWN = 10
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Marked:
    """The features that distinguish a selection, as `core.failures.facets.marking` gives them."""

    analysis: Analysis
    found: Sequence[Mapping[str, Any]]

    def rule(self, row: Mapping[str, Any]) -> str:
        """Return the rule that selects the rows with a feature; empty: no rule can."""
        name, label = ("tag", called(row["name"])) if row["kind"] == "tag" else (row["name"], row["value"])
        options = (option for facet in self.analysis.facets if facet.name == name for option in facet.options)
        return next((str(option.clause) for option in options if option.label == label), "")


def marked(of: Analysis) -> Marked:
    """Compare columns and tags of the selected rows with all others; NotAvailable: the tags are still being found."""
    known = made_by(of.clauses) | CONSEQUENCES
    return Marked(of, marking(of.table, of.tags, of.rows, known, of.known.groups))


def columns_table(shown: Marked) -> IntervalTable:
    """Build a table with a row for each column and tag."""

    def is_sure(row: Mapping[str, Any]) -> bool:
        """Tell whether a feature is significant after Holm's correction."""
        return row["p_holm"] is not None and row["p_holm"] < ALPHA

    def call(row: Mapping[str, Any]) -> Words:
        """Write the name of a column or tag, with its value."""
        if row["kind"] == "tag":
            return words_of(row["name"], "" if row["value"] == YES else row["value"])
        return Words(row["name"], small=row["value"])

    def mark(row: Mapping[str, Any]) -> Mark:
        """Mark the share of the selection against that of the rest."""
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


CLOUD_WORDS = 24
SMALLEST, LARGEST = 0.95, 2.1
OUTCOMES = {
    "true positive": (True, True),
    "false negative": (True, False),
    "false positive": (False, True),
    "true negative": (False, False),
}
"""By name: whether it is of the class, and whether it is predicted to be."""


OF_CLASS = Option(
    "outcome-of",
    "Outcomes of",
    lambda source: source.record.classes,
    "Positive is this class, negative every other",
    usual=lambda source: (
        positive(source.record)
        if source.record.task == "single" and len(source.record.classes) == 2
        else source.record.classes[0]
    ),
    words=lambda source, name: f"of {name}",
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Words that the sentences of each outcome of a class have more often, the surest first."""

    analysis: Analysis
    of: str
    found: Mapping[str, Sequence[Overused]]
    sizes: Mapping[str, int]

    def id(self, outcome: str, words: str) -> str:
        """Return the ID by which a word of an outcome is picked."""
        return f"{outcome}: {words}"

    @property
    def picked(self) -> str:
        """Return the ID of the word of an outcome whose rules are the whole selection; empty: none."""
        rules = {str(clause) for clause in self.analysis.clauses}
        each = ((outcome, one.words) for outcome, found in self.found.items() for one in found)
        return next((self.id(*one) for one in each if set(self.rules(*one)) == rules), "")

    def rules(self, outcome: str, words: str) -> list[str]:
        """Return the rules that select the sentences of a word of an outcome."""
        true, said = OUTCOMES[outcome]
        return [f"truth{'' if true else '!'}={self.of}", f"said{'' if said else '!'}={self.of}", f"word={words}"]


def find_outcomes(of: Analysis, name: str) -> Outcomes:
    """Find the words of each outcome of a class, over all sentences of the split."""
    at = of.table.classes.index(name)
    true, said = of.table.true[:, at], of.table.said[:, at]
    rows = {each: (true == is_so) & (said == is_said) for each, (is_so, is_said) in OUTCOMES.items()}
    phrases = of.table.phrases
    found = of.known.once(
        f"outcomes of {name}", lambda: {each: phrases.overused(has, 1, CLOUD_WORDS) for each, has in rows.items()}
    )
    return Outcomes(of, name, found, {each: int(has.sum()) for each, has in rows.items()})


def scale_letters(found: Mapping[str, Sequence[Overused]]) -> dict[str, list[float]]:
    """Scale each word in rem, linear in its log-odds; the largest of all outcomes is largest."""
    top = max((each.log_odds for some in found.values() for each in some), default=1.0)
    return {
        name: [SMALLEST + (LARGEST - SMALLEST) * each.log_odds / top for each in some] for name, some in found.items()
    }


def arrange_words(places: Sequence[int]) -> list[int]:
    """Arrange places, the largest word first, so that it is in the middle and the others alternate at either side."""
    return [*reversed(places[1::2]), *places[::2]]


def cloud_table(shown: Outcomes) -> pd.DataFrame:
    """Return a row for each word of each outcome."""
    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Overused._fields])


def _draw_clouds(shown: Outcomes, look: Look) -> Component:
    t, rems = look.tokens, scale_letters(shown.found)
    clouds = []
    for name, found in shown.found.items():
        true, said = OUTCOMES[name]
        order = sorted(range(len(found)), key=lambda at: (-found[at].log_odds, found[at].words))
        words = [
            {
                "id": shown.id(name, each.words),
                "words": each.words,
                "rem": round(rems[name][at], 3),
                "said": f"log-odds {signed(each.log_odds)}, {count(each.selected)} here, {count(each.rest)} elsewhere",
            }
            for at, each in ((order[place], found[order[place]]) for place in arrange_words(range(len(order))))
        ]
        title = f"{name.capitalize()}s: {count(shown.sizes[name])}"
        clouds.append({"title": title, "words": words, "colour": t.ink if true == said else t.wrong})
    colours = {name: getattr(t, name) for name in ("paper", "panel", "ink", "muted", "grid", "accent")}
    return Component("cloud", {"clouds": clouds, "picked": shown.picked, "colours": colours}, look)


CLOUDS: Figure[Outcomes] = Figure(
    "outcome-cloud",
    "errors",
    "Words of each outcome",
    lambda source: find_outcomes(analysis(source), str(source.chosen(OF_CLASS))),
    _draw_clouds,
    note=lambda shown: f"{shown.of} against every other class",
    reading=lambda shown: (
        "The larger a word, the likelier it is among the sentences of an outcome than among all others, in log-odds. "
        "Click one to read its sentences."
        if any(shown.found.values())
        else "No word is clearly more frequent in any outcome."
    ),
    how="As of *What they say more often*, for words alone; positive is the chosen class, negative any other. Sizes "
    "have one scale over the four; where a word stands means nothing. The CSV has the numbers.",
    options=(OF_CLASS,),
    tables=lambda shown: {"Outcomes, cloud": cloud_table(shown)},
)
