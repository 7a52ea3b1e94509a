"""Words that the true and false positives and negatives of a class have more often than all others, as clouds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from core.failures.phrases import Overused
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.selecting import analysis
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look
from dashboard.figures.words import positive

MOST = 24
"""Words of each cloud."""
SMALLEST, LARGEST = 0.95, 2.1
"""Size of the letters, in rem."""
OUTCOMES = {
    "true positive": (True, True),
    "false negative": (True, False),
    "false positive": (False, True),
    "true negative": (False, False),
}
"""By name: whether it is of the class, and whether it is predicted to be."""


def _usual_class(source: Source) -> str:
    record = source.record
    return positive(record) if record.task == "single" and len(record.classes) == 2 else record.classes[0]


OF_CLASS = Option(
    "outcome-of",
    "Outcomes of",
    lambda source: source.record.classes,
    "Positive is this class, negative every other",
    usual=_usual_class,
    words=lambda source, name: f"of {name}",
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Words that the sentences of each outcome have more often."""

    analysis: Analysis
    of: str
    """The class."""
    found: Mapping[str, Sequence[Overused]]
    """By outcome, the surest first."""
    sizes: Mapping[str, int]

    def id(self, outcome: str, words: str) -> str:
        """Return the id of a word of an outcome, as it is picked."""
        return f"{outcome}: {words}"

    @property
    def picked(self) -> str:
        """The word of an outcome whose rules are the whole selection; empty: none."""
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
    phrases = of.known.phrases
    found = of.known.once(
        f"outcomes of {name}", lambda: {each: phrases.overused(has, 1, MOST) for each, has in rows.items()}
    )
    return Outcomes(of, name, found, {each: int(has.sum()) for each, has in rows.items()})


def scale_letters(found: Mapping[str, Sequence[Overused]]) -> dict[str, list[float]]:
    """Return the size of each word in rem, linear in its log-odds; the largest of all outcomes is largest."""
    top = max((each.log_odds for some in found.values() for each in some), default=1.0)
    return {
        name: [SMALLEST + (LARGEST - SMALLEST) * each.log_odds / top for each in some] for name, some in found.items()
    }


def arrange_words(places: Sequence[int]) -> list[int]:
    """Arrange places from the largest word on: it stands in the middle, smaller ones to either side by turns."""
    return [*reversed(places[1::2]), *places[::2]]


def cloud_table(shown: Outcomes) -> pd.DataFrame:
    """Return a row for each word of each outcome."""
    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Overused._fields])


def _draw(shown: Outcomes, look: Look) -> Component:
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
    _draw,
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
