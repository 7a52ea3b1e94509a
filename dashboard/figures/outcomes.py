"""Words of each outcome of a class: what true and false positives and negatives say more often than the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.failures.phrases import Overused
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.marks import Column, Mark, Marks, Row, axis
from dashboard.figures.marks_drawing import beside
from dashboard.figures.numbers import count, number
from dashboard.figures.selecting import analysis
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look
from dashboard.figures.words import positive

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 8
"""Words of each outcome."""
OUTCOMES = {
    "true positive": (True, True),
    "false negative": (True, False),
    "false positive": (False, True),
    "true negative": (False, False),
}
"""By name: whether it is of the class, and whether it is said to be."""


def _usual(source: Source) -> str:
    record = source.record
    return positive(record) if record.task == "single" and len(record.classes) == 2 else record.classes[0]


OF_CLASS = Option(
    "outcome-of",
    "Outcomes of",
    lambda source: source.record.classes,
    "Positive is this class, negative every other",
    usual=_usual,
    words=lambda source, name: f"of {name}",
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the sentences of each outcome say more often."""

    analysis: Analysis
    of: str
    """The class."""
    found: Mapping[str, Sequence[Overused]]
    sizes: Mapping[str, int]

    def id(self, outcome: str, words: str) -> str:
        """Of a word of an outcome, as it is picked."""
        return f"{outcome}: {words}"

    @property
    def picked(self) -> str:
        """The word of an outcome whose rules are all of the selection; empty: none."""
        rules = {str(clause) for clause in self.analysis.clauses}
        each = ((outcome, one.words) for outcome, found in self.found.items() for one in found)
        return next((self.id(*one) for one in each if set(self.rules(*one)) == rules), "")

    def rules(self, outcome: str, words: str) -> list[str]:
        """That select the sentences of a word of an outcome."""
        true, said = OUTCOMES[outcome]
        return [f"truth{'' if true else '!'}={self.of}", f"said{'' if said else '!'}={self.of}", f"word={words}"]


def outcomes(of: Analysis, name: str, most: int = SHOWN) -> Outcomes:
    """Of all sentences of the split, for one class; at most so many words of each outcome."""
    at = of.table.classes.index(name)
    true, said = of.table.true[:, at], of.table.said[:, at]
    rows = {each: (true == is_so) & (said == is_said) for each, (is_so, is_said) in OUTCOMES.items()}
    phrases = of.known.phrases
    found = of.known.once(
        f"{most} of outcomes of {name}", lambda: {each: phrases.overused(has, 1, most) for each, has in rows.items()}
    )
    return Outcomes(of, name, found, {each: int(has.sum()) for each, has in rows.items()})


def outcomes_table(shown: Outcomes) -> pd.DataFrame:
    """A row for each word of each outcome."""
    import pandas as pd

    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Overused._fields])


def outcomes_marks(shown: Outcomes, look: Look) -> list[Marks]:
    """A table for each outcome that has words, all on one axis; errors in the colour of errors."""
    marks = {name: [_mark(each, name, look) for each in found] for name, found in shown.found.items() if found}
    odds = axis([each for found in marks.values() for each in found], zero=0.0)
    columns = (
        Column("words", "Words", "6.6rem"),
        Column("selected", "here", "3rem", number=True),
        Column("odds", "log-odds", axis=odds),
    )
    tables = []
    for name, found in marks.items():
        rows = (
            Row(shown.id(name, each.words), {"words": each.words, "selected": count(each.selected), "odds": mark})
            for each, mark in zip(shown.found[name], found, strict=True)
        )
        tables.append(Marks(f"{name.capitalize()}s: {count(shown.sizes[name])}", columns, tuple(rows), height=1.7))
    return tables


def _mark(each: Overused, outcome: str, look: Look) -> Mark:
    true, said = OUTCOMES[outcome]
    low, high = each.interval
    words = f"log-odds {signed(each.log_odds)} ({number(low, 2)} to {number(high, 2)}), {count(each.rest)} elsewhere"
    return Mark(each.log_odds, low, high, colour=look.tokens.right if true == said else look.tokens.wrong, said=words)


def _draw(shown: Outcomes, look: Look) -> Component:
    return beside(outcomes_marks(shown, look), look, picked=shown.picked)


WORDS_OF: Figure[Outcomes] = Figure(
    "outcome-words",
    "errors",
    "Words of each outcome",
    lambda source: outcomes(analysis(source), str(source.chosen(OF_CLASS))),
    _draw,
    note=lambda shown: f"{shown.of} against every other class",
    reading=lambda shown: (
        "Bar: 95 % interval of how much likelier a word is among the sentences of an outcome than among all others."
        if any(shown.found.values())
        else "No word is clearly more frequent in any outcome."
    ),
    how="As of *What they say more often*, for words alone; positive is the chosen class, negative any other. "
    "*here*: its sentences that have the word.",
    options=(OF_CLASS,),
    tables=lambda shown: {"Outcomes": outcomes_table(shown)},
)
