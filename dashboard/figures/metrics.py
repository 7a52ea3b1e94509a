"""Every metric of a run on a split with its interval, each class, and each phenomenon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import METHOD, wilson
from core.evaluation.metrics import confusion, describe_absent
from core.exceptions import NotAvailable
from core.metrics import METRICS as DEFINED
from dashboard.figures import answers, labels, results
from dashboard.figures.decisions import FEW, PARTS, TICKS, Decision, class_table
from dashboard.figures.drawing import NOTHING, Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number, plus_minus
from dashboard.figures.panels import Panels
from dashboard.figures.points import PHENOMENON
from dashboard.figures.results import yardstick_phenomena
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


@dataclass(frozen=True)
class Measured:
    """The table of a split's metrics and its number of sentences."""

    table: pd.DataFrame
    n: int
    absent: str = ""
    """Over which classes macro averages are, where some have no sentence."""


def _read_metrics(source: Source) -> Measured:
    n = len(source.report.examples)
    of_task = labels.metric_table if source.record.task == "multi" else results.metric_table
    table = of_task(source.record, source.split)
    if table.empty:
        raise NotAvailable(f"no metric of {source.split} was recorded")
    return Measured(table, n, absent_classes(source))


def absent_classes(source: Source) -> str:
    """Say over which classes the macro averages of a split are, where some have no sentence."""
    if source.record.task != "single":
        return ""
    report = source.report
    counts = confusion(report.labels, report.probabilities.argmax(1), len(report.classes))
    return describe_absent(counts, report.classes)


def _draw_metrics(shown: Measured, look: Look) -> Table:
    better = [DEFINED[name].better for name in shown.table["metric"]]
    rows = shown.table.drop(columns="metric").assign(better=better)
    value = {name: Column(title, decimals=3) for name, title in TITLES.items() if name in rows}
    return Table(rows, {"title": Column("Metric"), **value, "better": Column("Better")})


TITLES = {
    "value": "Value",
    "low": "From",
    "high": "To",
    "tuned": "Tuned",
    "tuned_low": "Tuned, from",
    "tuned_high": "Tuned, to",
}
METRICS = Figure(
    "metrics",
    "performance",
    "All metrics",
    _read_metrics,
    _draw_metrics,
    note=lambda shown: f"n = {count(shown.n)}",
    reading=lambda shown: (
        "From and to are the ends of the 95 % interval."
        + (" Tuned: at the thresholds chosen on validation." if "tuned" in shown.table else "")
        + f" {shown.absent}".rstrip()
    ),
    how=f"Intervals: {METHOD}; they speak of these sentences, not of other seeds of the training.",
    tables=lambda shown: {"Metrics": shown.table},
)


@dataclass(frozen=True)
class Classes:
    """The table of `class_table` at a threshold."""

    table: pd.DataFrame
    threshold: float


def _read_classes(source: Source) -> Classes:
    decision = source.once(answers.decision)
    return Classes(class_table(decision), decision.threshold)


def _draw_classes(shown: Classes, look: Look) -> Table:
    table = shown.table
    words = {
        part: [_words(*each) for each in zip(table[part], table[f"{part}, low"], table[f"{part}, high"], strict=True)]
        for part in PARTS
    }
    return Table(table[["Class", *PARTS, "n"]].assign(**words), dict.fromkeys(PARTS, Column(alignment="right")))


def _words(value: float, low: float, high: float) -> str:
    if value != value:
        return NOTHING
    return plus_minus(value, low, high) if low == low else number(value)


CLASSES = Figure(
    "each-class",
    "performance",
    "Each class",
    _read_classes,
    _draw_classes,
    note=lambda shown: f"at {number(shown.threshold, 2)}, 95 %",
    reading=(
        "Precision: of those predicted as the class, how many are. Recall: of those that are, how many are predicted. "
        "± is half of the 95 % interval."
    ),
    how=(
        f"F1 is the harmonic mean of precision and recall. Intervals: {METHOD}; where one is lopsided, both ends stand "
        "there."
    ),
    options=answers.OPTIONS,
    tables=lambda shown: {"Classes": shown.table},
    sizes=lambda shown: {str(name): int(n) for name, n in zip(shown.table["Class"], shown.table["n"], strict=True)},
)


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


def _read_phenomena(source: Source) -> Kinds:
    examples = source.report.examples
    if PHENOMENON not in examples:
        raise NotAvailable("these data name no phenomena")
    decision, yardstick = source.once(answers.decision), yardstick_phenomena(source.record, source.split)
    return Kinds(phenomena(decision, examples[PHENOMENON].tolist(), yardstick), len(decision.rows))


PHENOMENA = Figure(
    "phenomena",
    "performance",
    "Phenomena",
    _read_phenomena,
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
