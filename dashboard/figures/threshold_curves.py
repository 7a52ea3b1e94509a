"""Curves over all decision thresholds: ROC, precision and recall, calibration, and the cost of errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.data.dataset import VALIDATION
from core.evaluation import metrics
from core.evaluation.costs import compute_cost, evaluate_threshold
from core.evaluation.intervals import CURVES, Band, compute_wilson
from core.exceptions import NotAvailable
from core.formatting import count, number
from core.training.temperature import as_trained
from dashboard.figures import decisions, thresholding
from dashboard.figures.decisions import BINS, FEW, TICKS, Decision, Floats, draw_dotted_line, draw_threshold_ring
from dashboard.figures.drawing import Panels, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.theme import Look, blend_colors

DRAWN = 400  # most points of a drawn curve; more would look the same
BANDED = 4  # most drawn bands; more would hide each other, so a single class can be chosen
ROC_AXES, PR_AXES = ("false positive rate", "recall"), ("recall", "precision")
BAND = f"Bands: 95 % pointwise percentile bootstrap ({CURVES} resamples of the sentences), for up to {BANDED} curves."
CALIBRATED, TRAINED = "calibrated", "as trained"
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
THRESHOLDS = np.linspace(0, 1, 101)


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


def compute_roc(decision: Decision) -> list[ClassCurve]:
    """Return the ROC curve of each class: recall against the false positive rate."""
    return _compute_curves(decision, ("fpr", "tpr"))


def compute_pr(decision: Decision) -> list[ClassCurve]:
    """Return the precision-recall curve of each class."""
    return _compute_curves(decision, ("recall", "precision"))


def _compute_curves(decision: Decision, axes: tuple[str, str]) -> list[ClassCurve]:
    """Compute ROC or precision-recall curves, without classes that have no positive rows (for ROC, or no negative)."""
    curves, roc = [], axes == ("fpr", "tpr")
    for place in range(len(decision.classes)) if decision.positive is None else [decision.positive]:
        # own: (n,) 1 for the class, 0 for others; pair: (n, 2), since only two columns need sorting
        own, chance = (decision.labels == place).astype(np.int64), decision.probabilities[:, place]
        pair = np.stack([1 - chance, chance], 1)
        points = (metrics.compute_roc_curve if roc else metrics.compute_pr_curve)(own, pair, 1)
        x, y = (points[axis] for axis in axes)
        if not x:
            continue
        reach = metrics.count_positives(metrics.SingleLabelScores(own, pair), np.ones((1, len(own))), 1)
        area = float((metrics.compute_roc_area if roc else metrics.compute_precision_area)(*reach)[0])
        false, recall, precision = decisions.compute_rates(decision, place)
        known = decision.positive is not None and (roc or not np.isnan(precision))
        at, own_n = ((false, recall) if roc else (recall, precision)) if known else None, int(own.sum())
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
    t, gap = look.tokens, min(0.08, 0.9 / max(len(curves), 1))
    for i, curve in enumerate(curves):
        color = t.accent if len(curves) == 1 else t.categories[i % len(t.categories)]
        name, said = escape_text(curve.name), f"{axes[0]} %{{x:.3f}}<br>{axes[1]} %{{y:.3f}}"
        if curve.band is not None:
            figure.add_band(curve.band.x, (curve.band.low, curve.band.high), color)
        width = 3 if len(curves) == 1 else 2.4
        figure.add_scatter(x=curve.x, y=curve.y, stroke=(color, width), hover=f"{name}<br>{said}")
        x, y, text = int(names_at == "right"), 0.04 + gap * (len(curves) - 1 - i), f"{name} <b>{number(curve.area)}</b>"
        figure.add_annotation(x=x, y=y, xanchor=names_at, text=text, font={"color": color})
        if curve.at is not None:
            draw_threshold_ring(figure, curve.at, said, look)
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


def _read_ranking(
    source: Source, curves: Callable[[Decision], list[ClassCurve]], side: Literal["roc", "pr"]
) -> Ranking:
    report, decision = source.report, source.read_once(thresholding.read_decision)
    if len(np.unique(decision.labels)) < 2:
        raise NotAvailable("it needs sentences of at least two classes in this split")
    found = curves(decision)
    if len(found) <= BANDED:
        every = [decisions.get_bands(report, decision, decision.classes.index(curve.name)) for curve in found]
        drawn = [None if each is None else getattr(each, side) for each in every]
        found = [replace(curve, band=band) for curve, band in zip(found, drawn, strict=True)]
    return Ranking(found, len(decision.rows), ROC_AXES if side == "roc" else PR_AXES)


ROC = Figure("roc", "performance", "ROC").add_details(
    read=lambda source: _read_ranking(source, compute_roc, "roc"),
    draw=lambda ranking, look: draw_roc(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, area under the curve",
    reading="True-positive against false-positive rate. Dotted: random guessing. Ring: current threshold.",
    how="Each class against all others; recall is the true-positive rate. Area: the chance that a sentence of the "
    f"class gets a higher probability for it than a sentence of another class. {BAND}",
    options=thresholding.OPTIONS,
    tables=lambda ranking: {"ROC": ranking.table},
    sizes=lambda ranking: {each.name: min(each.positives, each.others) for each in ranking.curves},
)
PR = Figure("pr", "performance", "Precision and recall").add_details(
    read=lambda source: _read_ranking(source, compute_pr, "pr"),
    draw=lambda ranking, look: draw_pr(ranking.curves, look),
    note=lambda ranking: f"n = {count(ranking.n)}, average precision",
    reading="Precision against recall at every threshold. Ring: current threshold.",
    how="Unlike ROC it shows the cost of a rare class. The number is the average precision: its mean over recall "
    f"gained. {BAND}",
    options=thresholding.OPTIONS,
    tables=lambda ranking: {"Precision and recall": ranking.table},
    sizes=lambda ranking: {each.name: each.positives for each in ranking.curves},
)


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
        hover="predicted %{customdata[0]}<br>observed %{y:.3f}<br>n = %{customdata[1]}",
    )
    draw_dotted_line(figure, (0, 1), look)
    for each in bins:
        font = {"size": look.scale_size(14)}
        figure.add_annotation(x=(each.low + each.high) / 2, y=1.03, yanchor="bottom", text=count(each.n), font=font)
    decisions.draw_threshold_line(figure, threshold, look)
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
    errors = ""
    if task != "multi":
        now, then = (number(metrics.evaluate(report.labels, each)["ece"]) for each in (report.probabilities, before))
        errors = f"calibration error {now} ({then} before)"
    about = (TOWARDS_EACH if task == "multi" else TOWARDS) if scaling.prior else TEMPERATURE
    about = f"{about} Temperature: {number(scaling.temperature, 2)}."
    if scaling.prior:
        few = metrics.count_changed(report.probabilities, task, scaling)
        about += f" {count(few)} {'answer changes' if few == 1 else 'answers change'}."
    return Reliability(decision, compute_bins(decision), errors, (about,) if task == "multi" else (about, BINNED))


CALIBRATION = Figure("calibration", "performance", "Calibration").add_details(
    read=_read_calibration,
    draw=lambda shape, look: draw_calibration(shape.bins, shape.decision.threshold, shape.decision.score_name, look),
    note=lambda shape: ", ".join(filter(None, (decisions.write_sample_size(shape.decision), shape.temperature))),
    reading=lambda shape: (
        "At a probability of 0.8, 80 % should be true (dotted line). Thin lines: 95 % interval."
        + " Vertical line: threshold." * (shape.decision.threshold is not None)
    ),
    how=lambda shape: " ".join([HOW, *shape.about]),
    options=(*thresholding.OPTIONS, PROBABILITIES),
    tables=lambda shape: {"Calibration": build_bin_table(shape.bins)},
    sizes=lambda shape: {f"{number(each.low, 1)} to {number(each.high, 1)}": each.n for each in shape.bins},
)


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
        stroke = (t.accent, 3) if split == costs.split else (t.right, 2)
        hover = f"{escape_text(split)}<br>threshold %{{x:.2f}}<br>cost %{{y:.3f}}"
        figure.add_scatter(x=THRESHOLDS, y=curve, stroke=stroke, hover=hover)
    at, ends = (costs.threshold, costs.here["cost"]), costs.here["interval"]
    low, high = ends or (at[1], at[1])
    whisker = make_whiskers([at[1]], [(low, high)], look.scale_size(1.4), t.ink)
    draw_threshold_ring(figure, at, f"cost %{{y:.3f}}{_write_interval(ends)}", look, error_y=whisker)
    decisions.draw_threshold_line(figure, costs.threshold, look)
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


COSTS = Figure("costs", "performance", "Cost at each threshold", _read_costs, _draw_costs).add_details(
    note=lambda costs: (
        f"n = {count(costs.here['n'])}, a false negative of {costs.name} costs {costs.ratio:g} false positives"
    ),
    reading=_write_reading,
    how="A false positive costs 1, a false negative the chosen ratio; the sum is divided by the number of sentences. "
    "The threshold has the lowest cost on validation (for calibrated probabilities 1 / (1 + ratio); Elkan "
    "2001, equation 2). Its interval is a 95 % percentile bootstrap over the sentences.",
    options=thresholding.OPTIONS,
    tables=lambda costs: {"Costs": pd.DataFrame({"threshold": THRESHOLDS, **costs.curves})},
    sizes=lambda costs: {costs.split: costs.here["n"]},
)
