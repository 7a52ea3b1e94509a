"""Multi-label runs: scores of each label, and the effect of a separate decision threshold for each label."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.metrics import HALF, evaluate_classes, join_class_names
from core.exceptions import NotAvailable
from core.formatting import count
from core.metrics import select_metrics
from core.runs.record import RunRecord
from dashboard.figures.decisions import FEW, TICKS, Decision, Floats, SplitPredictions
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.results import Measurement, Stat, find_metric, list_stats
from dashboard.figures.source import Source
from dashboard.figures.subplots import Panels
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


def read_thresholds(record: RunRecord) -> Floats | None:
    """Return the decision threshold of each label that a run tuned on its validation split; None if it has none."""
    found = record.results.get("tuned", {}).get("thresholds")
    return np.array([found.get(name, HALF) for name in record.classes]) if found else None


def map_thresholds(record: RunRecord) -> dict[str, float]:
    """Return each label's decision threshold in a run, as label → threshold: tuned if available, else 0.5."""
    return dict(zip(record.classes, map(float, pick_thresholds(record, TUNED)), strict=True))


def list_choices(record: RunRecord) -> list[str]:
    """Return the choices of label thresholds: tuned ones if the run has any, and 0.5 for all labels."""
    return [AT_HALF] if read_thresholds(record) is None else [TUNED, AT_HALF]


def pick_thresholds(record: RunRecord, choice: str) -> Floats:
    """Return an array with one decision threshold for each label: the tuned ones if chosen, else 0.5."""
    found = read_thresholds(record) if choice == TUNED else None
    return np.full(len(record.classes), HALF) if found is None else found


def apply_thresholds(report: SplitPredictions, decision: Decision, used: Floats) -> SplitPredictions:
    """Return multi-label predictions at given thresholds, with the probability of the decision on one chosen label."""
    predicted = report.probabilities > used
    names = join_class_names(predicted, report.classes)
    chance = decision.probabilities[np.arange(len(predicted)), decision.predicted]
    return dataclasses.replace(report, examples=report.examples.assign(predicted=names, probability=chance))


@dataclass(frozen=True)
class Labels:
    """Table with the scores of each label in a multi-label run, and whether the run has tuned decision thresholds."""

    table: pd.DataFrame
    tuned: bool


def build_label_table(report: SplitPredictions, tuned: Floats | None) -> pd.DataFrame:
    """Return each label's scores at 0.5 and at its tuned threshold (if any), the most frequent label first."""
    given = report.labels, report.probabilities, report.classes
    half, own = evaluate_classes(*given, "multi"), {} if tuned is None else evaluate_classes(*given, "multi", tuned)
    rows = [
        {"label": name, "n": int(found["support"]), **found, "threshold": HALF}
        | {key if key == "threshold" else f"tuned_{key}": value for key, value in own.get(name, {}).items()}
        for name, found in half.items()
    ]
    table = pd.DataFrame(rows).reindex(columns=[name for name in COLUMNS if tuned is not None or "tuned" not in name])
    return table.sort_values("n", ascending=False, kind="stable", ignore_index=True)


def list_metric_stats(record: RunRecord, split: str, report: SplitPredictions, choice: str) -> list[Stat]:
    """Return the main metrics of a multi-label run on a split, at the chosen thresholds."""
    found = {name: _find_metric(record, split, name, choice) for name in SHOWN}
    return list_stats(found, "multi", len(report.examples), {"average_precision": float(report.labels.mean())})


def build_metric_table(record: RunRecord, split: str) -> pd.DataFrame:
    """Return every recorded metric of a multi-label run on a split with its interval, at 0.5 and tuned thresholds."""
    rows = []
    for name, metric in select_metrics("multi").items():
        found = _find_metric(record, split, name, AT_HALF)
        if found[0] is not None:
            rows.append((name, metric.choose_title("multi"), *found, *_find_metric(record, split, name, TUNED)))
    columns = ["metric", "title", "value", "low", "high", "tuned", "tuned_low", "tuned_high"]
    return pd.DataFrame(rows, columns=columns)


def _find_metric(record: RunRecord, split: str, name: str, choice: str) -> Measurement:
    """Return a recorded metric and its interval: at tuned thresholds if chosen and recorded, else at 0.5."""
    tuned = find_metric(record.results.get("tuned"), split, name)
    return tuned if choice == TUNED and tuned[0] is not None else find_metric(record.results, split, name)


def draw_labels(labels: Labels, look: Look) -> go.Figure:
    """Draw each label's F1 score: a ring at threshold 0.5, a dot at its tuned threshold, and a line between both."""
    t, table = look.tokens, labels.table[::-1]
    figure = Panels(look, [[""]], height=80 + 32 * len(table))
    names, sizes, half = [escape_text(name) for name in table["label"]], table["n"].tolist(), table["f1"].tolist()
    tuned = table["tuned_f1"].tolist() if labels.tuned else [np.nan] * len(table)
    colors = [t.right if n < FEW else t.accent for n in sizes]
    for name, low, high, color in zip(names, half, tuned, colors, strict=True):
        line = {"color": color, "width": look.scale_size(2)}
        figure.add_scatter(x=[low, high], y=[name, name], mode="lines", line=line, hoverinfo="skip")
    for values, symbol, where in ((half, "circle-open", "at 0.5"), (tuned, "circle", "tuned")):
        rim = {"width": look.scale_size(2), "color": colors}
        figure.add_scatter(
            x=values,
            y=names,
            mode="markers",
            marker={"symbol": symbol, "size": look.scale_size(11), "color": colors, "line": rim},
            customdata=sizes,
            hovertemplate=f"%{{y}}, {where}<br>F1 %{{x:.3f}}<br>n = %{{customdata}}<extra></extra>",
        )
    for name, n in zip(names, sizes, strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(n), font={"size": look.scale_size(14)})
    figure.update_xaxes(title="F1, n at the right", range=[-0.02, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8}, showlegend=False)
    return figure.build_figure()


def _read_labels(source: Source) -> Labels:
    if source.record.task == "single":
        raise NotAvailable("each text has one label; see confusion")
    tuned = read_thresholds(source.record)
    return Labels(build_label_table(source.report, tuned), tuned is not None)


def _explain_labels(labels: Labels) -> str:
    others = " (ring) and tuned (dot)" if labels.tuned else "; none is tuned"
    return f"F1 at threshold 0.5{others}. Grey: fewer than 30 sentences."


LABELS = Figure(
    "labels",
    "performance",
    "Per label",
    _read_labels,
    draw_labels,
    note="most frequent first",
    reading=_explain_labels,
    how="Each label against the rest. A tuned threshold has the best F1 on validation. For a rare label it depends on "
    "few sentences: it may help there and harm elsewhere. AUPR and ROC-AUC do not depend on it.",
    tables=lambda labels: {"Labels": labels.table},
    sizes=lambda labels: dict(zip(labels.table["label"], labels.table["n"].tolist(), strict=True)),
)
