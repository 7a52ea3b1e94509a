"""How the model fares with each phenomenon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import wilson
from core.exceptions import NotAvailable
from dashboard.figures import answers
from dashboard.figures.decisions import FEW, TICKS, Decision
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count
from dashboard.figures.panels import Panels
from dashboard.figures.points import PHENOMENON
from dashboard.figures.results import yardstick_phenomena
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


def phenomena(decision: Decision, names: Sequence[str], yardstick: dict[str, float]) -> pd.DataFrame:
    """Share of right answers for each phenomenon, the worst first.

    Args:
        decision: At the threshold.
        names: The phenomenon of each row of the split.
        yardstick: TF-IDF's accuracy by phenomenon; may be empty.

    Returns:
        Columns phenomenon, accuracy, low, high, n, tfidf.
    """
    found = pd.DataFrame({"phenomenon": np.asarray(names, dtype=object)[decision.rows], "correct": decision.correct})
    rows = []
    for name, group in found.groupby("phenomenon"):
        hits, n = int(group["correct"].sum()), len(group)
        low, high = wilson(hits, n)
        known = yardstick.get(str(name), float("nan"))
        row = {"phenomenon": str(name), "accuracy": hits / n, "low": low, "high": high, "n": n, "tfidf": known}
        rows.append(row)
    columns = ["phenomenon", "accuracy", "low", "high", "n", "tfidf"]
    return pd.DataFrame(rows, columns=columns).sort_values("accuracy", ignore_index=True)


def draw_phenomena(table: pd.DataFrame, look: Look) -> go.Figure:
    """Accuracy of each phenomenon with its interval and n; a ring where TF-IDF lies.

    Args:
        table: phenomenon, accuracy, low, high, n, tfidf; the first row stands at the bottom.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[""]], height=70 + 32 * len(table))
    names = [escape_text(name) for name in table["phenomenon"]]
    figure.add_scatter(
        x=table["tfidf"],
        y=names,
        mode="markers",
        marker={"symbol": "circle-open", "size": look.size(11), "color": t.muted, "line": {"width": look.size(2)}},
        hovertemplate="TF-IDF %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=table["accuracy"],
        y=names,
        mode="markers",
        marker={"size": look.size(10), "color": [t.right if n < FEW else t.accent for n in table["n"]]},
        error_x={
            "array": table["high"] - table["accuracy"],
            "arrayminus": table["accuracy"] - table["low"],
            "thickness": look.size(2),
            "color": t.accent,
            "width": 0,
        },
        customdata=table["n"],
        hovertemplate="%{y}<br>accuracy %{x:.3f}<br>n = %{customdata}<extra></extra>",
    )
    for name, n in zip(names, table["n"], strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(int(n)), font={"size": look.size(14)})
    figure.update_xaxes(title="accuracy, n at the right", range=[0, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8})
    return figure.drawn()


@dataclass(frozen=True)
class Kinds:
    """The table of `phenomena`, and how many texts got an answer."""

    table: pd.DataFrame
    n: int


def _read(source: Source) -> Kinds:
    examples = source.report.examples
    if PHENOMENON not in examples:
        raise NotAvailable("these data name no phenomena")
    decision, yardstick = source.once(answers.decision), yardstick_phenomena(source.record, source.split)
    return Kinds(phenomena(decision, examples[PHENOMENON].tolist(), yardstick), len(decision.rows))


PHENOMENA = Figure(
    "phenomena",
    "performance",
    "Phenomena",
    _read,
    lambda kinds, look: draw_phenomena(kinds.table[::-1], look),
    note=lambda kinds: f"n = {count(kinds.n)}, the worst on top",
    reading=(
        "Whiskers: 95 % interval (Wilson). Ring: TF-IDF with logistic regression, known on test. Grey: fewer than 30 "
        "sentences."
    ),
    how="Each sentence has one phenomenon, its hardest; right is what is right at the threshold.",
    options=answers.OPTIONS,
    tables=lambda kinds: {"Phenomena": kinds.table},
    sizes=lambda kinds: dict(zip(kinds.table["phenomenon"], kinds.table["n"], strict=True)),
)
