"""Words of each outcome as clouds: the size of a word is its log-odds; the bars of `outcomes` are the accurate view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.failures.phrases import Overused
from core.numbers import signed
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.outcomes import OF_CLASS, OUTCOMES, Outcomes, outcomes
from dashboard.figures.selecting import analysis
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

BARS, CLOUD = "bars", "cloud"
SHOWN_AS = Option(
    "words-as",
    "Words as",
    lambda source: (BARS, CLOUD),
    "Bars can be read exactly, a cloud at a glance",
)
MOST = 24
"""Words of each cloud."""
SMALLEST, LARGEST = 0.95, 2.1
"""Of the letters, in rem."""


@dataclass(frozen=True, eq=False)
class Clouds:
    """More words of each outcome than the bars have."""

    outcomes: Outcomes

    @property
    def found(self) -> Mapping[str, Sequence[Overused]]:
        """By outcome, the surest first."""
        return self.outcomes.found

    @property
    def picked(self) -> str:
        """The word of an outcome that is selected; empty: none."""
        return self.outcomes.picked


def clouds(source: Source) -> Clouds:
    """Of a source, for its chosen class."""
    return Clouds(outcomes(analysis(source), str(source.chosen(OF_CLASS)), MOST))


def sizes(found: Mapping[str, Sequence[Overused]]) -> dict[str, list[float]]:
    """Of the words of each outcome, in rem: in a line with log-odds, the largest of all outcomes largest."""
    top = max((each.log_odds for some in found.values() for each in some), default=1.0)
    return {
        name: [SMALLEST + (LARGEST - SMALLEST) * each.log_odds / top for each in some] for name, some in found.items()
    }


def arranged(places: Sequence[int]) -> list[int]:
    """Places from the largest word on, arranged: it stands in the middle, smaller ones to either side by turns."""
    return [*reversed(places[1::2]), *places[::2]]


def cloud_table(shown: Clouds) -> pd.DataFrame:
    """A row for each word of each outcome."""
    import pandas as pd

    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Overused._fields])


def _draw(shown: Clouds, look: Look) -> Component:
    t, of, rems = look.tokens, shown.outcomes, sizes(shown.found)
    told = []
    for name, found in shown.found.items():
        true, said = OUTCOMES[name]
        order = sorted(range(len(found)), key=lambda at: (-found[at].log_odds, found[at].words))
        words = [
            {
                "id": of.id(name, each.words),
                "words": each.words,
                "rem": round(rems[name][at], 3),
                "said": f"log-odds {signed(each.log_odds)}, {count(each.selected)} here, {count(each.rest)} elsewhere",
            }
            for at, each in ((order[place], found[order[place]]) for place in arranged(range(len(order))))
        ]
        title = f"{name.capitalize()}s: {count(of.sizes[name])}"
        told.append({"title": title, "words": words, "colour": t.ink if true == said else t.wrong})
    colours = {name: getattr(t, name) for name in ("paper", "panel", "ink", "muted", "grid", "accent")}
    return Component("cloud", {"clouds": told, "picked": shown.picked, "colours": colours}, look)


CLOUDS: Figure[Clouds] = Figure(
    "outcome-cloud",
    "errors",
    "Words of each outcome",
    clouds,
    _draw,
    note=lambda shown: f"{shown.outcomes.of} against every other class",
    reading=lambda shown: (
        "The larger a word, the likelier it is among the sentences of an outcome than among all others, in log-odds. "
        "Click one to read its sentences."
        if any(shown.found.values())
        else "No word is clearly more frequent in any outcome."
    ),
    how="As of *What they say more often*, for words alone; positive is the chosen class, negative any other. Sizes "
    "have one scale over the four; where a word stands means nothing. Intervals stand on the bars.",
    options=(OF_CLASS,),
    tables=lambda shown: {"Outcomes, cloud": cloud_table(shown)},
)
