"""Curves of several models compared: ROC, calibration, λ by layer, and score against cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, format_subscript, number
from core.metrics import format_title, get_metric
from core.runs.efficiency import Efficiency
from dashboard.figures.decisions import TICKS, Decision, apply_threshold, draw_dotted_line
from dashboard.figures.drawing import Panels, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.leaderboard import read_metric
from dashboard.figures.model_comparison import METRIC, compare_models, get_letter, get_model_color
from dashboard.figures.theme import SYMBOLS, Look
from dashboard.figures.threshold_curves import Bin, ClassCurve, build_bin_table, compute_bins, compute_roc, draw_roc

if TYPE_CHECKING:
    from core.runs.comparison import ModelPredictions

Lambdas = Sequence[tuple[int, str, Sequence[Sequence[float]]]]
"""For each model: its place in the comparison, its name, and λ by layer and map (without the first) when saved."""
COSTS = {
    "parameters": "parameters",
    "seconds": "seconds of training",
    "one": "milliseconds for one text",
    "memory": "MB for 64 texts",
}
SCALE = {"memory": 1e-6}
MANY = 4  # compared models that need more than one panel
FEWEST = 2  # models with a known cost that a panel needs
SERIES = (tuple(range(1, 10)), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
MOST_TICKS = 5
BEYOND = 1.1  # factor by which an axis extends beyond its points

CLASS = Option(
    "class",
    "Class",
    lambda source: source.record.classes,
    "The class compared with all others",
    usual=lambda source: source.record.classes[-1],
    words=lambda source, name: f"class {name}",
)


def _iterate_decisions(source: Source) -> Iterator[tuple[str, Decision]]:
    """Yield each model's name with its first run's decisions about the chosen class at threshold 0.5."""
    number = source.record.classes.index(str(source.get_choice(CLASS)))
    names = (f"not {source.record.classes[number]}", source.record.classes[number])
    for side in source.sides.sides:
        answers = next(iter(side.answers.values()))
        chance = answers.probabilities[:, number]
        has = answers.labels == number if answers.labels.ndim == 1 else answers.labels[:, number] > 0
        decision = apply_threshold(has.astype(np.int64), np.stack([1 - chance, chance], 1), names, "", 0.5)
        yield label_model(source, side), decision


def label_model(source: Source, side: ModelPredictions) -> str:
    """Return the letter (A, B …) that a comparison gives a model, and the model's name."""
    return f"{get_letter(source, side)} {source.reader.label_run(side.name)}"


@dataclass(frozen=True)
class Rankings:
    """ROC curves of several models for one class."""

    curves: Sequence[ClassCurve]
    about: str
    n: int


def _read_rankings(source: Source) -> Rankings:
    found = [replace(each, name=name) for name, made in _iterate_decisions(source) for each in compute_roc(made)]
    if not found:
        raise NotAvailable("it needs sentences of the class and others in this split")
    return Rankings(found, str(source.get_choice(CLASS)), found[0].positives + found[0].others)


ROC = Figure("compare-roc", "compare", "ROC").add_details(
    read=_read_rankings,
    draw=lambda shape, look: draw_roc(shape.curves, look),
    note=lambda shape: f"{shape.about} against the rest, n = {count(shape.n)}, area under the curve",
    reading="True-positive against false-positive rate at every threshold. Ring: threshold 0.5.",
    how="For a model with several seeds, the first run is drawn.",
    options=(CLASS,),
    sizes=lambda shape: {each.name: min(each.positives, each.others) for each in shape.curves},
)


@dataclass(frozen=True)
class Reliabilities:
    """Calibration bins of several models for one class."""

    models: Sequence[tuple[str, Sequence[Bin]]]
    about: str
    n: int


def _read_reliabilities(source: Source) -> Reliabilities:
    found = list(_iterate_decisions(source))
    bins = [(name, compute_bins(decision)) for name, decision in found]
    return Reliabilities(bins, str(source.get_choice(CLASS)), found[0][1].total)


def _draw_reliabilities(shape: Reliabilities, look: Look) -> go.Figure:
    figure = Panels(look, [[""]], height=400)
    draw_dotted_line(figure, (0, 1), look)
    for place, (name, bins) in enumerate(shape.models):
        own, x, y = get_model_color(look, place), [each.claimed for each in bins], [each.true for each in bins]
        hover = f"{escape_text(name)}<br>predicted %{{customdata[0]}}<br>observed %{{y:.3f}}<br>n = %{{customdata[1]}}"
        known = [[number(each.claimed), count(each.n)] for each in bins]
        figure.add_scatter(x=x, y=y, stroke=(own, 2.4), dots=(own, 7), customdata=known, hover=hover)
        figure.add_annotation(x=0, y=0.98 - 0.08 * place, xanchor="left", text=escape_text(name), font={"color": own})
    figure.update_xaxes(title=f"P({escape_text(shape.about)})", range=[-0.02, 1.02], tickvals=TICKS)
    figure.update_yaxes(title="observed share", range=[-0.02, 1.03], tickvals=TICKS)
    return figure.build_figure()


CALIBRATION = Figure("compare-calibration", "compare", "Calibration").add_details(
    read=_read_reliabilities,
    draw=_draw_reliabilities,
    note=lambda shape: f"{shape.about}, n = {count(shape.n)}",
    reading="At a probability of 0.8, 80 % should be true (dotted line).",
    how="Ten bins of the probability, each at its mean. For a model with several seeds, the first run is drawn.",
    options=(CLASS,),
    tables=lambda shape: {
        "Calibration": pd.concat(
            [build_bin_table(bins).assign(model=name) for name, bins in shape.models], ignore_index=True
        )
    },
)


def _read_lambdas(source: Source) -> Lambdas:
    found = [
        (place, label_model(source, side), learned)
        for place, side in enumerate(source.sides.sides)
        if any(learned := side.model.records[0].results.get("lambda", []))
    ]
    if not found:
        raise NotAvailable("none of these models has a lambda")
    return found


def _draw_lambdas(shape: Lambdas, look: Look) -> go.Figure:
    figure = Panels(look, [[""]], height=340)
    layers = max(len(learned) for _, _, learned in shape)
    ends: list[tuple[str, float, str]] = []
    for place, name, learned in shape:
        own = get_model_color(look, place)
        for component in range(max(map(len, learned))):
            symbol = f"λ{format_subscript(component + 1)}"
            values = [row[component] if component < len(row) else None for row in learned]
            stroke, dots = (own, 1.6, "dot" if component else "solid"), (own, 10, SYMBOLS[component % len(SYMBOLS)])
            hover = f"{escape_text(name)}<br>layer %{{x}}, {symbol} %{{y:.3f}}"
            figure.add_scatter(x=list(range(1, len(values) + 1)), y=values, stroke=stroke, dots=dots, hover=hover)
            end = next(value for value in reversed(values) if value is not None)
            ends.append((f"{escape_text(name.partition(' ')[0])} {symbol} {number(end)}", end, own))
    extent = max(end for _, end, _ in ends) - min(0.0, min(end for _, end, _ in ends))
    figure.add_end_labels(ends, 0.08 * extent, x=layers, xshift=12)
    figure.add_hline(0, line={"color": look.tokens.right, "width": look.scale_size(1)})
    figure.update_xaxes(title="layer", tickvals=list(range(1, layers + 1)), range=[0.8, layers + 0.5])
    figure.update_yaxes(title="λ", nticks=6)
    return figure.build_figure()


def _build_lambda_table(shape: Lambdas) -> pd.DataFrame:
    rows = [
        {"model": name, "layer": layer, "component": component, "lambda": value}
        for _, name, learned in shape
        for layer, row in enumerate(learned, start=1)
        for component, value in enumerate(row, start=1)
    ]
    return pd.DataFrame(rows)


LAMBDAS = Figure("compare-lambdas", "compare", "λ by layer", _read_lambdas, _draw_lambdas).add_details(
    note="at the saved epoch",
    reading="Weight of each further map, relative to the first.",
    how="If a model subtracts, λ is the weight of what it subtracts. Mean over heads if each head has its own λ. For a "
    "model with several seeds, the first run is drawn.",
    tables=lambda shape: {"Lambdas": _build_lambda_table(shape)},
)


@dataclass(frozen=True)
class Point:
    """Score and costs of one compared model, or of another run on the same data."""

    name: str
    value: float
    low: float | None
    high: float | None
    costs: dict[str, float]
    place: int | None  # among the compared models; None: another run


@dataclass(frozen=True)
class CostComparison:
    """Score and costs (such as time per text) of several models."""

    points: Sequence[Point]
    metric: str

    @property
    def panels(self) -> list[str]:
        """Return the cost measures known for at least two of the compared models; of few models only one measure."""
        known = [point.costs for point in self.points if point.place is not None]
        found = [name for name in COSTS if sum(costs.get(name, 0) > 0 for costs in known) >= FEWEST]
        return found if len(known) >= MANY else [name for name in found if name == "one"] or found[:1]

    @property
    def best(self) -> dict[str, list[Point]]:
        """Return, for each cost measure, the models not beaten by another in both cost and score, cheapest first."""
        sign = 1 if get_metric(self.metric).better == "higher" else -1
        found: dict[str, list[Point]] = {name: [] for name in self.panels}
        for name, front in found.items():
            known = [point for point in self.points if point.costs.get(name)]
            for point in sorted(known, key=lambda each: (each.costs[name], -sign * each.value)):
                if not front or sign * point.value > sign * front[-1].value:
                    front.append(point)
        return found


def _read_costs(source: Source) -> CostComparison:
    shape = compare_models(source)
    points, shown = [], set[str]()
    for place, (side, model) in enumerate(zip(source.sides.sides, shape.models, strict=True)):
        known = model["metrics"][shape.metric]
        costs = [_get_costs(source.reader.read_efficiency(record)) for record in side.model.records]
        common = [name for name in COSTS if all(name in one for one in costs)]
        means = {name: sum(one[name] for one in costs) / len(costs) for name in common}
        low, high = known["interval"] or (None, None)  # no interval if all resamples agree
        points.append(Point(label_model(source, side), known["mean"], low, high, means, place))
        shown |= {record.run for record in side.model.records}
    for record in source.reader.list_runs():
        value = read_metric(record, shape.metric, source.split)
        same = record.status == "done" and record.data_fingerprint == source.record.data_fingerprint
        if same and record.run not in shown and value is not None:
            known_costs = _get_costs(source.reader.read_efficiency(record))
            points.append(Point(source.reader.label_run(record.run), value, None, None, known_costs, None))
    return CostComparison(points, shape.metric)


def _get_costs(known: Efficiency) -> dict[str, float]:
    found = {name: getattr(known, name) for name in COSTS}
    return {name: float(value) * SCALE.get(name, 1) for name, value in found.items() if value}


def _draw_costs(shape: CostComparison, look: Look) -> go.Figure:
    t, names = look.tokens, shape.panels
    columns, rows = min(2, len(names)), math.ceil(len(names) / 2)
    gaps = {"horizontal_spacing": 0.09, "vertical_spacing": 0.2 if rows > 1 else 0.0}
    figure = Panels(look, [[""] * columns] * rows, height=330 * rows, **gaps)
    for place in range(len(names), rows * columns):
        figure.update_xaxes(row=rows, col=place % 2 + 1, visible=False)
        figure.update_yaxes(row=rows, col=place % 2 + 1, visible=False)
    for place, name in enumerate(names):
        at = {"row": place // 2 + 1, "col": place % 2 + 1}
        best_x, best_y = zip(*((point.costs[name], point.value) for point in shape.best[name]), strict=True)
        figure.add_scatter(**at, x=best_x, y=best_y, stroke=(t.right, 1.2), line={"shape": "hv"}, hoverinfo="skip")
        known = [point for point in shape.points if point.costs.get(name)]
        for chosen in (False, True):
            _draw_points(figure, at, [point for point in known if (point.place is not None) == chosen], name, look)
        ticks = compute_log_ticks(costs := [point.costs[name] for point in known])
        low, high = math.log10(min(*costs, *ticks)), math.log10(max(*costs, *ticks))
        room = max(0.1 * (high - low), 0.01)  # every tick is inside, and a point at an end has room for its letter
        units = [next(((s, u) for s, u in ((1e6, "M"), (1e3, "k")) if tick >= s), (1.0, "")) for tick in ticks]
        texts = [f"{tick / scale:g}{unit}" for tick, (scale, unit) in zip(ticks, units, strict=True)]
        words: dict[str, Any] = {"tickvals": ticks, "ticktext": texts, "range": [low - room, high + room]}
        figure.update_xaxes(**at, title=f"{COSTS[name]} (log)", type="log", **words, showgrid=False)
        figure.update_yaxes(**at, title=escape_text(format_title(shape.metric)) if place % 2 == 0 else "", nticks=5)
    return figure.build_figure()


def compute_log_ticks(values: Sequence[float]) -> list[float]:
    """Return a limited number of round tick values for a logarithmic axis, as dense as the limit allows."""
    low, high = min(values) / BEYOND, max(values) * BEYOND
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in SERIES:
        every = [round(digit * 10.0**power, 9) for power in powers for digit in digits]
        if len(ticks := [tick for tick in every if low <= tick <= high]) <= MOST_TICKS:
            return ticks if len(ticks) > 1 else sorted({float(f"{value:.3g}") for value in (min(values), max(values))})
    return [ticks[0], ticks[-1]]


def _draw_points(figure: Panels, at: dict[str, int], points: Sequence[Point], name: str, look: Look) -> None:
    t, compared = look.tokens, bool(points) and points[0].place is not None
    costs = [point.costs[name] for point in points]
    amounts = [count(round(cost)) if cost >= 10 else number(cost, 2) for cost in costs]
    colors = [t.right if point.place is None else get_model_color(look, point.place) for point in points]
    values = [each.value for each in points]
    ends = [(each.low or each.value, each.high or each.value) for each in points]
    figure.add_scatter(
        **at,
        x=costs,
        y=values,
        mode="markers+text" if compared else "markers",
        text=[escape_text(point.name.partition(" ")[0]) if compared else "" for point in points],
        textposition="middle right",
        textfont={"color": t.ink, "size": look.scale_size(15)},
        dots=(colors, 11 if compared else 9),
        error_y=make_whiskers(values, ends, look.scale_size(1.2), t.muted) if compared else None,
        customdata=[[escape_text(p.name), amount, number(p.value)] for p, amount in zip(points, amounts, strict=True)],
        hover=f"%{{customdata[0]}}<br>%{{customdata[1]}} {COSTS[name]}<br>%{{customdata[2]}}",
    )


def _build_costs_table(shape: CostComparison) -> pd.DataFrame:
    rows = [
        (point.name, point.place is not None, point.value, point.low, point.high, *map(point.costs.get, COSTS))
        for point in shape.points
    ]
    return pd.DataFrame(rows, columns=["model", "compared", shape.metric, "low", "high", *COSTS.values()])


COST = Figure("compare-cost", "compare", lambda shape: f"{format_title(shape.metric)} against cost").add_details(
    read=_read_costs,
    draw=_draw_costs,
    note="compared models in colour, other runs on these data in grey",
    reading="Up and left is better. Line: best trade-offs. Whiskers: 95 % interval.",
    how="The line joins the models that no other model beats in both. Training time is wall time, whatever else the "
    "machine did; mean over seeds. Each run's prediction is timed once, on one thread of this machine; memory counts "
    "the tensors that are alive at once.",
    options=(METRIC,),
    tables=lambda shape: {"Costs": _build_costs_table(shape)},
)
