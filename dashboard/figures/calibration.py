"""Calibration of predicted probabilities, and the cost of errors at every decision threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.data.dataset import VALIDATION
from core.evaluation.costs import compute_cost, evaluate_threshold
from core.evaluation.intervals import compute_wilson
from core.evaluation.metrics import count_changed, evaluate
from core.exceptions import NotAvailable
from core.formatting import count, number
from core.training.temperature import as_trained
from dashboard.figures import thresholding
from dashboard.figures.decisions import (
    BINS,
    FEW,
    TICKS,
    Decision,
    Floats,
    draw_dotted_line,
    draw_threshold_line,
    draw_threshold_ring,
    write_sample_size,
)
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.source import Option, Source
from dashboard.figures.subplots import Panels, make_whiskers
from dashboard.figures.theme import Look, blend_colors


@dataclass(frozen=True)
class Bin:
    """Calibration bin: rows with similar probabilities, their mean probability, and how often the outcome occurred."""

    low: float
    high: float
    n: int
    claimed: float
    true: float
    interval: tuple[float, float]


def compute_bins(decision: Decision) -> list[Bin]:
    """Compute the non-empty calibration bins: mean probability, and observed share with its 95 % interval."""
    happened = decision.correct if decision.positive is None else decision.labels == decision.positive
    places = np.minimum((decision.score * BINS).astype(int), BINS - 1)
    bins = []
    for place in np.unique(places).tolist():
        inside = places == place
        n, hits = int(inside.sum()), int(happened[inside].sum())
        claimed = float(decision.score[inside].mean())
        bins.append(Bin(place / BINS, (place + 1) / BINS, n, claimed, hits / n, compute_wilson(hits, n)))
    return bins


def build_bin_table(bins: Sequence[Bin]) -> pd.DataFrame:
    """Return calibration bins as a table: bounds, n, mean probability, observed share and its interval."""
    columns = ["from", "to", "n", "claimed", "true", "low", "high"]
    return pd.DataFrame([(b.low, b.high, b.n, b.claimed, b.true, *b.interval) for b in bins], columns=columns)


def draw_calibration(bins: Sequence[Bin], threshold: float, score: str, look: Look) -> go.Figure:
    """Draw a calibration plot: a bar for the observed share in each probability bin; the diagonal would be perfect."""
    t, shares = look.tokens, [each.true for each in bins]
    colors = [blend_colors(t.paper, t.accent, 0.2 if each.n < FEW else 0.5) for each in bins]
    figure = Panels(look, [[""]], height=400)
    figure.add_bar(
        x=[(each.low + each.high) / 2 for each in bins],
        y=shares,
        width=[0.92 * (each.high - each.low) for each in bins],
        marker={"color": colors, "cornerradius": 3},
        error_y=make_whiskers(shares, [each.interval for each in bins], look.scale_size(1.4), t.ink),
        customdata=[[number(each.claimed), count(each.n)] for each in bins],
        hovertemplate="predicted %{customdata[0]}<br>observed %{y:.3f}<br>n = %{customdata[1]}<extra></extra>",
    )
    draw_dotted_line(figure, (0, 1), look)
    for each in bins:
        font = {"size": look.scale_size(14)}
        figure.add_annotation(x=(each.low + each.high) / 2, y=1.03, yanchor="bottom", text=count(each.n), font=font)
    draw_threshold_line(figure, threshold, look)
    figure.update_xaxes(title=f"{escape_text(score)}, n above", range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="observed share", range=[0, 1.13], tickvals=TICKS)
    return figure.build_figure()


@dataclass(frozen=True)
class Reliability:
    """Calibration of a run's decisions: binned probabilities compared with the observed outcomes."""

    decision: Decision
    bins: Sequence[Bin]
    temperature: str  # describes how the probabilities were calibrated; empty: not at all
    about: tuple[str, ...] = ()


CALIBRATED, TRAINED = "calibrated", "as trained"
PROBABILITIES = Option(
    "probabilities",
    "Probabilities",
    lambda source: () if source.record.temperature == 1 else (CALIBRATED, TRAINED),
    "calibrated: with the temperature fitted on validation, as on all pages · as trained: without it",
)


def _read_calibration(source: Source) -> Reliability:
    scaling = source.record.scaling
    report, task, decision = source.report, source.record.task, source.read_once(thresholding.read_decision)
    if scaling.temperature == 1:
        return Reliability(decision, compute_bins(decision), "")
    before = as_trained(report.probabilities, scaling, task)
    if source.get_choice(PROBABILITIES) == TRAINED:
        decision = thresholding.decide_report(source, replace(report, probabilities=before))
    errors, towards = "", ""
    if task != "multi":
        now, then = (number(evaluate(report.labels, each)["ece"]) for each in (report.probabilities, before))
        errors = f": calibration error {now}, as trained {then}"
    if scaling.prior:
        few = count_changed(report.probabilities, task, scaling)
        towards = " towards the class prior"
        errors += f"; {count(few)} {'answer changes' if few == 1 else 'answers change'}"
    told = f"temperature {number(scaling.temperature, 2)}{towards}{errors}"
    about = (TOWARDS_EACH if task == "multi" else TOWARDS) if scaling.prior else TEMPERATURE
    return Reliability(decision, compute_bins(decision), told, (about,) if task == "multi" else (about, BINNED))


HOW = (
    "Ten bins of the probability. Whisker: 95 % interval (Wilson). Number above: n. Pale bars: fewer than 30 sentences."
)
TEMPERATURE = "The run divides all logits by the temperature, fitted on validation; no answer changes."
TOWARDS = (
    "P ∝ prior^(1 − 1/T) · softmax(logits)^(1/T): the temperature T, fitted on validation, moves probabilities "
    "towards the class shares in training (T below 1: away from them); a close answer may change."
)
TOWARDS_EACH = (
    "The temperature T, fitted on validation, divides the difference between each label's log-odds and those of its "
    "frequency in training; a close answer may change."
)
BINNED = "The calibration error uses 15 bins of the top probability."
CALIBRATION = Figure(
    "calibration",
    "performance",
    "Calibration",
    _read_calibration,
    lambda shape, look: draw_calibration(shape.bins, shape.decision.threshold, shape.decision.score_name, look),
    note=lambda shape: ", ".join(filter(None, (write_sample_size(shape.decision), shape.temperature))),
    reading="At a probability of 0.8, 80 % should be true (dotted line).",
    how=lambda shape: " ".join([HOW, *shape.about]),
    options=(*thresholding.OPTIONS, PROBABILITIES),
    tables=lambda shape: {"Calibration": build_bin_table(shape.bins)},
    sizes=lambda shape: {f"{number(each.low, 1)} to {number(each.high, 1)}": each.n for each in shape.bins},
)


THRESHOLDS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class CostCurves:
    """Cost of errors on one class at all decision thresholds, and at the chosen threshold."""

    name: str
    ratio: float  # cost of a false negative, in false positives
    threshold: float
    chosen: bool  # whether the threshold has the lowest cost on validation; else the user set it
    here: dict[str, Any]  # `core.evaluation.costs.evaluate_threshold` at the threshold
    curves: dict[str, Floats]  # split → (101,) cost per sentence at `THRESHOLDS`; the page's split comes last

    @property
    def split(self) -> str:
        """Return the name of the split that the cost figure is about."""
        return next(reversed(self.curves))

    @property
    def baseline_cost(self) -> float:
        """Return the cost per sentence of predicting the class always or never, whichever is lower."""
        curve = self.curves[self.split]
        return float(min(curve[0], curve[-1]))


def _read_costs(source: Source) -> CostCurves:
    name = thresholding.get_class(source)
    ratio = float(source.get_choice(thresholding.COST)) if name else 0.0
    if not ratio:
        about = "" if name or source.record.task == "multi" else " and a class: --with rule=CLASS"
        raise NotAvailable(f"it needs the cost of a miss: --with cost=5{about}")
    slider = thresholding.get_slider(source)
    threshold = float(source.get_choice(slider))
    splits = dict.fromkeys((VALIDATION, source.split))
    reports = {split: source.reader.make_report(source.record, split) for split in splits}
    known = {split: thresholding.get_class_scores(report, name) for split, report in reports.items()}
    curves = {split: compute_cost(*given, ratio, THRESHOLDS) for split, given in known.items()}
    here = evaluate_threshold(*known[source.split], ratio, threshold)
    return CostCurves(name, ratio, threshold, threshold == slider.get_default(source), here, curves)


def _draw_costs(costs: CostCurves, look: Look) -> go.Figure:
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    for split, curve in costs.curves.items():
        here = split == costs.split
        color = t.accent if here else t.right
        figure.add_scatter(
            x=THRESHOLDS,
            y=curve,
            mode="lines",
            line={"color": color, "width": look.scale_size(3 if here else 2)},
            hovertemplate=f"{escape_text(split)}<br>threshold %{{x:.2f}}<br>cost %{{y:.3f}}<extra></extra>",
        )
    ends = costs.here["interval"]
    low, high = ends or (costs.here["cost"],) * 2
    at = costs.threshold, costs.here["cost"]
    whisker = make_whiskers([at[1]], [(low, high)], look.scale_size(1.4), t.ink)
    draw_threshold_ring(figure, at, f"cost %{{y:.3f}}{_write_interval(ends)}", look, error_y=whisker)
    draw_threshold_line(figure, costs.threshold, look)
    draw_dotted_line(figure, (costs.baseline_cost, costs.baseline_cost), look)
    figure.add_annotation(x=0.5, y=costs.baseline_cost, text="without a model", yanchor="bottom")
    figure.update_xaxes(title=f"threshold on P({escape_text(costs.name)})", range=[-0.02, 1.02], tickvals=TICKS)
    figure.update_yaxes(title="cost per sentence", range=[0, 1.3 * max(costs.baseline_cost, high)])
    figure.update_layout(margin={"t": 8})
    return figure.build_figure()


def _write_reading(costs: CostCurves) -> str:
    here = costs.here
    where = f"At {number(costs.threshold, 2)}{' (lowest cost on validation)' if costs.chosen else ''}"
    return (
        f"{where}, {count(here['false_negatives'])} false negatives and {count(here['false_positives'])} false "
        f"positives cost {number(here['cost'])} per sentence{_write_interval(here['interval'])}; at 0.50: "
        f"{number(here['cost_at_half'])}. Dotted: always or never {costs.name}, the cheaper one"
        f"{'.' if costs.split == VALIDATION else '; grey: validation.'}"
    )


def _write_interval(ends: Sequence[float] | None) -> str:
    return f" ({number(ends[0])} to {number(ends[1])})" if ends else ""


def build_cost_table(costs: CostCurves) -> pd.DataFrame:
    """Return the cost of errors per sentence of each split at each decision threshold, as a table."""
    return pd.DataFrame({"threshold": THRESHOLDS, **costs.curves})


COSTS = Figure(
    "costs",
    "performance",
    "Cost at each threshold",
    _read_costs,
    _draw_costs,
    note=lambda costs: (
        f"n = {count(costs.here['n'])}, a false negative of {costs.name} costs {costs.ratio:g} false positives"
    ),
    reading=_write_reading,
    how="A false positive costs 1, a false negative the chosen ratio; the sum is divided by the number of sentences. "
    "The threshold has the lowest cost on validation (for calibrated probabilities 1 / (1 + ratio); Elkan "
    "2001, equation 2). Its interval is a 95 % percentile bootstrap over the sentences.",
    options=thresholding.OPTIONS,
    tables=lambda costs: {"Costs": build_cost_table(costs)},
    sizes=lambda costs: {costs.split: costs.here["n"]},
)
