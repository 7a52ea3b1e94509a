"""What several models do over all thresholds, what their probabilities are worth, and where their λ ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from dashboard.figures.calibration import Bin, bin_table, reliability
from dashboard.figures.comparing import colour, letter_of
from dashboard.figures.decisions import TICKS, Decision, decide
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number, subscript
from dashboard.figures.panels import Panels
from dashboard.figures.ranking import Curve, draw_roc, roc_curves
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look, spread

if TYPE_CHECKING:
    from core.runs.sides import Side

CLASS = Option(
    "class",
    "Class",
    lambda source: source.record.classes,
    "The class that stands against all others",
    usual=lambda source: source.record.classes[-1],
    words=lambda source, name: f"class {name}",
)


def _decisions(source: Source) -> Iterator[tuple[str, Side, Decision]]:
    """Each model, its first run, and how it decides about the class at 0.5."""
    number = source.record.classes.index(str(source.chosen(CLASS)))
    names = (f"not {source.record.classes[number]}", source.record.classes[number])
    for side in source.sides.sides:
        answers = next(iter(side.answers.values()))
        chance = answers.probabilities[:, number]
        labels = answers.labels if answers.labels.ndim == 1 else None
        has = (labels == number) if labels is not None else answers.labels[:, number] > 0
        pair = np.stack([1 - chance, chance], 1)
        yield letter_of(source, side), side, decide(has.astype(np.int64), pair, names, "", 0.5)


def _label(letter: str, side: Side) -> str:
    return f"{letter} {side.name}"


@dataclass(frozen=True)
class Rankings:
    """A curve for each model, in order."""

    curves: Sequence[Curve]
    about: str
    n: int


def _rankings(source: Source) -> Rankings:
    found = []
    for letter, side, decision in _decisions(source):
        for curve in roc_curves(decision):
            found.append(dataclasses.replace(curve, name=_label(letter, side)))
    if not found:
        raise NotAvailable("it needs sentences of the class and others in this split")
    return Rankings(found, str(source.chosen(CLASS)), found[0].positives + found[0].others)


ROC = Figure(
    "compare-roc",
    "compare",
    "ROC",
    _rankings,
    lambda shape, look: draw_roc(shape.curves, look),
    note=lambda shape: f"{shape.about} against the rest, n = {count(shape.n)}, area under the curve",
    reading="How many of the class are found against how many others are taken for it; the ring is a threshold of 0.5.",
    how="Of a model with several seeds the first run is drawn.",
    options=(CLASS,),
    sizes=lambda shape: {each.name: min(each.positives, each.others) for each in shape.curves},
)


@dataclass(frozen=True)
class Reliabilities:
    """Each model's bins, in order."""

    models: Sequence[tuple[str, Sequence[Bin]]]
    about: str
    n: int


def _reliabilities(source: Source) -> Reliabilities:
    found = [
        (_label(letter, side), reliability(decision), decision.total) for letter, side, decision in _decisions(source)
    ]
    return Reliabilities([(name, bins) for name, bins, _ in found], str(source.chosen(CLASS)), found[0][2])


def draw_reliabilities(shape: Reliabilities, look: Look) -> go.Figure:
    """What came true of what was claimed, a line for each model."""
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    line = {"color": t.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
    for place, (name, bins) in enumerate(shape.models):
        own = colour(look, place)
        figure.add_scatter(
            x=[each.claimed for each in bins],
            y=[each.true for each in bins],
            mode="lines+markers",
            line={"color": own, "width": look.size(2.4)},
            marker={"color": own, "size": look.size(7)},
            customdata=[[number(each.claimed), count(each.n)] for each in bins],
            hovertemplate=f"{escape_text(name)}<br>claimed %{{customdata[0]}}<br>came true %{{y:.3f}}"
            "<br>n = %{customdata[1]}<extra></extra>",
        )
        figure.add_annotation(
            x=0,
            y=0.98 - 0.08 * place,
            xanchor="left",
            text=escape_text(name),
            font={"color": own},
        )
    figure.update_xaxes(title=f"P({escape_text(shape.about)})", range=[-0.02, 1.02], tickvals=TICKS)
    figure.update_yaxes(title="came true", range=[-0.02, 1.03], tickvals=TICKS)
    return figure.drawn()


def _bins_frame(shape: Reliabilities) -> pd.DataFrame:
    return pd.concat([bin_table(bins).assign(model=name) for name, bins in shape.models], ignore_index=True)


CALIBRATION = Figure(
    "compare-calibration",
    "compare",
    "Calibration",
    _reliabilities,
    draw_reliabilities,
    note=lambda shape: f"{shape.about}, n = {count(shape.n)}",
    reading="Of what a model gives 0.8, eight in ten should be so: its line should lie on the dotted one.",
    how="Ten bins of the probability, each at its mean. Of a model with several seeds the first run is drawn.",
    options=(CLASS,),
    tables=lambda shape: {"Calibration": _bins_frame(shape)},
)


@dataclass(frozen=True)
class Lambdas:
    """λ of each model that has some, at the epoch that was kept: by layer, the further components."""

    models: Sequence[tuple[int, str, Sequence[Sequence[float]]]]
    """Place among the models, name, λ by layer."""


def _lambdas(source: Source) -> Lambdas:
    found = []
    for place, side in enumerate(source.sides.sides):
        learned = side.model.records[0].results.get("lambda", [])
        if any(learned):
            found.append((place, _label(letter_of(source, side), side), learned))
    if not found:
        raise NotAvailable("none of these models has a lambda")
    return Lambdas(found)


SYMBOLS = ("circle", "diamond", "square", "triangle-up")


def draw_lambdas(shape: Lambdas, look: Look) -> go.Figure:
    """λ over the layers: a colour for each model, a symbol for each component."""
    t = look.tokens
    figure = Panels(look, [[""]], height=340)
    layers = max(len(learned) for _, _, learned in shape.models)
    ends: list[tuple[float, str, str]] = []
    for place, name, learned in shape.models:
        own = colour(look, place)
        for component in range(max(map(len, learned))):
            values = [row[component] if component < len(row) else None for row in learned]
            figure.add_scatter(
                x=list(range(1, len(values) + 1)),
                y=values,
                mode="lines+markers",
                line={"color": own, "width": look.size(1.6), "dash": "solid" if component == 0 else "dot"},
                marker={"color": own, "size": look.size(10), "symbol": SYMBOLS[component % len(SYMBOLS)]},
                hovertemplate=f"{escape_text(name)}<br>layer %{{x}}, λ{subscript(component + 1)} %{{y:.3f}}"
                "<extra></extra>",
            )
            end = next(value for value in reversed(values) if value is not None)
            letter = name.partition(" ")[0]
            ends.append((end, f"{escape_text(letter)} λ{subscript(component + 1)} {number(end)}", own))
    extent = max(end for end, _, _ in ends) - min(0.0, min(end for end, _, _ in ends))
    for y, (_, text, own) in zip(spread([end for end, _, _ in ends], 0.08 * extent), ends, strict=True):
        figure.add_annotation(x=layers, y=y, xanchor="left", xshift=12, text=text, font={"color": own})
    figure.add_hline(0, line={"color": t.right, "width": look.size(1)})
    figure.update_xaxes(title="layer", tickvals=list(range(1, layers + 1)), range=[0.8, layers + 0.5])
    figure.update_yaxes(title="λ", nticks=6)
    return figure.drawn()


def _lambda_frame(shape: Lambdas) -> pd.DataFrame:
    rows = [
        {"model": name, "layer": layer, "component": component, "lambda": value}
        for _, name, learned in shape.models
        for layer, row in enumerate(learned, start=1)
        for component, value in enumerate(row, start=1)
    ]
    return pd.DataFrame(rows)


LAMBDAS = Figure(
    "compare-lambdas",
    "compare",
    "λ by layer",
    _lambdas,
    draw_lambdas,
    note="of the epoch that was kept",
    reading="How much each further map counts; the first has 1. Where a model subtracts, its λ is what is taken away.",
    how="The mean over heads where heads have their own. Of a model with several seeds the first run is drawn.",
    tables=lambda shape: {"Lambdas": _lambda_frame(shape)},
)
