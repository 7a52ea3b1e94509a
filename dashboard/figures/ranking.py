"""How well the probabilities rank: ROC, and precision against recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import CURVES, Band
from core.evaluation.metrics import pr_points, roc_points
from core.evaluation.scores import Single, precision_area, reached, roc_area
from core.exceptions import NotAvailable
from dashboard.figures import answers
from dashboard.figures.decisions import Decision, Floats, Integers, bands_of, ranked, rates
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


@dataclass(frozen=True)
class Curve:
    """One class against all others over all thresholds, and where the chosen threshold lies on it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    area: float
    positives: int
    others: int
    at: tuple[float, float] | None = None
    band: Band | None = None
    """How far it could have run otherwise."""


DRAWN = 400
"""Points of a curve that are drawn; more cannot be told apart."""
BANDED = 4
"""More bands than this hide each other; a single class can be chosen."""


def roc_curves(decision: Decision) -> list[Curve]:
    """Recall against the false positive rate; classes of which there is nothing, or nothing else, are left out."""
    curves = []
    for place in ranked(decision):
        points = roc_points(*_against_rest(decision, place), 1)
        if not points["fpr"]:
            continue
        own = int((decision.labels == place).sum())
        false, recall, _ = rates(decision, place)
        curves.append(
            Curve(
                decision.classes[place],
                *_thin(points["fpr"], points["tpr"]),
                _area(decision, place, ranking=True),
                own,
                len(decision.labels) - own,
                None if decision.positive is None else (false, recall),
            )
        )
    return curves


def pr_curves(decision: Decision) -> list[Curve]:
    """Precision against recall; classes of which there is nothing are left out."""
    curves = []
    for place in ranked(decision):
        points = pr_points(*_against_rest(decision, place), 1)
        if not points["recall"]:
            continue
        own = int((decision.labels == place).sum())
        _, recall, precision = rates(decision, place)
        known = decision.positive is not None and not np.isnan(precision)
        curves.append(
            Curve(
                decision.classes[place],
                *_thin(points["recall"], points["precision"]),
                _area(decision, place, ranking=False),
                own,
                len(decision.labels) - own,
                (recall, precision) if known else None,
            )
        )
    return curves


def _thin(x: Sequence[float], y: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At most `DRAWN` points, both ends among them."""
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), DRAWN)).round().astype(int))
    return tuple(x[place] for place in places), tuple(y[place] for place in places)


def _against_rest(decision: Decision, number: int) -> tuple[Integers, Floats]:
    """(n,) 1 for a class and 0 for all others, and (n, 2) the probabilities: two columns to sort, not one per class."""
    chance = decision.probabilities[:, number]
    return (decision.labels == number).astype(np.int64), np.stack([1 - chance, chance], 1)


def _area(decision: Decision, number: int, *, ranking: bool) -> float:
    scores = Single(*_against_rest(decision, number))
    curve = reached(scores, np.ones((1, len(scores.labels))), 1)
    return float((roc_area if ranking else precision_area)(*curve)[0])


def draw_roc(curves: Sequence[Curve], look: Look) -> go.Figure:
    """True against false positive rate, one line for each class, named with its area."""
    figure = Panels(look, [[""]], height=400)
    _reference(figure, (0, 1), (0, 1), look)
    figure.add_annotation(x=0.62, y=0.55, text="guessing", xanchor="left", yanchor="top")
    _lines(figure, curves, look, ROC_AXES, names_at="right")
    return figure.drawn()


def draw_pr(curves: Sequence[Curve], look: Look) -> go.Figure:
    """Precision against recall, one line for each class, named with its average precision."""
    figure = Panels(look, [[""]], height=400)
    for curve in curves[:1] if len(curves) == 1 else ():
        share = curve.positives / max(curve.positives + curve.others, 1)
        _reference(figure, (0, 1), (share, share), look)
        figure.add_annotation(x=0.5, y=share, text="guessing", yanchor="top")
    _lines(figure, curves, look, PR_AXES, names_at="left")
    return figure.drawn()


def _reference(figure: Panels, x: tuple[float, float], y: tuple[float, float], look: Look) -> None:
    line = {"color": look.tokens.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _lines(
    figure: Panels, curves: Sequence[Curve], look: Look, axes: tuple[str, str], *, names_at: Literal["left", "right"]
) -> None:
    """The curves, their names in the lower corner that they leave free, and a ring where the threshold lies."""
    t, gap = look.tokens, min(0.08, 0.9 / max(len(curves), 1))
    for i, curve in enumerate(curves):
        colour = t.accent if len(curves) == 1 else t.categories[i % len(t.categories)]
        name = escape_text(curve.name)
        if curve.band is not None:
            figure.add_scatter(
                x=[*curve.band.x, *curve.band.x[::-1]],
                y=[*curve.band.high, *curve.band.low[::-1]],
                mode="none",
                fill="toself",
                fillcolor=colour,
                opacity=0.16,
                hoverinfo="skip",
            )
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            mode="lines",
            line={"color": colour, "width": look.size(3 if len(curves) == 1 else 2.4)},
            hovertemplate=f"{name}<br>{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}<extra></extra>",
        )
        figure.add_annotation(
            x=1 if names_at == "right" else 0,
            y=0.04 + gap * (len(curves) - 1 - i),
            xanchor=names_at,
            text=f"{name} <b>{number(curve.area)}</b>",
            font={"color": colour},
        )
        if curve.at is not None:
            figure.add_scatter(
                x=[curve.at[0]],
                y=[curve.at[1]],
                mode="markers",
                marker={"size": look.size(15), "color": t.paper, "line": {"width": look.size(3), "color": t.ink}},
                hovertemplate=f"at the threshold<br>{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}<extra></extra>",
            )
    figure.update_xaxes(title=axes[0], range=[-0.02, 1.02], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_yaxes(title=axes[1], range=[-0.02, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_layout(margin={"t": 8})


@dataclass(frozen=True)
class Ranking:
    """Curves over all thresholds, and how many texts they rest on."""

    curves: Sequence[Curve]
    n: int
    axes: tuple[str, str]
    """What lies on x and y."""

    @cached_property
    def table(self) -> pd.DataFrame:
        """Every drawn point of every curve, and below the points of its band: class, x, y, low, high."""
        x, y = self.axes
        parts = [pd.DataFrame({"class": curve.name, x: curve.x, y: curve.y}) for curve in self.curves]
        banded = [(curve.name, curve.band) for curve in self.curves if curve.band is not None]
        parts += [pd.DataFrame({"class": name, x: band.x, "low": band.low, "high": band.high}) for name, band in banded]
        return pd.concat(parts, ignore_index=True)


ROC_AXES, PR_AXES = ("false positive rate", "recall"), ("recall", "precision")


def _ranking(source: Source, curves: Callable[[Decision], list[Curve]], side: Literal["roc", "pr"]) -> Ranking:
    report, decision = source.report, source.once(answers.decision)
    if len(np.unique(decision.labels)) < 2:
        raise NotAvailable("it needs sentences of at least two classes in this split")
    found = curves(decision)
    if len(found) <= BANDED:
        every = [bands_of(report, decision, decision.classes.index(curve.name)) for curve in found]
        drawn = [None if each is None else getattr(each, side) for each in every]
        found = [replace(curve, band=band) for curve, band in zip(found, drawn, strict=True)]
    return Ranking(found, len(decision.rows), ROC_AXES if side == "roc" else PR_AXES)


BAND = f"Bands: 95 % pointwise percentile bootstrap ({CURVES} resamples of the sentences), for up to {BANDED} curves."
ROC = Figure(
    "roc",
    "performance",
    "ROC",
    lambda source: _ranking(source, roc_curves, "roc"),
    lambda ranking, look: draw_roc(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, area under the curve",
    reading=(
        "How many of a class are found (recall) against how many others are taken for it, over all thresholds; "
        "dotted: guessing, ring: the threshold."
    ),
    how=(
        "Each class against all others. The area is the chance that a sentence of the class gets a higher probability"
        f" for it than a sentence of another class. {BAND}"
    ),
    options=answers.OPTIONS,
    tables=lambda ranking: {"ROC": ranking.table},
    sizes=lambda ranking: {each.name: min(each.positives, each.others) for each in ranking.curves},
)
PR = Figure(
    "pr",
    "performance",
    "Precision and recall",
    lambda source: _ranking(source, pr_curves, "pr"),
    lambda ranking, look: draw_pr(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, average precision",
    reading=(
        "Of those predicted as the class, how many are (precision), against how many of it are found; ring: the "
        "threshold."
    ),
    how=(
        "Unlike ROC it shows what a rare class costs. The number is the average precision: the mean over recall gained."
        f" {BAND}"
    ),
    options=answers.OPTIONS,
    tables=lambda ranking: {"Precision and recall": ranking.table},
    sizes=lambda ranking: {each.name: each.positives for each in ranking.curves},
)
