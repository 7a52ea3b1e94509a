"""Chosen decision threshold of a run, a threshold for each label, and the predictions and scores at them."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.data.dataset import VALIDATION
from core.evaluation.costs import find_cheapest
from core.evaluation.metrics import HALF, evaluate_classes, join_class_names
from core.exceptions import NotAvailable
from core.metrics import select_metrics
from core.runs.record import RunRecord
from dashboard.figures import decisions
from dashboard.figures.decisions import ANSWER, FEW, Decision, Floats, SplitPredictions
from dashboard.figures.drawing import Panels, escape_text
from dashboard.figures.figure import Figure, Option, Source, ValueRange
from dashboard.figures.results import Measurement, Stat, find_metric, list_stats
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
SHARE = ValueRange(0.0, 1.0, 0.01)
RATIOS = ValueRange(0.0, 1000.0, 1.0)


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
        figure.add_scatter(x=[low, high], y=[name, name], stroke=(color, 2), hoverinfo="skip")
    rim = {"line": {"width": look.scale_size(2), "color": colors}}
    for values, symbol, where in ((half, "circle-open", "at 0.5"), (tuned, "circle", "tuned")):
        own = {"customdata": sizes, "hover": f"%{{y}}, {where}<br>F1 %{{x:.3f}}<br>n = %{{customdata}}"}
        figure.add_scatter(x=values, y=names, dots=(colors, 11, symbol), marker=rim, **own)
    decisions.format_rows(figure, "F1", names, sizes, look)
    figure.update_xaxes(range=[-0.02, 1.1])
    return figure.build_figure()


def _read_labels(source: Source) -> Labels:
    if source.record.task == "single":
        raise NotAvailable("each text has one label; see confusion")
    tuned = read_thresholds(source.record)
    return Labels(build_label_table(source.report, tuned), tuned is not None)


LABELS = Figure("labels", "performance", "Per label", _read_labels, draw_labels).add_details(
    note="most frequent first",
    reading=lambda labels: (
        f"F1 at threshold 0.5{' (ring) and tuned (dot)' if labels.tuned else '; none is tuned'}. Grey: fewer than 30 "
        "sentences."
    ),
    how="Each label against the rest. A tuned threshold has the best F1 on validation. For a rare label it depends on "
    "few sentences: it may help there and harm elsewhere. AUPR and ROC-AUC do not depend on it.",
    tables=lambda labels: {"Labels": labels.table},
    sizes=lambda labels: dict(zip(labels.table["label"], labels.table["n"].tolist(), strict=True)),
)


def list_rules(source: Source) -> list[str]:
    """Return what a decision threshold can apply to (the top class, or one named class); empty: nothing to choose."""
    classes = list(source.report.classes)
    if source.record.task == "multi":
        return classes
    return [] if len(classes) == 2 else [ANSWER, *classes]


def get_class(source: Source) -> str:
    """Return the class or label that the decision threshold applies to; empty: the top class of each row."""
    classes = source.report.classes
    if source.record.task == "single" and len(classes) == 2:
        return classes[1]
    rule = str(source.get_choice(RULE))
    return rule if rule in classes else ""


def get_class_scores(report: SplitPredictions, name: str) -> tuple[NDArray[np.bool_], Floats]:
    """Return for each row whether it belongs to a class, and its predicted probability of that class."""
    number = report.classes.index(name)
    own = report.labels[:, number] > 0 if report.labels.ndim == 2 else report.labels == number
    return own, report.probabilities[:, number]


def _find_cheapest(source: Source) -> float:
    """Return the threshold whose errors cost least on validation data; NotAvailable: that split was not evaluated."""
    if VALIDATION not in source.splits:
        raise NotAvailable("a threshold at a cost ratio is chosen on validation, which was not evaluated")
    report = source.reader.make_report(source.record, VALIDATION)
    return find_cheapest(*get_class_scores(report, get_class(source)), float(source.get_choice(COST)))


def _get_label_threshold(source: Source) -> float:
    if source.get_choice(COST):
        return source.read_once(_find_cheapest)
    label, choice = str(source.get_choice(RULE)), str(source.get_choice(LIMITS))
    return float(pick_thresholds(source.record, choice)[source.report.classes.index(label)])


def _make_range(name: str) -> Callable[[Source], ValueRange | tuple[()]]:
    """Return a function that returns the range of a threshold slider, or no range if the slider is not in use."""
    return lambda source: SHARE if get_slider(source).name == name else ()


RULE = Option(
    "rule",
    "Threshold on",
    list_rules,
    "Top answer: the most likely class, if its probability is above the threshold; otherwise no answer. "
    "A class: predicted if its own probability is above the threshold.",
    usual=lambda source: (  # the most frequent label
        source.report.classes[int(source.report.labels.sum(0).argmax())] if source.record.task == "multi" else ANSWER
    ),
    words=lambda source, rule: (
        f"label {rule}" if source.record.task == "multi" else "" if rule == ANSWER else f"threshold on {rule}"
    ),
)
"""With several labels per text: the label that is shown."""
COST = Option(
    "cost",
    "Cost of a false negative",
    lambda source: RATIOS if get_class(source) else (),
    "One false negative costs as much as this many false positives; the threshold then costs least on validation. "
    "0: no costs",
    usual=lambda source: 0.0,
    words=lambda source, ratio: f"a false negative costs {ratio:g} false positives" if ratio else "",
)
THRESHOLD = Option(
    "threshold",
    "Threshold",
    _make_range("threshold"),
    usual=lambda source: source.read_once(_find_cheapest) if source.get_choice(COST) else 0.5,
)
LEAST = Option(
    "least",
    "Threshold on the top answer",
    _make_range("least"),
    "Below this the model gives no answer; all figures below follow",
    usual=lambda source: 0.0,
)
LIMITS = Option(
    "thresholds",
    "Thresholds",
    lambda source: list_choices(source.record) if source.record.task == "multi" else [],
    "tuned: the threshold of each label with the best F1 on validation; the slider changes one label",
)
LIMIT = Option("limit", "Threshold", _make_range("limit"), usual=_get_label_threshold)
OPTIONS = (RULE, COST, THRESHOLD, LEAST, LIMITS, LIMIT)


def get_slider(source: Source) -> Option:
    """Return the option (slider) that sets the decision threshold for the chosen rule."""
    if source.record.task == "multi":
        return LIMIT
    return LEAST if list_rules(source) and source.get_choice(RULE) == ANSWER else THRESHOLD


def read_decision(source: Source) -> Decision:
    """Compute a run's predictions on a split at the chosen decision threshold."""
    return decide_report(source, source.report)


def decide_report(source: Source, report: SplitPredictions) -> Decision:
    """Compute predictions at the chosen decision threshold from given class probabilities of a split."""
    threshold = float(source.get_choice(get_slider(source)))
    rule: Any = source.get_choice(RULE) if list_rules(source) else ANSWER
    if source.record.task == "multi":
        return decisions.decide_label(report, rule, threshold)
    return decisions.apply_threshold(report.labels, report.probabilities, report.classes, rule, threshold)
