"""What mistakes cost at every threshold, where a miss is worse, or less bad, than a false positive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from core.data.table import VALIDATION
from core.evaluation.costs import cost, priced
from core.exceptions import NotAvailable
from dashboard.figures import answers
from dashboard.figures.decisions import TICKS, Floats, threshold_line
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

THRESHOLDS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Costs:
    """What a class costs over all thresholds, and at the chosen one."""

    name: str
    """Of the class."""
    ratio: float
    """How many false positives a false negative is as bad as."""
    threshold: float
    chosen: bool
    """The threshold is the cheapest on validation; else a person has moved it."""
    here: dict[str, Any]
    """`core.evaluation.costs.priced` at the threshold."""
    curves: dict[str, Floats]
    """Split → (101,) the cost per sentence at `THRESHOLDS`; that of the page last."""

    @property
    def split(self) -> str:
        """The one of the page."""
        return next(reversed(self.curves))

    @property
    def without(self) -> float:
        """The cost of predicting the class always, or never, whichever is cheaper."""
        curve = self.curves[self.split]
        return float(min(curve[0], curve[-1]))


def _read(source: Source) -> Costs:
    name = answers.one_class(source)
    ratio = float(source.chosen(answers.COST)) if name else 0.0
    if not ratio:
        about = "" if name or source.record.task == "multi" else " and a class: --with rule=CLASS"
        raise NotAvailable(f"it needs the cost of a miss: --with cost=5{about}")
    slider = answers.slider(source)
    threshold = float(source.chosen(slider))
    splits = dict.fromkeys((VALIDATION, source.split))
    reports = {split: source.reader.report(source.record, split) for split in splits}
    known = {split: answers.of_class(report, name) for split, report in reports.items()}
    curves = {split: cost(*given, ratio, THRESHOLDS) for split, given in known.items()}
    here = priced(*known[source.split], ratio, threshold)
    return Costs(name, ratio, threshold, threshold == slider.first(source), here, curves)


def _draw(costs: Costs, look: Look) -> go.Figure:
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    for split, curve in costs.curves.items():
        here = split == costs.split
        colour = t.accent if here else t.right
        figure.add_scatter(
            x=THRESHOLDS,
            y=curve,
            mode="lines",
            line={"color": colour, "width": look.size(3 if here else 2)},
            hovertemplate=f"{escape_text(split)}<br>threshold %{{x:.2f}}<br>cost %{{y:.3f}}<extra></extra>",
        )
    ends = costs.here["interval"]
    low, high = ends or (costs.here["cost"],) * 2
    figure.add_scatter(
        x=[costs.threshold],
        y=[costs.here["cost"]],
        mode="markers",
        marker={"size": look.size(15), "color": t.paper, "line": {"width": look.size(3), "color": t.ink}},
        error_y={
            "array": [high - costs.here["cost"]],
            "arrayminus": [costs.here["cost"] - low],
            "color": t.ink,
            "thickness": look.size(1.4),
            "width": 0,
        },
        hovertemplate=f"at the threshold<br>cost %{{y:.3f}}{_ends_words(ends)}<extra></extra>",
    )
    threshold_line(figure, costs.threshold, look)
    line = {"color": t.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[costs.without, costs.without], mode="lines", line=line, hoverinfo="skip")
    figure.add_annotation(x=0.5, y=costs.without, text="without a model", yanchor="bottom")
    figure.update_xaxes(title=f"threshold on P({escape_text(costs.name)})", range=[-0.02, 1.02], tickvals=TICKS)
    figure.update_yaxes(title="cost per sentence", range=[0, 1.3 * max(costs.without, high)])
    figure.update_layout(margin={"t": 8})
    return figure.drawn()


def _reading(costs: Costs) -> str:
    here = costs.here
    where = f"At {number(costs.threshold, 2)}{', the cheapest on validation,' if costs.chosen else ''}"
    return (
        f"{where} {count(here['false_negatives'])} misses and {count(here['false_positives'])} false positives cost "
        f"{number(here['cost'])} per sentence{_ends_words(here['interval'])}; at 0.50 it would be "
        f"{number(here['cost_at_half'])}. Dotted: {costs.name} is predicted always, or never, whichever is cheaper"
        f"{'.' if costs.split == VALIDATION else '; grey: validation.'}"
    )


def _ends_words(ends: Sequence[float] | None) -> str:
    return f" ({number(ends[0])} to {number(ends[1])})" if ends else ""


def cost_table(costs: Costs) -> pd.DataFrame:
    """The cost per sentence of each split at each threshold."""
    import pandas as pd

    return pd.DataFrame({"threshold": THRESHOLDS, **costs.curves})


COSTS = Figure(
    "costs",
    "performance",
    "Cost by threshold",
    _read,
    _draw,
    note=lambda costs: f"n = {count(costs.here['n'])}, a miss of {costs.name} costs {costs.ratio:g} false positives",
    reading=_reading,
    how=(
        "A false positive costs 1, a false negative (a miss) the chosen ratio; the sum is divided by the sentences. "
        "The threshold is the one that costs least on validation (of calibrated probabilities 1 / (1 + ratio); Elkan "
        "2001, equation 2). Its interval is a 95 % percentile bootstrap over the sentences."
    ),
    options=answers.OPTIONS,
    tables=lambda costs: {"Costs": cost_table(costs)},
    sizes=lambda costs: {costs.split: costs.here["n"]},
)
