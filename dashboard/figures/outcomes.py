"""Words of each outcome of a class: what true and false positives and negatives say more often than the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.failures.phrases import Overused
from dashboard.figures.analysis import Analysis
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.selecting import analysis
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look, template
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

    def rules(self, outcome: str, words: str) -> list[str]:
        """That select the sentences of a bar."""
        true, said = OUTCOMES[outcome]
        return [f"truth{'' if true else '!'}={self.of}", f"said{'' if said else '!'}={self.of}", f"text~{words}"]


def outcomes(of: Analysis, name: str) -> Outcomes:
    """Of all sentences of the split, for one class."""
    at = of.table.classes.index(name)
    true, said = of.table.true[:, at], of.table.said[:, at]
    rows = {each: (true == is_so) & (said == is_said) for each, (is_so, is_said) in OUTCOMES.items()}
    phrases = of.known.phrases
    found = of.known.once(
        f"outcomes of {name}", lambda: {each: phrases.overused(has, 1, SHOWN) for each, has in rows.items()}
    )
    return Outcomes(of, name, found, {each: int(has.sum()) for each, has in rows.items()})


def outcomes_table(shown: Outcomes) -> pd.DataFrame:
    """A row for each word of each outcome."""
    import pandas as pd

    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Overused._fields])


def _draw(shown: Outcomes, look: Look) -> go.Figure:
    t = look.tokens
    titles = [f"{name} · {count(shown.sizes[name])}" for name in OUTCOMES]
    figure = make_subplots(rows=1, cols=4, subplot_titles=titles, horizontal_spacing=0.09)
    figure.update_layout(template=template(look))
    top = max([each.log_odds for found in shown.found.values() for each in found], default=1.0)
    for place, (name, (true, said)) in enumerate(OUTCOMES.items(), 1):
        found = list(reversed(shown.found[name]))
        figure.add_bar(
            x=[each.log_odds for each in found],
            y=[escape(each.words) for each in found],
            customdata=[[name, each.words, each.selected, each.rest] for each in found],
            orientation="h",
            marker={"color": t.right if true == said else t.wrong, "cornerradius": 4},
            hovertemplate="%{y}: log-odds %{x:.2f}<br>%{customdata[2]} here, %{customdata[3]} elsewhere<extra></extra>",
            row=1,
            col=place,
        )
        figure.update_xaxes(range=[0, 1.05 * top], showgrid=True, row=1, col=place)
        figure.update_yaxes(showgrid=False, row=1, col=place)
    for note in figure.layout.annotations:
        note.update(xanchor="left", x=note.x - 0.095, font={"size": look.size(14.5), "color": t.muted})
    return figure.update_layout(height=look.height(290), margin={"t": 34}, bargap=0.3, clickmode="event+select")


WORDS_OF: Figure[Outcomes] = Figure(
    "outcome-words",
    "errors",
    "Words of each outcome",
    lambda source: outcomes(analysis(source), str(source.chosen(OF_CLASS))),
    _draw,
    note=lambda shown: f"{shown.of} against every other class, magenta: errors",
    reading="Log-odds of a word among the sentences of an outcome against all others.",
    how="As of *What they say more often*, for words alone; positive is the chosen class, negative any other.",
    options=(OF_CLASS,),
    tables=lambda shown: {"Outcomes": outcomes_table(shown)},
)
