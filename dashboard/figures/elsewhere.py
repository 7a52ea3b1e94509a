"""A run on data that it was not made with: what `sentiscope evaluate` says, as figures. Not of a run's own files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.evaluation.intervals import METHOD
from core.metrics import METRICS
from dashboard.figures.confusion import draw_confusion
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.results import SHOWN, Stat

if TYPE_CHECKING:
    from dashboard.figures.theme import Look

Measured = Mapping[str, Any]
"""What `core.api.evaluate` gives."""
YARDSTICKS = {"tfidf-logreg": "TF-IDF", "tfidf-logreg-chars": "TF-IDF with characters"}


def first_metric(measured: Measured) -> str:
    """By what values of a column are compared."""
    return "accuracy" if measured["task"] == "single" else "f1_macro"


def measured_stats(measured: Measured) -> list[Stat]:
    """The first numbers, drawn between guessing and perfect."""
    at = measured.get("tuned") or measured
    names = SHOWN if measured["task"] == "single" else ("f1_macro", "f1_micro", "subset_accuracy")
    found = []
    for name in (*names, "mae", "quadratic_kappa"):
        if (value := at["metrics"].get(name)) is None:
            continue
        low, high = at["intervals"].get(name) or (None, None)
        guessing = 0.5 if name == "roc_auc" else 1 / len(measured["labels"]) if name == "accuracy" else 0.0
        lower = METRICS[name].better == "lower"
        ends = (0.0, 0.2 if value <= 0.2 else max(1.0, value)) if lower else (min(guessing, value), 1.0)
        found.append(Stat(METRICS[name].title_for(measured["task"]), value, ends, measured["n"], low, high))
    return found


def metric_table(measured: Measured) -> pd.DataFrame:
    """Every metric with its interval; beside it without the rows that were seen in training, and TF-IDF's."""
    at, unseen = measured.get("tuned") or measured, measured["unseen"]
    tuned = "tuned" if measured.get("tuned") else ""
    rows = []
    for name, value in at["metrics"].items():
        low, high = at["intervals"].get(name) or (None, None)
        row = {"metric": name, "title": METRICS[name].title_for(measured["task"]), "value": value}
        row |= {"low": low, "high": high}
        if unseen:
            row["unseen"] = unseen["metrics"].get(name)
        for model in YARDSTICKS:
            if found := measured["yardsticks"].get(model):
                row[model] = (found.get(tuned) or found)["metrics"].get(name)
        rows.append(row)
    return pd.DataFrame(rows)


def value_table(measured: Measured) -> pd.DataFrame:
    """The first metric of each value of the column."""
    by, name = measured["by"], first_metric(measured)
    rows = []
    for each in by["values"]:
        low, high = each["intervals"].get(name) or (None, None)
        found = {by["column"]: each["value"], "rows": each["n"], "value": each["metrics"].get(name)}
        rows.append({**found, "low": low, "high": high})
    return pd.DataFrame(rows)


def confusion_table(measured: Measured) -> pd.DataFrame:
    """Counts, rows true."""
    names = measured["labels"]
    counts = np.array(measured["confusion"])
    return pd.DataFrame({"true": names, **{f"predicted {name}": counts[:, i] for i, name in enumerate(names)}})


_NUMBERS = {"value": Column("Value", decimals=3), "low": Column("From", decimals=3), "high": Column("To", decimals=3)}


def _draw_metrics(measured: Measured, look: Look) -> Table:
    beside = {"unseen": Column("Unseen rows", "Without rows that the run was trained on", 3)}
    beside |= {model: Column(title, "Fitted on what the run was trained on", 3) for model, title in YARDSTICKS.items()}
    return Table(
        metric_table(measured).drop(columns="metric"), {"title": Column("Metric"), **_NUMBERS, **beside}, narrow=True
    )


def _draw_values(measured: Measured, look: Look) -> Table:
    title = METRICS[first_metric(measured)].title_for(measured["task"])
    return Table(value_table(measured), {**_NUMBERS, "value": Column(title, decimals=3)}, narrow=True)


def _where(measured: Measured) -> str:
    return f"n = {count(measured['n'])}"


ELSEWHERE_METRICS = Figure[Measured](
    "elsewhere-metrics",
    "performance",
    "Metrics there",
    None,
    _draw_metrics,
    note=_where,
    reading="From and to are the ends of the 95 % interval.",
    how=f"Intervals: {METHOD}. TF-IDF is logistic regression on words and pairs, and with characters within words.",
    tables=lambda measured: {"Metrics there": metric_table(measured)},
)
ELSEWHERE_CONFUSION = Figure[Measured](
    "elsewhere-confusion",
    "performance",
    "Confusion there",
    None,
    lambda measured, look: draw_confusion(np.array(measured["confusion"]), measured["labels"], look),
    note=_where,
    reading="Rows are the labels of the data, columns what the run predicts.",
    tables=lambda measured: {"Confusion there": confusion_table(measured)},
)
ELSEWHERE_VALUES = Figure[Measured](
    "elsewhere-values",
    "performance",
    lambda measured: f"By {measured['by']['column']}",
    None,
    _draw_values,
    note=_where,
    reading="From and to are the ends of the 95 % interval.",
    tables=lambda measured: {"By value there": value_table(measured)},
)
