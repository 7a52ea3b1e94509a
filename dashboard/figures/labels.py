"""Several labels per text: how each label fares, and what its own threshold changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.metrics import per_class
from core.evaluation.scores import HALF, label_names
from core.exceptions import NotAvailable
from core.metrics import METRICS, metrics_of
from core.runs.record import RunRecord
from dashboard.figures.decisions import FEW, TICKS, Decision, Floats, Report
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count
from dashboard.figures.panels import Panels
from dashboard.figures.results import Stat
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

AT_HALF, TUNED = "0.5", "tuned"
SHOWN = ("f1_macro", "f1_micro", "average_precision", "hamming_loss")
COLUMNS = {
    "label": "Label",
    "n": "n",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "average_precision": "AUPR",
    "roc_auc": "ROC-AUC",
    "threshold": "Threshold",
    "tuned_precision": "Precision, tuned",
    "tuned_recall": "Recall, tuned",
    "tuned_f1": "F1, tuned",
}


def thresholds(record: RunRecord) -> Floats | None:
    """(C,) those that the run chose on its validation split; None where it has none."""
    found = record.results.get("tuned", {}).get("thresholds")
    return None if not found else np.array([found.get(name, HALF) for name in record.classes])


def named_limits(record: RunRecord) -> dict[str, float]:
    """By label the threshold from which a run says it: the tuned one where there is one."""
    return dict(zip(record.classes, map(float, limits(record, TUNED)), strict=True))


def choices(record: RunRecord) -> list[str]:
    """Where the line can be drawn for all labels, what models are compared at first."""
    return [AT_HALF] if thresholds(record) is None else [TUNED, AT_HALF]


def limits(record: RunRecord, choice: str) -> Floats:
    """(C,) the thresholds of a choice."""
    found = thresholds(record) if choice == TUNED else None
    return np.full(len(record.classes), HALF) if found is None else found


def with_predictions(report: Report, decision: Decision, used: Floats) -> Report:
    """The report whose examples predict all labels at these thresholds, and the probability of the answer about one.

    Args:
        report: Of the split.
        decision: About one label.
        used: (C,) thresholds of all labels, that of the one included.
    """
    predicted = report.probabilities > used
    names = label_names(predicted, report.classes)
    chance = decision.probabilities[np.arange(len(predicted)), decision.predicted]
    return dataclasses.replace(report, examples=report.examples.assign(predicted=names, probability=chance))


def label_table(report: Report, tuned: Floats | None) -> pd.DataFrame:
    """Every label at 0.5 and, where there are any, at its tuned threshold; the columns of `COLUMNS`, frequent first."""
    given = report.labels, report.probabilities, report.classes
    half, own = per_class(*given, "multi"), {} if tuned is None else per_class(*given, "multi", tuned)
    rows = [_row(name, found, own.get(name, {})) for name, found in half.items()]
    table = pd.DataFrame(rows).reindex(columns=[name for name in COLUMNS if tuned is not None or "tuned" not in name])
    return table.sort_values("n", ascending=False, kind="stable", ignore_index=True)


def _row(name: str, half: Mapping[str, float], own: Mapping[str, float]) -> dict[str, Any]:
    ranked = {key: half.get(key, np.nan) for key in ("average_precision", "roc_auc")}
    parts = ("precision", "recall", "f1")
    return {
        "label": name,
        "n": int(half["support"]),
        **{key: half[key] for key in parts},
        **ranked,
        "threshold": own.get("threshold", HALF),
        **{f"tuned_{key}": own.get(key, np.nan) for key in parts},
    }


def metric_stats(record: RunRecord, split: str, report: Report, choice: str) -> list[Stat]:
    """The first numbers of a split at the chosen thresholds; the left end of AUPR is what guessing reaches."""
    stats = []
    for name in SHOWN:
        value, low, high = _figure(record, split, name, choice)
        if value is None:
            continue
        guessing = float(report.labels.mean()) if name == "average_precision" else 0.0
        ends = (0.0, 0.2 if value <= 0.2 else 1.0) if METRICS[name].better == "lower" else (guessing, 1.0)
        stats.append(Stat(METRICS[name].title_for("multi"), value, ends, len(report.examples), low, high))
    return stats


def metric_table(record: RunRecord, split: str) -> pd.DataFrame:
    """Every recorded metric of a split with its interval, at 0.5 and at the tuned thresholds."""
    rows = []
    for name, metric in metrics_of("multi").items():
        value, low, high = _figure(record, split, name, AT_HALF)
        if value is not None:
            own = _figure(record, split, name, TUNED)
            rows.append((name, metric.title_for("multi"), value, low, high, *own))
    columns = ["metric", "title", "value", "low", "high", "tuned", "tuned_low", "tuned_high"]
    return pd.DataFrame(rows, columns=columns)


def _figure(record: RunRecord, split: str, name: str, choice: str) -> tuple[float | None, float | None, float | None]:
    """A metric and its interval; what does not change with the thresholds is the same for both choices."""
    results = record.results
    for tree in (results.get("tuned", {}), results) if choice == TUNED else (results,):
        value = tree.get("metrics", {}).get(split, {}).get(name)
        if value is not None:
            low, high = tree.get("intervals", {}).get(split, {}).get(name) or (None, None)
            return value, low, high
    return None, None, None


def spoken_table(table: pd.DataFrame) -> pd.DataFrame:
    """With the column names of a page."""
    return table.rename(columns=COLUMNS)


def rare(table: pd.DataFrame) -> dict[str, int]:
    """Rows of each label."""
    return dict(zip(table["label"], map(int, table["n"]), strict=True))


def scattered(table: pd.DataFrame) -> Sequence[tuple[str, int, float, float]]:
    """For the chart: label, n, F1 at 0.5 and at the tuned threshold (NaN where there is none)."""
    tuned = table["tuned_f1"] if "tuned_f1" in table else pd.Series(np.nan, index=table.index)
    return list(zip(table["label"], map(int, table["n"]), table["f1"], tuned, strict=True))


def draw_labels(labels: Sequence[tuple[str, int, float, float]], look: Look) -> go.Figure:
    """F1 of each label: a ring at 0.5, a dot at its tuned threshold, a line between.

    Args:
        labels: name, n, F1 at 0.5, F1 at the tuned threshold (NaN: none); the first stands on top.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[""]], height=80 + 32 * len(labels))
    names = [escape_text(name) for name, *_ in labels][::-1]
    sizes, half, tuned = zip(*(row[1:] for row in labels[::-1]), strict=True)
    colours = [t.right if n < FEW else t.accent for n in sizes]
    for name, low, high, colour in zip(names, half, tuned, colours, strict=True):
        figure.add_scatter(
            x=[low, high],
            y=[name, name],
            mode="lines",
            line={"color": colour, "width": look.size(2)},
            hoverinfo="skip",
        )
    for values, symbol, where in ((half, "circle-open", "at 0.5"), (tuned, "circle", "tuned")):
        figure.add_scatter(
            x=values,
            y=names,
            mode="markers",
            marker={
                "symbol": symbol,
                "size": look.size(11),
                "color": colours,
                "line": {"width": look.size(2), "color": colours},
            },
            customdata=sizes,
            hovertemplate=f"%{{y}}, {where}<br>F1 %{{x:.3f}}<br>n = %{{customdata}}<extra></extra>",
        )
    for name, n in zip(names, sizes, strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(n), font={"size": look.size(14)})
    figure.update_xaxes(title="F1, n at the right", range=[-0.02, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8}, showlegend=False)
    return figure.drawn()


@dataclass(frozen=True)
class Labels:
    """The table of `label_table`; `tuned`: it has thresholds of the run's own."""

    table: pd.DataFrame
    tuned: bool


def _read(source: Source) -> Labels:
    if source.record.task == "single":
        raise NotAvailable("each text has one label; see confusion")
    tuned = thresholds(source.record)
    return Labels(label_table(source.report, tuned), tuned is not None)


def _reading(labels: Labels) -> str:
    others = ", dot: at the label's tuned one" if labels.tuned else "; no others were tuned"
    return f"Ring: F1 at a threshold of 0.5{others}. Grey: fewer than 30 sentences have it."


LABELS = Figure(
    "labels",
    "performance",
    "Each label",
    _read,
    lambda labels, look: draw_labels(scattered(labels.table), look),
    note="frequent ones first",
    reading=_reading,
    how=(
        "Each label against the rest. A tuned threshold is the one with the best F1 on validation; of a rare label it"
        " rests on few sentences, and may help there and harm elsewhere. AUPR and ROC-AUC do not depend on it."
    ),
    tables=lambda labels: {"Labels": labels.table},
    sizes=lambda labels: rare(labels.table),
)
