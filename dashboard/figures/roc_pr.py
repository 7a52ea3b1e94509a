"""Ranking of texts by probability: ROC curves and precision-recall curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import CURVES, Band
from core.evaluation.metrics import (
    SingleLabelScores,
    compute_pr_curve,
    compute_precision_area,
    compute_roc_area,
    compute_roc_curve,
    count_positives,
)
from core.exceptions import NotAvailable
from core.formatting import count, number
from dashboard.figures import thresholding
from dashboard.figures.decisions import (
    TICKS,
    Decision,
    compute_rates,
    draw_dotted_line,
    draw_threshold_ring,
    get_bands,
    list_drawn_classes,
)
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import Look


@dataclass(frozen=True)
class ClassCurve:
    """ROC or precision-recall curve of one class against all others, with the position of the chosen threshold."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    area: float
    positives: int
    others: int
    at: tuple[float, float] | None = None
    band: Band | None = None  # its 95 % confidence band


DRAWN = 400  # most points of a drawn curve; more would look the same
BANDED = 4  # most drawn bands; more would hide each other, so a single class can be chosen


def compute_roc(decision: Decision) -> list[ClassCurve]:
    """Return the ROC curve of each class: recall against the false positive rate."""
    return _compute_curves(decision, ("fpr", "tpr"))


def compute_pr(decision: Decision) -> list[ClassCurve]:
    """Return the precision-recall curve of each class."""
    return _compute_curves(decision, ("recall", "precision"))


def _compute_curves(decision: Decision, axes: tuple[str, str]) -> list[ClassCurve]:
    """Compute ROC or precision-recall curves, without classes that have no positive rows (for ROC, or no negative)."""
    curves, roc = [], axes == ("fpr", "tpr")
    for place in list_drawn_classes(decision):
        # own: (n,) 1 for the class, 0 for others; pair: (n, 2), since only two columns need sorting
        own, chance = (decision.labels == place).astype(np.int64), decision.probabilities[:, place]
        pair = np.stack([1 - chance, chance], 1)
        points = (compute_roc_curve if roc else compute_pr_curve)(own, pair, 1)
        x, y = (points[axis] for axis in axes)
        if not x:
            continue
        reach = count_positives(SingleLabelScores(own, pair), np.ones((1, len(own))), 1)
        area = float((compute_roc_area if roc else compute_precision_area)(*reach)[0])
        false, recall, precision = compute_rates(decision, place)
        known = decision.positive is not None and (roc or not np.isnan(precision))
        at = ((false, recall) if roc else (recall, precision)) if known else None
        own_n = int(own.sum())
        thin = np.unique(np.linspace(0, len(x) - 1, min(len(x), DRAWN)).round().astype(int))  # includes both ends
        drawn_x, drawn_y = (tuple(values[point] for point in thin) for values in (x, y))
        curves.append(ClassCurve(decision.classes[place], drawn_x, drawn_y, area, own_n, len(own) - own_n, at))
    return curves


def draw_roc(curves: Sequence[ClassCurve], look: Look) -> go.Figure:
    """Draw ROC curves, one line for each class, labelled with the area under the curve."""
    figure = Panels(look, [[""]], height=400)
    draw_dotted_line(figure, (0, 1), look)
    figure.add_annotation(x=0.62, y=0.55, text="guessing", xanchor="left", yanchor="top")
    _draw_curves(figure, curves, look, ROC_AXES, names_at="right")
    return figure.build_figure()


def draw_pr(curves: Sequence[ClassCurve], look: Look) -> go.Figure:
    """Draw precision-recall curves, one line for each class, labelled with its average precision."""
    figure = Panels(look, [[""]], height=400)
    for curve in curves[:1] if len(curves) == 1 else ():
        share = curve.positives / max(curve.positives + curve.others, 1)
        draw_dotted_line(figure, (share, share), look)
        figure.add_annotation(x=0.5, y=share, text="guessing", yanchor="top")
    _draw_curves(figure, curves, look, PR_AXES, names_at="left")
    return figure.build_figure()


def _draw_curves(
    figure: Panels, curves: Sequence[ClassCurve], look: Look, axes: tuple[str, str], *, names_at: str
) -> None:
    """Draw ROC or precision-recall curves with their labels in a free corner and a ring at the chosen threshold."""
    t, gap = look.tokens, min(0.08, 0.9 / max(len(curves), 1))
    for i, curve in enumerate(curves):
        color = t.accent if len(curves) == 1 else t.categories[i % len(t.categories)]
        name = escape_text(curve.name)
        if curve.band is not None:
            area: dict[str, Any] = {"mode": "none", "fill": "toself", "fillcolor": color, "opacity": 0.16}
            x, y = [*curve.band.x, *curve.band.x[::-1]], [*curve.band.high, *curve.band.low[::-1]]
            figure.add_scatter(x=x, y=y, **area, hoverinfo="skip")
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            mode="lines",
            line={"color": color, "width": look.scale_size(3 if len(curves) == 1 else 2.4)},
            hovertemplate=f"{name}<br>{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}<extra></extra>",
        )
        figure.add_annotation(
            x=1 if names_at == "right" else 0,
            y=0.04 + gap * (len(curves) - 1 - i),
            xanchor=names_at,
            text=f"{name} <b>{number(curve.area)}</b>",
            font={"color": color},
        )
        if curve.at is not None:
            draw_threshold_ring(figure, curve.at, f"{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}", look)
    figure.update_xaxes(title=axes[0], range=[-0.02, 1.02], tickvals=TICKS)
    figure.update_yaxes(title=axes[1], range=[-0.02, 1.03], tickvals=TICKS)
    figure.update_layout(margin={"t": 8})


@dataclass(frozen=True)
class Ranking:
    """ROC or precision-recall curves, and the number of texts that they are computed from."""

    curves: Sequence[ClassCurve]
    n: int
    axes: tuple[str, str]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return a table of all points of ROC or precision-recall curves, followed by their confidence bands."""
        x, y = self.axes
        parts = [pd.DataFrame({"class": curve.name, x: curve.x, y: curve.y}) for curve in self.curves]
        banded = [(curve.name, curve.band) for curve in self.curves if curve.band is not None]
        parts += [pd.DataFrame({"class": name, x: band.x, "low": band.low, "high": band.high}) for name, band in banded]
        return pd.concat(parts, ignore_index=True)


ROC_AXES, PR_AXES = ("false positive rate", "recall"), ("recall", "precision")


def _read_ranking(
    source: Source, curves: Callable[[Decision], list[ClassCurve]], side: Literal["roc", "pr"]
) -> Ranking:
    report, decision = source.report, source.read_once(thresholding.read_decision)
    if len(np.unique(decision.labels)) < 2:
        raise NotAvailable("it needs sentences of at least two classes in this split")
    found = curves(decision)
    if len(found) <= BANDED:
        every = [get_bands(report, decision, decision.classes.index(curve.name)) for curve in found]
        drawn = [None if each is None else getattr(each, side) for each in every]
        found = [replace(curve, band=band) for curve, band in zip(found, drawn, strict=True)]
    return Ranking(found, len(decision.rows), ROC_AXES if side == "roc" else PR_AXES)


BAND = f"Bands: 95 % pointwise percentile bootstrap ({CURVES} resamples of the sentences), for up to {BANDED} curves."
ROC = Figure(
    "roc",
    "performance",
    "ROC",
    lambda source: _read_ranking(source, compute_roc, "roc"),
    lambda ranking, look: draw_roc(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, area under the curve",
    reading="True-positive against false-positive rate. Dotted: random guessing. Ring: current threshold.",
    how="Each class against all others; recall is the true-positive rate. Area: the chance that a sentence of the "
    f"class gets a higher probability for it than a sentence of another class. {BAND}",
    options=thresholding.OPTIONS,
    tables=lambda ranking: {"ROC": ranking.table},
    sizes=lambda ranking: {each.name: min(each.positives, each.others) for each in ranking.curves},
)
PR = Figure(
    "pr",
    "performance",
    "Precision and recall",
    lambda source: _read_ranking(source, compute_pr, "pr"),
    lambda ranking, look: draw_pr(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, average precision",
    reading="Precision against recall at every threshold. Ring: current threshold.",
    how="Unlike ROC it shows the cost of a rare class. The number is the average precision: its mean over recall "
    f"gained. {BAND}",
    options=thresholding.OPTIONS,
    tables=lambda ranking: {"Precision and recall": ranking.table},
    sizes=lambda ranking: {each.name: each.positives for each in ranking.curves},
)
