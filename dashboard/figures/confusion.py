"""Confusion matrix, and confidence of right and wrong predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.formatting import count, number
from dashboard.figures import thresholding
from dashboard.figures.decisions import BARS, TICKS, Decision, Integers, draw_threshold_line, write_sample_size
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.source import Option, Source
from dashboard.figures.subplots import FEW, Panels, draw_bar_matrix
from dashboard.figures.theme import Look, blend_colors


def build_confusion_table(classes: Sequence[str], counts: Integers, head: str = "true label") -> pd.DataFrame:
    """Return a confusion matrix as a table for screen readers; `head` is the heading of the true classes."""
    return pd.DataFrame({head: classes, **{f"predicted {name}": counts[:, i] for i, name in enumerate(classes)}})


def count_outcomes(decision: Decision) -> tuple[Integers, Integers]:
    """Count right and wrong predictions in equally wide bins of the predicted probability."""
    places = np.minimum((decision.score * BARS).astype(int), BARS - 1)
    right = np.bincount(places[decision.correct], minlength=BARS)
    return right, np.bincount(places[~decision.correct], minlength=BARS)


def draw_confidence(
    right: NDArray[np.int64], wrong: NDArray[np.int64], threshold: float, score: str, look: Look
) -> go.Figure:
    """Draw a histogram of right (grey) and wrong (magenta) predictions over the predicted probability."""
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    middles = [(place + 0.5) / BARS for place in range(BARS)]
    for name, values, color in (("right", right, t.right), ("wrong", wrong, t.wrong)):
        marker = {"color": color, "line": {"width": 0}}
        hover = f"%{{x:.2f}}<br>{name}: %{{y}}<extra></extra>"
        figure.add_bar(x=middles, y=values, width=0.92 / BARS, marker=marker, hovertemplate=hover)
    draw_threshold_line(figure, threshold, look)
    labels = ((f"right {count(int(right.sum()))}", t.muted, 0.0), (f"wrong {count(int(wrong.sum()))}", t.wrong, 0.3))
    for text, color, x in labels:
        corner: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(x=x, y=1, text=text, font={"color": color}, **corner)
    figure.update_xaxes(title=escape_text(score), range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="sentences", rangemode="tozero", nticks=6)
    figure.update_layout(barmode="stack")
    return figure.build_figure()


def draw_confusion(
    counts: NDArray[np.int64], classes: Sequence[str], look: Look, *, normalized: bool = False
) -> go.Figure:
    """Draw a confusion matrix with a bar in each cell; a click returns the numbers of the true and predicted label."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    strengths = shares if normalized else counts / max(int(counts.sum(1).max(initial=0)), 1)
    names, few = [escape_text(name) for name in classes], len(classes) < FEW
    if few:  # each name with its title, so that no text is turned
        said = f"<span style='color:{look.tokens.muted}'>%s</span>%s<b>%s</b>"
        rows = [said % ("true", "<br>", name) for name in names]
        columns = [said % ("predicted", " " if len(names) < FEW - 1 else "<br>", name) for name in names]
    return draw_bar_matrix(
        look,
        rows if few else names,
        columns if few else names,
        color=lambda i, j: _color_cell(strengths[i, j], i == j, look),
        words=lambda i, j: _write_cell(int(counts[i, j]), shares[i, j], normalized),
        hover=lambda i, j: f"true {names[i]}, predicted {names[j]}: {count(int(counts[i, j]))}",
        height=410,
        titles=("", "") if few else ("true", "predicted"),
    )


def _write_cell(cell: int, share: float, normalized: bool) -> str:
    large, small = (number(share), count(cell)) if normalized else (count(cell), number(share))
    return f"<b style='font-size:1.6em'>{large}</b><br>{small}"


def _color_cell(share: float, correct: bool, look: Look) -> str:
    """Return the colour of a confusion matrix cell: grey if correct, else magenta, stronger for a larger share."""
    t = look.tokens
    if correct:
        return blend_colors(t.paper, t.right, 0.08 + 0.3 * share)
    if not share:
        return t.paper
    return blend_colors(t.paper, t.wrong, 0.06 + min(np.sqrt(share) * (1.2 if look.dark else 0.9), 0.44))


CELLS = Option(
    "cells",
    "Cells",
    lambda source: ("counts", "shares"),
    "Shares of the row do not depend on class frequency",
    words=lambda source, cells: {"shares": "shares of the row"}.get(cells, cells),
    endings={"counts": "", "shares": "-shares"},
)


@dataclass(frozen=True)
class ConfusionMatrix:
    """Confusion matrix of a run's decisions; with `shares`, each cell shows its share of the row in large print."""

    decision: Decision
    shares: bool


def read_matrix(source: Source) -> ConfusionMatrix:
    """Read the confusion matrix of a run at the chosen decision threshold."""
    return ConfusionMatrix(source.read_once(thresholding.read_decision), source.get_choice(CELLS) == "shares")


def describe_errors(matrix: ConfusionMatrix) -> str:
    """Describe the errors of a confusion matrix in a sentence: how many, and the most frequent confusions."""
    decision = matrix.decision
    counts, names, n = decision.counts, decision.classes, len(decision.rows)
    wrong = n - int(np.trace(counts))
    if not wrong:
        return f"All {count(n)} sentences are right."
    cells = [(int(counts[i, j]), i, j) for i in range(len(names)) for j in range(len(names)) if i != j and counts[i, j]]
    most = sorted(cells, key=lambda cell: -cell[0])[:2]
    named = ", ".join(f"{count(n)} {names[i]} predicted {names[j]}" for n, i, j in most)
    head = f"{count(wrong)} of {count(n)} {'is' if wrong == 1 else 'are'} wrong"
    return f"{head}: {named}{', and others' if len(cells) > len(most) else ''}."


CONFUSION = Figure(
    "confusion",
    "performance",
    "Confusion matrix",
    read_matrix,
    lambda shape, look: draw_confusion(shape.decision.counts, shape.decision.classes, look, normalized=shape.shares),
    note=lambda matrix: write_sample_size(matrix.decision),
    reading="Rows are true classes, columns predicted ones; the diagonal is correct.",
    finding=describe_errors,
    how="Counts, and their share of the row, which does not depend on class frequency; the colour follows the large "
    "number. Predictions depend on the threshold.",
    options=(*thresholding.OPTIONS, CELLS),
    spread=(CELLS,),
    tables=lambda matrix: {"Confusion": build_confusion_table(matrix.decision.classes, matrix.decision.counts)},
    sizes=lambda matrix: dict(zip(matrix.decision.classes, matrix.decision.counts.sum(1).tolist(), strict=True)),
)
CONFIDENCE = Figure(
    "confidence",
    "performance",
    "Confidence of right and wrong answers",
    lambda source: source.read_once(thresholding.read_decision),
    lambda decision, look: draw_confidence(*count_outcomes(decision), decision.threshold, decision.score_name, look),
    note=write_sample_size,
    reading=lambda decision: (
        "Grey: right; magenta: wrong. A good model has its magenta "
        f"{'at the left' if decision.positive is None else 'in the middle'}."
    ),
    how="Each bar covers a twentieth of the probabilities; the line is the threshold.",
    options=thresholding.OPTIONS,
    sizes=lambda each: {"right answers": int(each.correct.sum()), "wrong answers": int((~each.correct).sum())},
)
