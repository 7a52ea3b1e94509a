"""Every metric of a run on a split, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.evaluation.intervals import METHOD
from core.evaluation.metrics import confusion, describe_absent
from core.exceptions import NotAvailable
from core.metrics import METRICS as DEFINED
from dashboard.figures import labels, results
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measured:
    """The table of a split's metrics and its number of sentences."""

    table: pd.DataFrame
    n: int
    absent: str = ""
    """Over which classes macro averages are, where some have no sentence."""


def _read(source: Source) -> Measured:
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


def _draw(shown: Measured, look: Look) -> Table:
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
    _read,
    _draw,
    note=lambda shown: f"n = {count(shown.n)}",
    reading=lambda shown: (
        "From and to are the ends of the 95 % interval."
        + (" Tuned: at the thresholds chosen on validation." if "tuned" in shown.table else "")
        + f" {shown.absent}".rstrip()
    ),
    how=f"Intervals: {METHOD}; they speak of these sentences, not of other seeds of the training.",
    tables=lambda shown: {"Metrics": shown.table},
)
