"""What accuracy costs: against parameters, seconds of training, milliseconds and memory of a prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.metrics import TUNED, named, title
from core.runs.efficiency import Efficiency
from core.runs.record import RunRecord
from dashboard.figures.comparing import METRIC, Comparison, colour, compared
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

COSTS = {
    "parameters": "parameters",
    "seconds": "seconds of training",
    "one": "milliseconds for one text",
    "memory": "MB for 64 texts",
}
SCALE = {"memory": 1e-6}
FEWEST = 2
"""Models with a known cost that make a panel."""
SERIES = (tuple(range(1, 10)), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
MOST_TICKS = 5
BEYOND = 1.1
"""By which factor an axis goes on beyond its points."""


@dataclass(frozen=True)
class Point:
    """One model, or another run on these data."""

    name: str
    value: float
    low: float | None
    high: float | None
    costs: dict[str, float]
    place: int | None
    """Among the compared; None: another run."""


@dataclass(frozen=True)
class Costs:
    """All that is known."""

    points: Sequence[Point]
    metric: str
    where: str
    """On what time was measured."""

    @property
    def panels(self) -> list[str]:
        """The costs that at least two of the compared are known to have."""
        known = [point.costs for point in self.points if point.place is not None]
        return [name for name in COSTS if sum(costs.get(name, 0) > 0 for costs in known) >= FEWEST]

    @property
    def best(self) -> dict[str, list[Point]]:
        """By cost, cheapest first, those that no other beats in both."""
        higher = named(self.metric).better == "higher"
        found: dict[str, list[Point]] = {}
        for name in self.panels:
            front: list[Point] = []
            known = [point for point in self.points if point.costs.get(name)]
            for point in sorted(known, key=lambda each: (each.costs[name], -each.value if higher else each.value)):
                if not front or (point.value > front[-1].value if higher else point.value < front[-1].value):
                    front.append(point)
            found[name] = front
        return found


def _read(source: Source) -> Costs:
    shape: Comparison = compared(source)
    points, where, shown = [], "", set[str]()
    for place, (side, model) in enumerate(zip(source.sides.sides, shape.models, strict=True)):
        known = model["metrics"][shape.metric]
        low, high = known["interval"]
        records = side.model.records
        each = [source.reader.efficiency(record) for record in records]
        name = f"{shape.letters[side.name]} {side.name}"
        points.append(Point(name, known["mean"], low, high, _mean([_costs(one) for one in each]), place))
        where = where or each[0].where
        shown |= {record.run for record in records}
    for record in source.reader.runs():
        value = _measured(record, source.split, shape.metric)
        same = record.status == "done" and record.data_fingerprint == source.record.data_fingerprint
        if same and record.run not in shown and value is not None:
            own = _costs(source.reader.efficiency(record))
            points.append(Point(record.run, value, None, None, own, None))
    return Costs(points, shape.metric, where)


def _costs(known: Efficiency) -> dict[str, float]:
    found = {name: getattr(known, name) for name in COSTS}
    return {name: float(value) * SCALE.get(name, 1) for name, value in found.items() if value}


def _mean(several: Sequence[dict[str, float]]) -> dict[str, float]:
    """Over runs, of the costs that all are known to have."""
    common = [name for name in COSTS if all(name in each for each in several)]
    return {name: sum(each[name] for each in several) / len(several) for name in common}


def _measured(record: RunRecord, split: str, metric: str) -> float | None:
    results = record.results.get("tuned", {}) if metric.startswith(TUNED) else record.results
    return results.get("metrics", {}).get(split, {}).get(metric.removeprefix(TUNED))


def draw_costs(shape: Costs, look: Look) -> go.Figure:
    """A panel for each cost; the line joins the models that no other beats in both."""
    t, names = look.tokens, shape.panels
    rows = [names[start : start + 2] for start in range(0, len(names), 2)]
    grid = [[*row, *[""] * (2 - len(row))] if len(names) > 1 else row for row in rows]
    figure = Panels(
        look,
        [["" for _ in row] for row in grid],
        height=330 * len(grid),
        horizontal_spacing=0.09,
        vertical_spacing=0.2 if len(grid) > 1 else 0.0,
    )
    for row, column, name in [(r, c, name) for r, line in enumerate(grid, 1) for c, name in enumerate(line, 1)]:
        at = {"row": row, "col": column}
        if not name:
            figure.update_xaxes(**at, visible=False)
            figure.update_yaxes(**at, visible=False)
            continue
        front = shape.best[name]
        figure.add_scatter(
            **at,
            x=[point.costs[name] for point in front],
            y=[point.value for point in front],
            mode="lines",
            line={"color": t.right, "width": look.size(1.2), "shape": "hv"},
            hoverinfo="skip",
        )
        for known in (False, True):
            _points(
                figure,
                at,
                [p for p in shape.points if (p.place is not None) == known and p.costs.get(name)],
                name,
                look,
            )
        ticks = log_ticks([point.costs[name] for point in shape.points if point.costs.get(name)])
        words: dict[str, Any] = {"tickvals": ticks, "ticktext": [_short(tick) for tick in ticks]}
        figure.update_xaxes(**at, title=f"{COSTS[name]} (log)", type="log", **words, showgrid=False)
        figure.update_yaxes(**at, title=escape_text(title(shape.metric)) if column == 1 else "", nticks=5)
    return figure.drawn()


def log_ticks(values: Sequence[float]) -> list[float]:
    """Round numbers along a logarithmic axis, at most `MOST_TICKS`: as fine a series as that leaves."""
    low, high = min(values) / BEYOND, max(values) * BEYOND
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in SERIES:
        every = [round(digit * 10.0**power, 9) for power in powers for digit in digits]
        if len(ticks := [tick for tick in every if low <= tick <= high]) <= MOST_TICKS:
            return ticks
    return [ticks[0], ticks[-1]]


def _short(value: float) -> str:
    """`50k`, `1M`."""
    scale, unit = next((each for each in ((1e6, "M"), (1e3, "k")) if value >= each[0]), (1.0, ""))
    return f"{value / scale:g}{unit}"


def _points(figure: Panels, at: dict[str, int], points: Sequence[Point], name: str, look: Look) -> None:
    t = look.tokens
    compared = bool(points) and points[0].place is not None
    colours = [t.right if point.place is None else colour(look, point.place) for point in points]
    whiskers = {
        "array": [(point.high or point.value) - point.value for point in points],
        "arrayminus": [point.value - (point.low or point.value) for point in points],
        "color": t.muted,
        "thickness": look.size(1.2),
        "width": 0,
    }
    figure.add_scatter(
        **at,
        x=[point.costs[name] for point in points],
        y=[point.value for point in points],
        mode="markers+text" if compared else "markers",
        text=[escape_text(point.name.partition(" ")[0]) if compared else "" for point in points],
        textposition="middle right",
        textfont={"color": t.ink, "size": look.size(15)},
        marker={"color": colours, "size": look.size(11 if compared else 9)},
        error_y=whiskers if compared else None,
        customdata=[[escape_text(point.name), _amount(point.costs[name]), number(point.value)] for point in points],
        hovertemplate=f"%{{customdata[0]}}<br>%{{customdata[1]}} {COSTS[name]}<br>%{{customdata[2]}}<extra></extra>",
    )


def _amount(value: float) -> str:
    return count(round(value)) if value >= 10 else number(value, 2)


def costs_frame(shape: Costs) -> pd.DataFrame:
    """Every point."""
    rows = [
        {
            "model": point.name,
            "compared": point.place is not None,
            shape.metric: point.value,
            "low": point.low,
            "high": point.high,
            **{words: point.costs.get(name) for name, words in COSTS.items()},
        }
        for point in shape.points
    ]
    return pd.DataFrame(rows)


COST = Figure(
    "compare-cost",
    "compare",
    lambda shape: f"What {title(shape.metric).lower()} costs",
    _read,
    draw_costs,
    note="compared models in colour, other runs on these data in grey",
    reading="Up and left is better: the line joins the models that no other beats in both. Whiskers: 95 % interval.",
    how=(
        "Seconds of training are wall time, under whatever else the machine did; of several seeds the mean. A "
        "prediction is timed once for each run, on one thread of this machine; memory counts the tensors that are "
        "alive at once."
    ),
    options=(METRIC,),
    tables=lambda shape: {"Costs": costs_frame(shape)},
)
