"""Two readings beside each other: what each λ does to the answer here and there, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from core.exceptions import NotAvailable
from dashboard.figures.counterparts import Counterparts, counterparts
from dashboard.figures.differing import OTHER_TEXT, against, named, same_class
from dashboard.figures.figure import Figure
from dashboard.figures.lambda_bench import DASHES, EVERY, LambdaBench, lambda_bench
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import subscript
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.interpret.lambdas import LambdaCurve
    from dashboard.figures.theme import Look

DIGITS = 6
"""Two values are the same that agree in so many."""


@dataclass(frozen=True, eq=False)
class DifferingLambdas:
    """The curves of two readings whose λ correspond, side by side."""

    now: LambdaBench
    other: LambdaBench
    names: tuple[str, str]
    pairs: Sequence[tuple[LambdaCurve, LambdaCurve]]
    """By layer and component, the factor on all last."""
    matching: Counterparts


def differing_lambdas(now: Source, other: Source) -> DifferingLambdas:
    """The curves of both, each as edited, towards the same class.

    Raises:
        NotAvailable: one has no λ or no maps of its text, or the other no such class.
    """
    same = same_class(now, other)
    for each in (now, same):
        if each.record.config.model.attention.components < 2:
            raise NotAvailable(f"run '{each.record.run}' has one map in each head, so there is no λ")
    mine, theirs = lambda_bench(now), lambda_bench(same)
    matching = counterparts(now.record, other.record)
    return DifferingLambdas(mine, theirs, named(now, other), corresponding(mine, theirs, matching), matching)


def corresponding(
    now: LambdaBench, other: LambdaBench, matching: Counterparts
) -> list[tuple[LambdaCurve, LambdaCurve]]:
    """The curves of λ that stand for each other; the factor on all λ always does."""
    there = {(curve.layer, curve.component): curve for curve in other.found.curves}
    return [
        (curve, there[curve.layer, curve.component])
        for curve in now.found.curves
        if curve.component is None or (matching.layers and curve.component in matching.components)
    ]


def common(mine: LambdaCurve, its: LambdaCurve) -> list[tuple[float, float]]:
    """Values at which both were read, with the difference of the log-odds; nothing is guessed between them."""
    there = {round(value, DIGITS): odds for value, odds in zip(its.values, its.log_odds, strict=True)}
    return [
        (value, odds - there[round(value, DIGITS)])
        for value, odds in zip(mine.values, mine.log_odds, strict=True)
        if round(value, DIGITS) in there
    ]


def _name(curve: LambdaCurve) -> str:
    return EVERY if curve.component is None else f"λ{subscript(curve.component)}"


def _draw(shape: DifferingLambdas, look: Look) -> go.Figure:
    t, size = look.tokens, look.size
    layers = sorted({mine.layer for mine, _ in shape.pairs if mine.layer is not None})
    columns = {layer: place for place, layer in enumerate([*layers, None], start=1)}
    titles = [*(f"layer {layer + 1}" for layer in layers), EVERY]
    space = {"horizontal_spacing": 0.2 / len(titles), "vertical_spacing": 0.07}
    blank = [""] * len(titles)
    figure = Panels(look, [titles, blank, blank], height=640, **space, shared_yaxes=True, shared_xaxes=True)
    told, about = set[str](), escape_text(shape.now.found.target)
    for pair in shape.pairs:
        column = columns[pair[0].layer]
        dash = DASHES[((pair[0].component or 1) - 1) % len(DASHES)]
        for curve, name, colour in zip(pair, shape.names, (t.ink, t.right), strict=True):
            said = escape_text(name)
            line = {"color": colour, "width": size(2.4 if colour == t.ink else 2), "dash": dash}
            for row, heights in enumerate((curve.probabilities, curve.log_odds), start=1):
                words = f"P({about})" if row == 1 else f"log-odds of {about}"
                hover = f"{said}<br>{_name(curve)} %{{x:.3f}}<br>{words} %{{y:.3f}}<extra></extra>"
                group = {"legendgroup": name, "showlegend": name not in told, "name": said, "hovertemplate": hover}
                told.add(name)
                figure.add_scatter(row=row, col=column, x=curve.values, y=heights, mode="lines", line=line, **group)
                where = {"x": [curve.now], "y": [curve.at(curve.now)[2 - row]]}
                dot = {"mode": "markers", "marker": {"color": colour, "size": size(10)}}
                figure.add_scatter(row=row, col=column, **where, **dot, **group | {"showlegend": False})
        gaps = common(*pair)
        hover = f"{_name(pair[0])} %{{x:.3f}}<br>difference of log-odds %{{y:.3f}}<extra></extra>"
        figure.add_scatter(
            row=3,
            col=column,
            x=[value for value, _ in gaps],
            y=[gap for _, gap in gaps],
            mode="lines+markers",
            line={"color": t.accent, "width": size(2), "dash": dash},
            marker={"size": size(5)},
            hovertemplate=hover,
            showlegend=False,
        )
    even = {"color": t.muted, "width": 1, "dash": "dot"}
    if shape.now.half and shape.other.half:
        figure.add_hline(0.5, row=1, line=even, layer="below")
    for row in (2, 3):
        figure.add_hline(0, row=row, line=even, layer="below")
    figure.update_yaxes(row=1, range=[-0.04, 1.04], nticks=5)
    odds = [0.0, *(each for pair in shape.pairs for curve in pair for each in curve.log_odds)]
    apart = [0.0, *(gap for pair in shape.pairs for _, gap in common(*pair))]
    for row, numbers in ((2, odds), (3, apart)):
        room = 0.08 * max(max(numbers) - min(numbers), 0.5)
        figure.update_yaxes(row=row, range=[min(numbers) - room, max(numbers) + room], nticks=5)
    for row, title in enumerate((f"P({about})", "log-odds", "difference"), start=1):
        figure.update_yaxes(row=row, col=1, title=title)
    figure.update_xaxes(row=3, nticks=5, title="λ")
    figure.update_xaxes(row=3, col=len(titles), title="factor")
    legend = {"orientation": "h", "x": 0, "y": 1.07, "yanchor": "bottom", "font": {"color": t.ink}}
    figure.update_layout(showlegend=True, legend=legend, margin={"t": size(70)})
    return figure.drawn()


def _reading(shape: DifferingLambdas) -> str:
    several = len({mine.component for mine, _ in shape.pairs if mine.component is not None}) > 1
    dashes = " λ₂ is dashed, λ₃ dotted." if several else ""
    return " ".join(
        [
            f"P({shape.now.found.target}) and its log-odds wherever a λ is put: the first reading in ink, the second "
            f"in grey, a dot where the λ stands; below, the first minus the second where both were read.{dashes}",
            *shape.matching.said,
            *filter(None, dict.fromkeys(bench.found.note for bench in (shape.now, shape.other))),
        ]
    )


def differing_curve_table(shape: DifferingLambdas) -> pd.DataFrame:
    """One row for each value at which both were read; without a layer: a factor on every λ."""
    rows = [
        {
            "layer": None if mine.layer is None else mine.layer + 1,
            "component": mine.component,
            "value": value,
            "towards": shape.now.found.target,
            "log_odds": mine.at(value)[0],
            "other_log_odds": mine.at(value)[0] - gap,
            "difference": gap,
        }
        for mine, its in shape.pairs
        for value, gap in common(mine, its)
    ]
    return pd.DataFrame(rows).astype({"layer": "Int64", "component": "Int64"})


LAMBDA_DIFFERENCE = Figure(
    "difference-lambdas",
    "sentence",
    "Difference along each λ",
    lambda source: differing_lambdas(source, against(source)),
    _draw,
    note=lambda shape: f"{shape.names[0]} minus {shape.names[1]}, towards {shape.now.found.target}",
    reading=_reading,
    needs="lambda",
    options=(TOWARDS, OTHER_TEXT),
    tables=lambda shape: {"Difference along λ": differing_curve_table(shape)},
)
