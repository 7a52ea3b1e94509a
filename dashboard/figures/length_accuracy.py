"""Figure of a run's accuracy over the length of a text, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.formatting import count, whole_percent
from dashboard.figures import thresholding
from dashboard.figures.figure import Figure, Source
from dashboard.figures.subplots import Panels, make_whiskers
from dashboard.figures.theme import Look

MOST = 6
"""Groups of texts by length, about equally many texts in each."""
LEAST = 10
"""Texts of a group, at least."""


def group_lengths(words: np.ndarray, right: np.ndarray) -> pd.DataFrame:
    """Return a row for each group of lengths: `least` and `most` words, n, accuracy and its 95 % interval (Wilson)."""
    groups = max(1, min(MOST, len(words) // LEAST))
    ends = np.unique(np.quantile(words, np.arange(1, groups + 1) / groups, method="inverted_cdf"))
    rows, place = [], np.searchsorted(ends, words)
    for number in np.unique(place):
        own, n = place == number, int((place == number).sum())
        low, high = compute_wilson(int(right[own].sum()), n)
        rows.append((int(words[own].min()), int(words[own].max()), n, float(right[own].mean()), low, high))
    return pd.DataFrame(rows, columns=["least", "most", "n", "accuracy", "low", "high"])


def read_lengths(source: Source) -> pd.DataFrame:
    """Read accuracy by length; NotAvailable: the texts are not here."""
    decision = source.read_once(thresholding.read_decision)
    examples = source.report.examples
    if not examples["text"].str.strip().any():
        raise NotAvailable("the texts of this split are not kept")
    words = np.array([len(str(text).split()) for text in examples["text"]])[decision.rows]
    return group_lengths(words, np.asarray(decision.correct, bool))


def draw_lengths(table: pd.DataFrame, look: Look) -> go.Figure:
    """Draw a point with its interval for each group of lengths."""
    t, figure = look.tokens, Panels(look, [[""]], height=300)
    names = [str(a) if a == b else f"{a}–{b}" for a, b in zip(table["least"], table["most"], strict=True)]
    ends = list(zip(table["low"], table["high"], strict=True))
    figure.add_scatter(
        x=names,
        y=table["accuracy"],
        mode="lines+markers",
        line={"color": t.accent, "width": look.scale_size(2)},
        marker={"size": look.scale_size(9)},
        error_y=make_whiskers(table["accuracy"], ends, look.scale_size(1.5)),
        customdata=table["n"],
        hovertemplate="%{x} words, n = %{customdata}: %{y:.3f}<extra></extra>",
    )
    figure.update_xaxes(title="words of a text", type="category")
    figure.update_yaxes(title="accuracy", tickformat=".2f")
    return figure.build_figure()


def describe_lengths(table: pd.DataFrame) -> str:
    """Compare the shortest texts with the longest, as a sentence."""
    first, last = table.iloc[0], table.iloc[-1]
    apart = first["low"] > last["high"] or last["low"] > first["high"]
    said = f"{whole_percent(first['accuracy'])} of texts up to {count(int(first['most']))} words are right, "
    said += f"{whole_percent(last['accuracy'])} of those from {count(int(last['least']))} words on"
    return f"{said}{'' if apart else '; no clear difference'}."


LENGTHS = Figure(
    "lengths",
    "performance",
    "Accuracy by text length",
    read_lengths,
    draw_lengths,
    reading=lambda table: f"{describe_lengths(table)} Whiskers: 95 %.",
    finding=describe_lengths,
    how="Texts are grouped by their number of words, about equally many in each group; Wilson's interval.",
    tables=lambda table: {"Lengths": table},
    sizes=lambda table: {
        f"{a} to {b} words": int(n) for a, b, n in zip(table["least"], table["most"], table["n"], strict=True)
    },
)
