"""What the probabilities are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.data.table import Task
from core.evaluation.intervals import wilson
from core.evaluation.metrics import changed, evaluate
from core.training.scaling import Scaling
from core.training.temperature import as_trained
from dashboard.figures import answers
from dashboard.figures.decisions import BINS, FEW, TICKS, Decision, Floats, Integers, sample, threshold_line
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look, blend


@dataclass(frozen=True)
class Bin:
    """Rows whose probability lies in one tenth: what was claimed and what came true."""

    low: float
    high: float
    n: int
    claimed: float
    true: float
    interval: tuple[float, float]


def reliability(decision: Decision) -> list[Bin]:
    """The bins that hold a row: mean probability and share of rows that are so, with its 95 % interval."""
    happened = decision.correct if decision.positive is None else decision.labels == decision.positive
    places = np.minimum((decision.score * BINS).astype(int), BINS - 1)
    bins = []
    for place in range(BINS):
        inside = places == place
        if n := int(inside.sum()):
            hits = int(happened[inside].sum())
            claimed = float(decision.score[inside].mean())
            bins.append(Bin(place / BINS, (place + 1) / BINS, n, claimed, hits / n, wilson(hits, n)))
    return bins


def bin_table(bins: Sequence[Bin]) -> pd.DataFrame:
    """The bins as a table."""
    columns = ["from", "to", "n", "claimed", "true", "low", "high"]
    return pd.DataFrame([(b.low, b.high, b.n, b.claimed, b.true, *b.interval) for b in bins], columns=columns)


def draw_calibration(bins: Sequence[Bin], threshold: float, score: str, look: Look) -> go.Figure:
    """What came true in each bin of what was claimed, as bars with n; the diagonal would be perfect."""
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    figure.add_bar(
        x=[(each.low + each.high) / 2 for each in bins],
        y=[each.true for each in bins],
        width=[0.92 * (each.high - each.low) for each in bins],
        marker={"color": [blend(t.paper, t.accent, 0.2 if each.n < FEW else 0.5) for each in bins], "cornerradius": 3},
        error_y={
            "array": [each.interval[1] - each.true for each in bins],
            "arrayminus": [each.true - each.interval[0] for each in bins],
            "color": t.ink,
            "thickness": look.size(1.4),
            "width": 0,
        },
        customdata=[[number(each.claimed), count(each.n)] for each in bins],
        hovertemplate="claimed %{customdata[0]}<br>came true %{y:.3f}<br>n = %{customdata[1]}<extra></extra>",
    )
    line = {"color": t.right, "width": look.size(1.2), "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
    for each in bins:
        figure.add_annotation(
            x=(each.low + each.high) / 2, y=1.03, yanchor="bottom", text=count(each.n), font={"size": look.size(14)}
        )
    threshold_line(figure, threshold, look)
    figure.update_xaxes(title=f"{escape_text(score)}, n above", range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="came true", range=[0, 1.13], tickvals=TICKS)
    return figure.drawn()


@dataclass(frozen=True)
class Reliability:
    """A decision whose probabilities are compared with what came true."""

    decision: Decision
    bins: Sequence[Bin]
    temperature: str
    """What was done to the probabilities, in words; empty: nothing."""
    about: tuple[str, ...] = ()
    """How that was done, in sentences."""


CALIBRATED, TRAINED = "calibrated", "as trained"
PROBABILITIES = Option(
    "probabilities",
    "Probabilities",
    lambda source: () if source.record.temperature == 1 else (CALIBRATED, TRAINED),
    "calibrated: at the temperature that was fitted on validation, as everywhere else · as trained: without it",
)
"""Of this figure alone."""


def _read(source: Source) -> Reliability:
    scaling = source.record.scaling
    if scaling.temperature == 1:
        decision = source.once(answers.decision)
        return Reliability(decision, reliability(decision), "")
    report, task = source.report, source.record.task
    before = as_trained(report.probabilities, scaling, task)
    if source.chosen(PROBABILITIES) == TRAINED:
        decision = answers.decided(source, replace(report, probabilities=before))
    else:
        decision = source.once(answers.decision)
    errors = "" if task == "multi" else f": calibration error {_error(report.labels, report.probabilities)}"
    errors = errors and f"{errors}, as trained {_error(report.labels, before)}"
    towards = ""
    if scaling.prior:
        few = changed(report.probabilities, task, scaling)
        towards = " towards the class prior"
        errors += f"; {count(few)} {'answer is' if few == 1 else 'answers are'} another one"
    told = f"temperature {number(scaling.temperature, 2)}{towards}{errors}"
    return Reliability(decision, reliability(decision), told, _about(scaling, task))


def _about(scaling: Scaling, task: Task) -> tuple[str, ...]:
    if task == "multi":
        return (TOWARDS_EACH if scaling.prior else TEMPERATURE,)
    return TOWARDS if scaling.prior else TEMPERATURE, BINNED


def _error(labels: Integers, probabilities: Floats) -> str:
    return number(evaluate(labels, probabilities)["ece"])


def _draw(shape: Reliability, look: Look) -> go.Figure:
    return draw_calibration(shape.bins, shape.decision.threshold, shape.decision.score_name, look)


HOW = (
    "Ten bins of the probability; the whisker is the 95 % interval (Wilson), the number above is n. Pale bars rest on "
    "fewer than 30 sentences."
)
TEMPERATURE = "All logits of the run are divided by the temperature, fitted on validation, which changes no answer."
TOWARDS = (
    "P ∝ prior^(1 − 1/T) · softmax(logits)^(1/T): the temperature T, fitted on validation, moves answers towards how "
    "frequent each class is in training, below 1 away from it; an answer that hardly won may become another one."
)
TOWARDS_EACH = (
    "The temperature T, fitted on validation, divides what the log-odds of each label are apart from those of its "
    "frequency in training; an answer that hardly won may become another one."
)
BINNED = "The calibration error has 15 bins of the top probability."
CALIBRATION = Figure(
    "calibration",
    "performance",
    "Calibration",
    _read,
    _draw,
    note=lambda shape: ", ".join(filter(None, (sample(shape.decision), shape.temperature))),
    reading=(
        "Of the sentences to which the model gives 0.8, eight in ten should be so: bars should end on the dotted line."
    ),
    how=lambda shape: " ".join([HOW, *shape.about]),
    options=(*answers.OPTIONS, PROBABILITIES),
    tables=lambda shape: {"Calibration": bin_table(shape.bins)},
    sizes=lambda shape: {f"{number(each.low, 1)} to {number(each.high, 1)}": each.n for each in shape.bins},
)
