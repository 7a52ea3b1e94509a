"""Metrics of a run on a split with intervals, also by class and phenomenon, and metrics on other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.intervals import METHOD, compute_wilson
from core.evaluation.metrics import compute_confusion, describe_absent
from core.exceptions import NotAvailable
from core.formatting import count, format_plus_minus, number
from core.metrics import METRICS as DEFINED
from dashboard.figures import multilabel, results, thresholding
from dashboard.figures.confusion import build_confusion_table, draw_confusion
from dashboard.figures.decisions import FEW, PARTS, PHENOMENON, TICKS, Decision, build_class_metrics
from dashboard.figures.display_names import escape_text
from dashboard.figures.drawing import NOTHING, DataTable, TableColumn
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.subplots import Panels, make_whiskers
from dashboard.figures.theme import Look


@dataclass(frozen=True)
class MetricTable:
    """Metrics of a run on a split as a table, and the number of sentences."""

    table: pd.DataFrame
    n: int
    absent: str = ""  # which classes macro averages cover, if some have no sentence


def _read_metrics(source: Source) -> MetricTable:
    n = len(source.report.examples)
    of_task = multilabel.build_metric_table if source.record.task == "multi" else results.build_metric_table
    table = of_task(source.record, source.split)
    if table.empty:
        raise NotAvailable(f"no metric of {source.split} was recorded")
    return MetricTable(table, n, describe_macro_classes(source))


def describe_macro_classes(source: Source) -> str:
    """Describe which classes the macro averages of a split include, if some classes have no sentence in it."""
    if source.record.task != "single":
        return ""
    report = source.report
    counts = compute_confusion(report.labels, report.probabilities.argmax(1), len(report.classes))
    return describe_absent(counts, report.classes)


def _draw_metrics(shown: MetricTable, look: Look) -> DataTable:
    better = [DEFINED[name].better for name in shown.table["metric"]]
    rows = shown.table.drop(columns="metric").assign(better=better)
    value = {name: TableColumn(title, decimals=3) for name, title in TITLES.items() if name in rows}
    return DataTable(rows, {"title": TableColumn("Metric"), **value, "better": TableColumn("Better")})


TITLES = {"value": "Value", "low": "From", "high": "To"}
TITLES |= {"tuned": "Tuned", "tuned_low": "Tuned, from", "tuned_high": "Tuned, to"}
METRICS = Figure(
    "metrics",
    "performance",
    "All metrics",
    _read_metrics,
    _draw_metrics,
    note=lambda shown: f"n = {count(shown.n)}",
    reading=lambda shown: (
        "From, To: ends of the 95 % interval."
        + (" Tuned: at the thresholds chosen on validation." if "tuned" in shown.table else "")
        + f" {shown.absent}".rstrip()
    ),
    how=f"Intervals: {METHOD}; they are about these sentences, not about other training seeds.",
    tables=lambda shown: {"Metrics": shown.table},
)


@dataclass(frozen=True)
class Classes:
    """Precision, recall and F1 of each class as a table, at a decision threshold."""

    table: pd.DataFrame
    threshold: float


def _draw_classes(shown: Classes, look: Look) -> DataTable:
    def format_interval(row: Any, part: str) -> str:
        """Format a metric with its interval; a dash where it is not defined."""
        value, low, high = row[part], row[f"{part}, low"], row[f"{part}, high"]
        if value != value:
            return NOTHING
        return format_plus_minus(value, low, high) if low == low else number(value)

    rows = shown.table.to_dict("records")
    words = {part: [format_interval(row, part) for row in rows] for part in PARTS}
    table = shown.table[["Class", *PARTS, "n"]].assign(**words)
    return DataTable(table, dict.fromkeys(PARTS, TableColumn(alignment="right")))


CLASSES = Figure(
    "each-class",
    "performance",
    "Per class",
    lambda source: Classes(build_class_metrics(at := source.read_once(thresholding.read_decision)), at.threshold),
    _draw_classes,
    note=lambda shown: f"threshold {number(shown.threshold, 2)}, 95 % intervals",
    reading="Precision: share of predictions that are correct. Recall: share of class found.",
    how="F1 is the harmonic mean of precision and recall. ± is half of the 95 % interval; an asymmetric interval shows "
    f"both ends. Intervals: {METHOD}.",
    options=thresholding.OPTIONS,
    tables=lambda shown: {"Classes": shown.table},
    sizes=lambda shown: {str(name): int(n) for name, n in zip(shown.table["Class"], shown.table["n"], strict=True)},
)


def score_phenomena(decision: Decision, names: Sequence[str], yardstick: dict[str, float]) -> pd.DataFrame:
    """Return accuracy by linguistic phenomenon with interval, n and TF-IDF's accuracy, the lowest first."""
    found = pd.DataFrame({"phenomenon": np.asarray(names, dtype=object)[decision.rows], "correct": decision.correct})
    rows = []
    for name, group in found.groupby("phenomenon"):
        hits, n = int(group["correct"].sum()), len(group)
        rows.append((str(name), hits / n, *compute_wilson(hits, n), n, yardstick.get(str(name), float("nan"))))
    columns = ["phenomenon", "accuracy", "low", "high", "n", "tfidf"]
    return pd.DataFrame(rows, columns=columns).sort_values("accuracy", ignore_index=True)


def draw_phenomena(table: pd.DataFrame, look: Look) -> go.Figure:
    """Draw the accuracy on each linguistic phenomenon with interval and n; a ring marks the TF-IDF baseline."""
    t = look.tokens
    figure = Panels(look, [[""]], height=70 + 32 * len(table))
    names = [escape_text(name) for name in table["phenomenon"]]
    ring, ends = (
        {"symbol": "circle-open", "size": look.scale_size(11), "color": t.muted},
        table[["low", "high"]].to_numpy(),
    )
    figure.add_scatter(
        x=table["tfidf"],
        y=names,
        mode="markers",
        marker=ring | {"line": {"width": look.scale_size(2)}},
        hovertemplate="TF-IDF %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=table["accuracy"],
        y=names,
        mode="markers",
        marker={"size": look.scale_size(10), "color": [t.right if n < FEW else t.accent for n in table["n"]]},
        error_x=make_whiskers(table["accuracy"], ends, look.scale_size(2), t.accent),
        customdata=table["n"],
        hovertemplate="%{y}<br>accuracy %{x:.3f}<br>n = %{customdata}<extra></extra>",
    )
    for name, n in zip(names, table["n"], strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(int(n)), font={"size": look.scale_size(14)})
    figure.update_xaxes(title="accuracy, n at the right", range=[0, 1.1], tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8})
    return figure.build_figure()


@dataclass(frozen=True)
class Kinds:
    """Accuracy on each linguistic phenomenon, and the number of texts with a prediction."""

    table: pd.DataFrame
    n: int


def _read_phenomena(source: Source) -> Kinds:
    examples = source.report.examples
    if PHENOMENON not in examples:
        raise NotAvailable("these data name no phenomena")
    decision = source.read_once(thresholding.read_decision)
    yardstick = results.read_tfidf_phenomena(source.record, source.split)
    return Kinds(score_phenomena(decision, examples[PHENOMENON].tolist(), yardstick), len(decision.rows))


PHENOMENA = Figure(
    "phenomena",
    "performance",
    "Kinds of sentences",
    _read_phenomena,
    lambda kinds, look: draw_phenomena(kinds.table[::-1], look),
    note=lambda kinds: f"n = {count(kinds.n)}, worst first",
    reading="Line: 95 % interval. Ring: TF-IDF (test only). Grey: fewer than 30 sentences.",
    how="Each sentence has one kind, its hardest; it is correct or not at the threshold. Intervals: Wilson. TF-IDF: "
    "with logistic regression.",
    options=thresholding.OPTIONS,
    tables=lambda kinds: {"Phenomena": kinds.table},
    sizes=lambda kinds: dict(zip(kinds.table["phenomenon"], kinds.table["n"], strict=True)),
)


Evaluated = Mapping[str, Any]  # result of `core.api.evaluate` on other data than those of the run
YARDSTICKS = {"tfidf-logreg": "TF-IDF", "tfidf-logreg-chars": "TF-IDF with characters"}


def get_first_metric(measured: Evaluated) -> str:
    """Return the metric that compares the values of a data column: accuracy for single-label data, else macro F1."""
    return "accuracy" if measured["task"] == "single" else "f1_macro"


def list_stats(measured: Evaluated) -> list[results.Stat]:
    """Return the main metrics of an evaluation, each with an axis from chance level to a perfect score."""
    at = measured.get("tuned") or measured
    names = results.SHOWN if measured["task"] == "single" else ("f1_macro", "f1_micro", "subset_accuracy")
    ordered = (name for name, metric in DEFINED.items() if metric.ordered)
    found = {name: results.find_metric(at, name) for name in (*names, *ordered)}
    guesses = {"roc_auc": 0.5, "accuracy": 1 / len(measured["labels"])}
    ends = {name: min(guesses.get(name, 0.0), value) for name, (value, *_) in found.items() if value is not None}
    return results.list_stats(found, measured["task"], measured["n"], ends)


def build_metric_table(measured: Evaluated) -> pd.DataFrame:
    """Return a table of an evaluation's metrics: value, interval, value on rows not seen in training, and TF-IDF's."""
    at, unseen = measured.get("tuned") or measured, measured["unseen"]
    tuned = "tuned" if measured.get("tuned") else ""
    others = {model: measured["yardsticks"].get(model) for model in YARDSTICKS}
    rows = []
    for name in at["metrics"]:
        row = {"metric": name, "title": DEFINED[name].choose_title(measured["task"])}
        row |= dict(zip(("value", "low", "high"), results.find_metric(at, name), strict=True))
        row |= {"unseen": unseen["metrics"].get(name)} if unseen else {}
        there = {model: (each.get(tuned) or each)["metrics"] for model, each in others.items() if each}
        rows.append(row | {model: found.get(name) for model, found in there.items()})
    return pd.DataFrame(rows)


def build_value_table(measured: Evaluated) -> pd.DataFrame:
    """Return a table of accuracy or macro F1 for each value of the data column that splits the evaluated rows."""
    by, name, rows = measured["by"], get_first_metric(measured), []
    for each in by["values"]:
        rows.append((each["value"], each["n"], *results.find_metric(each, name)))
    return pd.DataFrame(rows, columns=[by["column"], "rows", "value", "low", "high"])


_NUMBERS = {name: TableColumn(TITLES[name], decimals=3) for name in ("value", "low", "high")}


def _draw_evaluated(measured: Evaluated, look: Look) -> DataTable:
    beside = {"unseen": TableColumn("Unseen rows", "Without rows that the run was trained on", 3)}
    about = "Fitted on the training data of the run"
    beside |= {model: TableColumn(title, about, 3) for model, title in YARDSTICKS.items()}
    columns = {"title": TableColumn("Metric"), **_NUMBERS, **beside}
    return DataTable(build_metric_table(measured).drop(columns="metric"), columns, narrow=True)


def _describe_size(measured: Evaluated) -> str:
    return f"n = {count(measured['n'])}"


ELSEWHERE_METRICS = Figure[Evaluated](
    "elsewhere-metrics",
    "performance",
    "Metrics on these data",
    None,
    _draw_evaluated,
    note=_describe_size,
    reading="From, To: ends of the 95 % interval.",
    how=f"Intervals: {METHOD}. TF-IDF: logistic regression on words and word pairs, and with characters within words.",
    tables=lambda measured: {"Metrics there": build_metric_table(measured)},
)
ELSEWHERE_CONFUSION = Figure[Evaluated](
    "elsewhere-confusion",
    "performance",
    "Confusion on these data",
    None,
    lambda measured, look: draw_confusion(np.array(measured["confusion"]), measured["labels"], look),
    note=_describe_size,
    reading="Rows: labels of the data. Columns: predictions.",
    tables=lambda measured: {
        "Confusion there": build_confusion_table(measured["labels"], np.array(measured["confusion"]), "true")
    },
)
ELSEWHERE_VALUES = Figure[Evaluated](
    "elsewhere-values",
    "performance",
    lambda measured: f"By {measured['by']['column']}",
    None,
    lambda measured, look: DataTable(
        build_value_table(measured),
        _NUMBERS
        | {"value": TableColumn(DEFINED[get_first_metric(measured)].choose_title(measured["task"]), decimals=3)},
        narrow=True,
    ),
    note=_describe_size,
    reading="From, To: ends of the 95 % interval.",
    tables=lambda measured: {"By value there": build_value_table(measured)},
)
